#include "primitives/vector/kernels.hpp"

#include "provider/core/cpu.hpp"

namespace octet::vector {
namespace {

Kernels with_tiles() {
  Kernels table = avx512_core_vnni::kTable;
  table.matmul.product = avx512_core_amx::product;
  return table;
}

}  // namespace

const Kernels& kernels() {
  switch (core::cpu_isa_level()) {
    case core::Isa::avx2:
      return avx2::kTable;
    case core::Isa::avx2_vnni:
      return avx2_vnni::kTable;
    case core::Isa::avx512_core:
      return avx512_core::kTable;
    case core::Isa::avx512_core_vnni:
      break;
    case core::Isa::avx512_core_amx:
      static const Kernels tiles = with_tiles();
      return tiles;
  }
  return avx512_core_vnni::kTable;
}

}  // namespace octet::vector
