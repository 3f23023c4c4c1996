#include "primitives/vector/kernels.hpp"

#include "provider/core/cpu.hpp"

namespace octet::vector {

const Kernels& kernels() {
  switch (core::cpu_isa_level()) {
    case core::Isa::avx2:
      return avx2::kTable;
    case core::Isa::avx2_vnni:
      return avx2_vnni::kTable;
    case core::Isa::avx512_core:
      return avx512_core::kTable;
    case core::Isa::avx512_core_vnni:
    case core::Isa::avx512_core_amx:
      break;
  }
  return avx512_core_vnni::kTable;
}

}  // namespace octet::vector
