// Four rows of 64 weights, interleaved as the product wants them.
#pragma once

#include <immintrin.h>

#include "primitives/vector/isa/isa.hpp"

#if defined(__AVX512BW__)
namespace octet::vector::OCTET_ISA {

struct Interleaved {
  __m512i part[4];
};

/// Works in lanes of 128 bits: lane l of part v holds columns 16 l + 4 v to 16 l + 4 v + 3, 4 bytes each.
inline Interleaved interleave(__m512i r0, __m512i r1, __m512i r2, __m512i r3) {
  const __m512i low01 = _mm512_unpacklo_epi8(r0, r1), high01 = _mm512_unpackhi_epi8(r0, r1);
  const __m512i low23 = _mm512_unpacklo_epi8(r2, r3), high23 = _mm512_unpackhi_epi8(r2, r3);
  return {{_mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
           _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)}};
}

/// Transposes lanes, so that part v holds columns 16 v to 16 v + 15 in order.
inline Interleaved in_order(const Interleaved& x) {
  const __m512i low01 = _mm512_shuffle_i64x2(x.part[0], x.part[1], 0x44);
  const __m512i high01 = _mm512_shuffle_i64x2(x.part[0], x.part[1], 0xEE);
  const __m512i low23 = _mm512_shuffle_i64x2(x.part[2], x.part[3], 0x44);
  const __m512i high23 = _mm512_shuffle_i64x2(x.part[2], x.part[3], 0xEE);
  return {{_mm512_shuffle_i64x2(low01, low23, 0x88), _mm512_shuffle_i64x2(low01, low23, 0xDD),
           _mm512_shuffle_i64x2(high01, high23, 0x88), _mm512_shuffle_i64x2(high01, high23, 0xDD)}};
}

}  // namespace octet::vector::OCTET_ISA
#endif
