// One register of float32 or int32 lanes, as wide as the instruction set being compiled allows.
#pragma once

#include <immintrin.h>

#include "primitives/vector/isa/isa.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

#ifdef __AVX512F__

using Floats = __m512;
using Ints = __m512i;
constexpr std::size_t kLanes = 16;

inline Floats spread(float value) { return _mm512_set1_ps(value); }
inline Ints spread(std::int32_t value) { return _mm512_set1_epi32(value); }
inline Floats load(const float* p) { return _mm512_loadu_ps(p); }
inline Ints load(const std::int32_t* p) { return _mm512_loadu_si512(p); }
/// The first `count` < kLanes elements, then zeros.
inline Floats load(const float* p, std::size_t count) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), p);
}
inline Ints load(const std::int32_t* p, std::size_t count) {
  return _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1U << count) - 1), p);
}
inline void store(float* p, Floats a) { _mm512_storeu_ps(p, a); }
/// The first `count` < kLanes elements.
inline void store(float* p, Floats a, std::size_t count) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << count) - 1), a);
}

/// The second operand where either is NaN.
inline Floats min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
inline Floats max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
inline Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline Floats div(Floats a, Floats b) { return _mm512_div_ps(a, b); }
inline Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }    ///< a * b + c
inline Floats fnma(Floats a, Floats b, Floats c) { return _mm512_fnmadd_ps(a, b, c); }  ///< c - a * b
inline Ints add(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
/// Ties to even.
inline Ints round(Floats a) { return _mm512_cvtps_epi32(a); }
inline Floats to_float(Ints a) { return _mm512_cvtepi32_ps(a); }

// The packing instructions work in 128-bit lanes: dwords leave them in the order 0 4 8 12, 1 5 9 13, ...
inline Ints in_order(Ints a) {
  const Ints order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, a);
}
inline Ints qwords_in_order(Ints a) { return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), a); }
inline Ints pack_s16(Ints a, Ints b) { return _mm512_packs_epi32(a, b); }
inline Ints pack_u16(Ints a, Ints b) { return _mm512_packus_epi32(a, b); }
inline Ints pack_s8(Ints a, Ints b) { return _mm512_packs_epi16(a, b); }
inline Ints pack_u8(Ints a, Ints b) { return _mm512_packus_epi16(a, b); }
inline void store_all(void* p, Ints a) { _mm512_storeu_si512(p, a); }
inline void store_half(void* p, Ints a) { _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_castsi512_si256(a)); }
inline void store_quarter(void* p, Ints a) { _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_castsi512_si128(a)); }

#else

using Floats = __m256;
using Ints = __m256i;
constexpr std::size_t kLanes = 8;

inline Floats spread(float value) { return _mm256_set1_ps(value); }
inline Ints spread(std::int32_t value) { return _mm256_set1_epi32(value); }
inline Floats load(const float* p) { return _mm256_loadu_ps(p); }
inline Ints load(const std::int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline Ints mask_of(std::size_t count) {
  return _mm256_cmpgt_epi32(spread(static_cast<std::int32_t>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Floats load(const float* p, std::size_t count) { return _mm256_maskload_ps(p, mask_of(count)); }
inline Ints load(const std::int32_t* p, std::size_t count) { return _mm256_maskload_epi32(p, mask_of(count)); }
inline void store(float* p, Floats a) { _mm256_storeu_ps(p, a); }
inline void store(float* p, Floats a, std::size_t count) { _mm256_maskstore_ps(p, mask_of(count), a); }

inline Floats min(Floats a, Floats b) { return _mm256_min_ps(a, b); }
inline Floats max(Floats a, Floats b) { return _mm256_max_ps(a, b); }
inline Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
inline Floats div(Floats a, Floats b) { return _mm256_div_ps(a, b); }
inline Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline Floats fnma(Floats a, Floats b, Floats c) { return _mm256_fnmadd_ps(a, b, c); }
inline Ints add(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
inline Ints round(Floats a) { return _mm256_cvtps_epi32(a); }
inline Floats to_float(Ints a) { return _mm256_cvtepi32_ps(a); }

inline Ints in_order(Ints a) { return _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)); }
inline Ints qwords_in_order(Ints a) { return _mm256_permute4x64_epi64(a, _MM_SHUFFLE(3, 1, 2, 0)); }
inline Ints pack_s16(Ints a, Ints b) { return _mm256_packs_epi32(a, b); }
inline Ints pack_u16(Ints a, Ints b) { return _mm256_packus_epi32(a, b); }
inline Ints pack_s8(Ints a, Ints b) { return _mm256_packs_epi16(a, b); }
inline Ints pack_u8(Ints a, Ints b) { return _mm256_packus_epi16(a, b); }
inline void store_all(void* p, Ints a) { _mm256_storeu_si256(static_cast<__m256i*>(p), a); }
inline void store_half(void* p, Ints a) { _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_castsi256_si128(a)); }
inline void store_quarter(void* p, Ints a) { _mm_storel_epi64(static_cast<__m128i*>(p), _mm256_castsi256_si128(a)); }

#endif

constexpr std::int64_t kWidth = static_cast<std::int64_t>(kLanes);

/// Four registers of int32 saturated to bytes and stored in order.
inline void store_saturated(std::uint8_t* y, Ints a, Ints b, Ints c, Ints d) {
  store_all(y, in_order(pack_u8(pack_s16(a, b), pack_s16(c, d))));
}
inline void store_saturated(std::int8_t* y, Ints a, Ints b, Ints c, Ints d) {
  store_all(y, in_order(pack_s8(pack_s16(a, b), pack_s16(c, d))));
}

}  // namespace
}  // namespace octet::vector::OCTET_ISA
