// What sums of bytes need of a register.
#pragma once

#include <type_traits>

#include "primitives/vector/isa/bytes.hpp"
#include "primitives/vector/isa/lanes.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

constexpr std::int64_t kBytes = kRegisterBytes;

/// Keeps a register from being loaded once more for each of its uses.
inline Bytes held(Bytes a) {
  asm("" : "+v"(a));
  return a;
}

/// The first `count` bytes, fewer than a register has, then zeros. What is readable ends at `end`.
template <class Register>
Register load_rest(const std::uint8_t* p, std::int64_t count, const std::uint8_t* end);

#ifdef __AVX512F__

inline Bytes zero() { return _mm512_setzero_si512(); }
/// Sums of eight bytes each, as 64-bit lanes.
inline Bytes sums_of_eight(Bytes a) { return _mm512_sad_epu8(a, _mm512_setzero_si512()); }
inline Bytes add_qwords(Bytes a, Bytes b) { return _mm512_add_epi64(a, b); }
inline Bytes add_words(Bytes a, Bytes b) { return _mm512_add_epi16(a, b); }
inline Bytes upper_bytes(Bytes a) { return _mm512_srli_epi16(a, 8); }
inline Bytes to_upper_bytes(Bytes a) { return _mm512_slli_epi16(a, 8); }

template <>
inline Bytes load_rest<Bytes>(const std::uint8_t* p, std::int64_t count, const std::uint8_t*) {
  return load_some(p, static_cast<std::size_t>(count));
}

// Zen 4 takes 512 bits in two passes, of which short rows and the last steps of their sums leave much empty.
using Half = __m256i;
inline Half flipped(Half a) { return _mm256_xor_si256(a, _mm256_set1_epi8(-128)); }
inline Half sums_of_eight(Half a) { return _mm256_sad_epu8(a, _mm256_setzero_si256()); }
inline Half add_qwords(Half a, Half b) { return _mm256_add_epi64(a, b); }
template <>
inline Half load_rest<Half>(const std::uint8_t* p, std::int64_t count, const std::uint8_t*) {
  return _mm256_maskz_loadu_epi8((std::uint32_t{1} << count) - 1, p);
}

constexpr std::int64_t kRowsAtOnce = 8;
using Totals = __m256i;  // of kRowsAtOnce rows
inline Totals load_totals(const std::int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline void store_totals(std::int32_t* p, Totals a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a); }
inline Totals add_totals(Totals a, Totals b) { return _mm256_add_epi32(a, b); }
inline Totals spread_total(std::int32_t a) { return _mm256_set1_epi32(a); }

/// From sums of pairs of 64-bit lanes: in each 128-bit lane those of four rows.
inline Totals across_lanes(Bytes low, Bytes high) {
  const Bytes both = _mm512_add_epi32(_mm512_shuffle_i32x4(low, high, 0x88), _mm512_shuffle_i32x4(low, high, 0xDD));
  const Bytes total = _mm512_add_epi32(both, _mm512_shuffle_i32x4(both, both, 0xB1));
  const __m512i order = _mm512_setr_epi64(0, 1, 4, 5, 0, 0, 0, 0);
  return _mm512_castsi512_si256(_mm512_permutexvar_epi64(order, total));
}
inline Totals across_lanes(Half low, Half high) {
  return add_totals(_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31));
}

/// four(rows): in each 128-bit lane those of four rows.
template <class Register, class Four>
inline Totals across_rows(const Register* rows, const Four& four) {
  return across_lanes(four(rows), four(rows + 4));
}

/// In each 64-bit lane the low halves of those of a and b.
inline Bytes low_halves(Bytes a, Bytes b) { return _mm512_mask_blend_epi32(0xAAAA, a, _mm512_slli_epi64(b, 32)); }
/// In each 128-bit lane the sums of the 64-bit lanes of a, by 32 bits, and those of b.
inline Bytes sums_of_quarters(Bytes a, Bytes b) {
  return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
inline Bytes packed(Bytes a, Bytes b) { return _mm512_packs_epi32(a, b); }
inline Half packed(Half a, Half b) { return _mm256_packs_epi32(a, b); }
inline Bytes sums_of_pairs(Bytes words) { return _mm512_madd_epi16(words, _mm512_set1_epi16(1)); }
inline Half sums_of_pairs(Half words) { return _mm256_madd_epi16(words, _mm256_set1_epi16(1)); }

/// In each 128-bit lane the 16 bytes from p + lane * step on.
inline Bytes load_lanes(const std::uint8_t* p, std::int64_t step) {
  const auto at = [=](std::int64_t lane) { return piece_at<__m128i>(p + lane * step); };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(at(0)), at(1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(at(2)), at(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
inline Bytes arranged(Bytes a, __m128i order) { return _mm512_shuffle_epi8(a, _mm512_broadcast_i32x4(order)); }
inline Bytes sums_of_four(Bytes a) {
  return _mm512_madd_epi16(_mm512_maddubs_epi16(a, _mm512_set1_epi8(1)), _mm512_set1_epi16(1));
}
/// sums = those of `per_lane` (2 or 4) rows in each 128-bit lane, and `more`.
inline void store_lanes(Bytes bytes, std::int64_t per_lane, std::int32_t more, std::int32_t* sums) {
  if (per_lane == 4)
    _mm512_storeu_si512(sums, _mm512_add_epi32(sums_of_four(bytes), _mm512_set1_epi32(more)));
  else
    store_totals(sums, add_totals(_mm512_cvtepi64_epi32(sums_of_eight(bytes)), spread_total(more)));
}

/// function(k, totals) for the 16 sums from 16 * k on, of even bytes and of odd ones in their order.
template <class Function>
inline void in_order(Bytes even, Bytes odd, const Function& function) {
  const __m512i first =
      _mm512_setr_epi32(0x00200000, 0x00210001, 0x00220002, 0x00230003, 0x00240004, 0x00250005, 0x00260006, 0x00270007,
                        0x00280008, 0x00290009, 0x002A000A, 0x002B000B, 0x002C000C, 0x002D000D, 0x002E000E, 0x002F000F);
  const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
  const Bytes low = _mm512_permutex2var_epi16(even, first, odd);
  const Bytes high = _mm512_permutex2var_epi16(even, second, odd);
  function(0, _mm512_cvtepu16_epi32(_mm512_castsi512_si256(low)));
  function(1, _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(low, 1)));
  function(2, _mm512_cvtepu16_epi32(_mm512_castsi512_si256(high)));
  function(3, _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(high, 1)));
}
inline Bytes add_dwords(Bytes a, Bytes b) { return _mm512_add_epi32(a, b); }
inline Bytes spread_dword(std::int32_t a) { return _mm512_set1_epi32(a); }

/// Rounded from double: a * scale / divisor.
inline Floats quotients(Ints a, double scale, double divisor) {
  const auto half = [=](__m256i ints) {
    const __m512d product = _mm512_mul_pd(_mm512_cvtepi32_pd(ints), _mm512_set1_pd(scale));
    return _mm512_cvtpd_ps(_mm512_div_pd(product, _mm512_set1_pd(divisor)));
  };
  const __m256 low = half(_mm512_castsi512_si256(a));
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), half(_mm512_extracti64x4_epi64(a, 1)), 1);
}
/// The greater of two magnitudes.
inline Floats greater_magnitude(Floats a, Floats b) { return _mm512_range_ps(a, b, 0x0B); }
/// Whether a lane is.
inline bool any_above(Floats a, float bound) { return _mm512_cmp_ps_mask(a, spread(bound), _CMP_GT_OQ) != 0; }

#else

inline Bytes zero() { return _mm256_setzero_si256(); }
inline Bytes sums_of_eight(Bytes a) { return _mm256_sad_epu8(a, _mm256_setzero_si256()); }
inline Bytes add_qwords(Bytes a, Bytes b) { return _mm256_add_epi64(a, b); }
inline Bytes add_words(Bytes a, Bytes b) { return _mm256_add_epi16(a, b); }
inline Bytes upper_bytes(Bytes a) { return _mm256_srli_epi16(a, 8); }
inline Bytes to_upper_bytes(Bytes a) { return _mm256_slli_epi16(a, 8); }

template <>
inline Bytes load_rest<Bytes>(const std::uint8_t* p, std::int64_t count, const std::uint8_t* end) {
  alignas(32) static constexpr std::uint8_t kOnes[2 * kBytes] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                                                 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                                                 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  if (end - p >= kBytes) return _mm256_and_si256(load_register(p), load_register(kOnes + kBytes - count));
  std::uint8_t bytes[kBytes] = {};
  for (std::int64_t i = 0; i < count; ++i) bytes[i] = p[i];
  return load_register(bytes);
}

using Half = Bytes;
constexpr std::int64_t kRowsAtOnce = 4;
using Totals = __m128i;
inline Totals load_totals(const std::int32_t* p) { return piece_at<__m128i>(p); }
inline void store_totals(std::int32_t* p, Totals a) { put_piece(p, 0, a); }
inline Totals add_totals(Totals a, Totals b) { return _mm_add_epi32(a, b); }
inline Totals spread_total(std::int32_t a) { return _mm_set1_epi32(a); }

inline Totals across_lanes(Bytes a) { return _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)); }
template <class Four>
inline Totals across_rows(const Bytes* rows, const Four& four) {
  return across_lanes(four(rows));
}

inline Bytes low_halves(Bytes a, Bytes b) { return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA); }
inline Bytes sums_of_quarters(Bytes a, Bytes b) {
  return _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}
inline Bytes packed(Bytes a, Bytes b) { return _mm256_packs_epi32(a, b); }
inline Bytes sums_of_pairs(Bytes words) { return _mm256_madd_epi16(words, _mm256_set1_epi16(1)); }

inline Bytes load_lanes(const std::uint8_t* p, std::int64_t step) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(piece_at<__m128i>(p)), piece_at<__m128i>(p + step), 1);
}
inline Bytes arranged(Bytes a, __m128i order) { return _mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(order)); }
inline Bytes sums_of_four(Bytes a) {
  return _mm256_madd_epi16(_mm256_maddubs_epi16(a, _mm256_set1_epi8(1)), _mm256_set1_epi16(1));
}
inline void store_lanes(Bytes bytes, std::int64_t per_lane, std::int32_t more, std::int32_t* sums) {
  if (per_lane == 4) {
    store_register(sums, _mm256_add_epi32(sums_of_four(bytes), _mm256_set1_epi32(more)));
  } else {
    const Bytes even = _mm256_permutevar8x32_epi32(sums_of_eight(bytes), _mm256_setr_epi32(0, 2, 4, 6, 0, 0, 0, 0));
    store_totals(sums, add_totals(_mm256_castsi256_si128(even), spread_total(more)));
  }
}

/// function(k, totals) for the 8 sums from 8 * k on, of even bytes and of odd ones in their order.
template <class Function>
inline void in_order(Bytes even, Bytes odd, const Function& function) {
  const Bytes low = _mm256_unpacklo_epi16(even, odd);
  const Bytes high = _mm256_unpackhi_epi16(even, odd);
  function(0, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(low)));
  function(1, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(high)));
  function(2, _mm256_cvtepu16_epi32(_mm256_extracti128_si256(low, 1)));
  function(3, _mm256_cvtepu16_epi32(_mm256_extracti128_si256(high, 1)));
}
inline Bytes add_dwords(Bytes a, Bytes b) { return _mm256_add_epi32(a, b); }
inline Bytes spread_dword(std::int32_t a) { return _mm256_set1_epi32(a); }
inline Floats quotients(Ints a, double scale, double divisor) {
  const auto half = [=](__m128i ints) {
    const __m256d product = _mm256_mul_pd(_mm256_cvtepi32_pd(ints), _mm256_set1_pd(scale));
    return _mm256_cvtpd_ps(_mm256_div_pd(product, _mm256_set1_pd(divisor)));
  };
  return _mm256_set_m128(half(_mm256_extracti128_si256(a, 1)), half(_mm256_castsi256_si128(a)));
}
inline Floats greater_magnitude(Floats a, Floats b) {
  const Floats sign = spread(-0.0F);
  return max(_mm256_andnot_ps(sign, a), _mm256_andnot_ps(sign, b));
}
inline bool any_above(Floats a, float bound) {
  return _mm256_movemask_ps(_mm256_cmp_ps(a, spread(bound), _CMP_GT_OQ)) != 0;
}

#endif

template <bool kSigned, class Register>
inline Register unsigned_bytes(Register a) {
  return kSigned ? flipped(a) : a;
}

/// How the bytes of a row are summed in a register: eight of them in each 64-bit lane.
template <bool kSigned>
struct EightInLane {
  static constexpr bool kFlips = kSigned;
  template <class Register>
  static Register add(Register totals, Register bytes) {
    return add_qwords(totals, sums_of_eight(unsigned_bytes<kSigned>(bytes)));
  }
  static Bytes join(Bytes a, Bytes b) { return add_qwords(a, b); }

  /// The sums of the lanes of each row, modulo 2^32.
  static Totals across(const Bytes* rows) {
    return across_rows(rows, [](const Bytes* row) {
      return sums_of_quarters(low_halves(row[0], row[1]), low_halves(row[2], row[3]));
    });
  }
  /// The same of lanes below 2^15.
  template <class Register>
  static Totals across_short(const Register* rows) {
    return across_rows(rows, [](const Register* row) {
      return sums_of_pairs(packed(packed(row[0], row[1]), packed(row[2], row[3])));
    });
  }
};

#ifdef __AVX512VNNI__
/// Four signed ones in each 32-bit lane: one instruction a register, but more for each row.
struct FourInLane {
  static constexpr bool kFlips = false;
  static Bytes add(Bytes totals, Bytes bytes) { return _mm512_dpbusd_epi32(totals, _mm512_set1_epi8(1), bytes); }
  static Half add(Half totals, Half bytes) { return _mm256_dpbusd_epi32(totals, _mm256_set1_epi8(1), bytes); }
  static Bytes join(Bytes a, Bytes b) { return add_dwords(a, b); }

  static Totals across(const Bytes* rows) {
    const auto pair = [](Bytes a, Bytes b) {
      return add_dwords(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    };
    return across_rows(rows,
                       [=](const Bytes* row) { return sums_of_quarters(pair(row[0], row[1]), pair(row[2], row[3])); });
  }
  /// Of lanes whose magnitude is below 2^14.
  template <class Register>
  static Totals across_short(const Register* rows) {
    const auto pair = [](Register a, Register b) { return sums_of_pairs(packed(a, b)); };
    return across_rows(rows, [=](const Register* row) { return pair(pair(row[0], row[1]), pair(row[2], row[3])); });
  }
};
template <bool kSigned>
using Summing = std::conditional_t<kSigned, FourInLane, EightInLane<false>>;
#else
template <bool kSigned>
using Summing = EightInLane<kSigned>;
#endif

}  // namespace
}  // namespace octet::vector::OCTET_ISA
