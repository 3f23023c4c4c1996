// Our own SIMD loops. Every source in isa/ is compiled once for each instruction set (CMakeLists.txt), into a namespace
// of that set; this table picks one at run time. The same source gives the same bits everywhere: no contraction, no
// reassociation of floats.
//
// Sources in isa/ include only <immintrin.h>, <cstddef>, <cstdint> and headers that hold plain structs: an inline
// function of the standard library compiled with AVX-512 there could be the copy that the linker keeps for everybody.
#pragma once

#include "primitives/vector/bfloat16_kernels.hpp"
#include "primitives/vector/binary_kernels.hpp"
#include "primitives/vector/float_kernels.hpp"
#include "primitives/vector/lstm_kernels.hpp"
#include "primitives/vector/lstm_training_kernels.hpp"
#include "primitives/vector/matmul_kernels.hpp"
#include "primitives/vector/quantize_kernels.hpp"
#include "primitives/vector/reduce_kernels.hpp"
#include "primitives/vector/rowwise_kernels.hpp"
#include "primitives/vector/unary_kernels.hpp"
#include "primitives/vector/weight_kernels.hpp"

namespace octet::vector {

struct Kernels {
  const char* isa;  ///< "avx2", "avx2_vnni", "avx512_core", "avx512_core_vnni"
  MatMulKernels matmul;
  const QuantizeKernels* quantize;
  const BinaryKernels* binary;
  const ReduceKernels* reduce;
  const LstmKernels* lstm;
  const RowwiseKernels* rowwise;
  const LstmTrainingKernels* lstm_training;
  const WeightKernels* weights;
  const FloatKernels* floats;
  const UnaryKernels* unary;
  const UnaryKernels*
      unary_vbmi;  ///< for CPUs that have VBMI too (core::has_vbmi()); null where the set cannot have it
  const Bfloat16Kernels* bfloat16;  ///< for CPUs that have AVX512_BF16 too (core::has_bf16()); null likewise
};

/// The kernels for core::cpu_isa_level().
const Kernels& kernels();

// One table for each instruction set.
namespace avx2 {
extern const Kernels kTable;
}
namespace avx2_vnni {
extern const Kernels kTable;
}
namespace avx512_core {
extern const Kernels kTable;
}
namespace avx512_core_vnni {
extern const Kernels kTable;
}

// amx/product.cc: MatMulKernels::product for CPUs that have AMX too.
namespace avx512_core_amx {
void product(const ProductTile& tile);
}

}  // namespace octet::vector
