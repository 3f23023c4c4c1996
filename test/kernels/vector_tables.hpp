// What the tests of the loops share: the instruction sets to run them on, and floats to run them with.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <vector>

#include "primitives/vector/kernels.hpp"
#include "provider/core/cpu.hpp"

namespace octet::test {

/// The loops of every instruction set that may be used here.
inline std::vector<const vector::Kernels*> vector_tables() {
  using core::Isa;
  std::vector<const vector::Kernels*> tables{&vector::avx2::kTable};
  const Isa isa = core::cpu_isa_level();
  if (isa == Isa::avx2_vnni) tables.push_back(&vector::avx2_vnni::kTable);
  if (isa >= Isa::avx512_core) tables.push_back(&vector::avx512_core::kTable);
  if (isa >= Isa::avx512_core_vnni) tables.push_back(&vector::avx512_core_vnni::kTable);
  return tables;
}

/// Floats of all magnitudes, every 4099th bit pattern, then infinities, NaN, zeros, and `more`.
inline std::vector<float> all_magnitudes(std::initializer_list<float> more) {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 4099) {
    const auto word = static_cast<std::uint32_t>(bits);
    float value;
    std::memcpy(&value, &word, sizeof value);
    values.push_back(value);
  }
  const float infinity = std::numeric_limits<float>::infinity();
  values.insert(values.end(), {infinity, -infinity, std::nanf(""), 0.0F, -0.0F});
  values.insert(values.end(), more);
  return values;
}

}  // namespace octet::test
