// Groups of four rows of k, as the products multiply them.
#pragma once

#include "primitives/vector/isa/lanes.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

inline std::uint32_t load_four(const std::uint8_t* a) {
  std::uint32_t four;
  __builtin_memcpy(&four, a, sizeof four);
  return four;
}

// The last 1 to 3 activations of a row: nothing past the row's end is read, and the packed weights are zero there.
inline std::uint32_t load_tail(const std::uint8_t* a, std::int64_t count) {
  std::uint32_t four = 0;
  for (std::int64_t i = 0; i < count; ++i) four |= static_cast<std::uint32_t>(a[i]) << (8 * i);
  return four;
}

/// Adds 4 packed weights of each column: products with 1. Without VNNI in exact 16-bit pairs (|w0 + w1| <= 256).
inline Ints add_weights(Ints sums, Ints weights) {
#if defined(__AVX512VNNI__)
  return _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(1), weights);
#elif defined(__AVX512F__)
  const Ints pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), weights);
  return add(sums, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#else
  const Ints pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), weights);
  return add(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}

}  // namespace
}  // namespace octet::vector::OCTET_ISA
