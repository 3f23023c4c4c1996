// Sums and means of bytes. Signed bytes are summed as unsigned ones with the top bit flipped: 128 too much for each.
#include "primitives/vector/isa/isa.hpp"

#include <immintrin.h>

namespace octet::vector::OCTET_ISA {
namespace {

inline std::int32_t wrap(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

// --- registers of bytes -----------------------------------------------------------------------------------------------

#ifdef __AVX512F__

using Bytes = __m512i;
constexpr std::int64_t kBytes = 64;

inline Bytes zero() { return _mm512_setzero_si512(); }
inline Bytes spread_byte(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }
inline Bytes flip(Bytes a, Bytes b) { return _mm512_xor_si512(a, b); }
inline Bytes load(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
/// The first `count` < kBytes bytes, then zeros.
inline Bytes load(const std::uint8_t* p, std::int64_t count) {
  return _mm512_maskz_loadu_epi8((std::uint64_t{1} << count) - 1, p);
}
/// Sums of eight bytes each, as 64-bit lanes.
inline Bytes sums_of_eight(Bytes a) { return _mm512_sad_epu8(a, _mm512_setzero_si512()); }
inline Bytes add_qwords(Bytes a, Bytes b) { return _mm512_add_epi64(a, b); }
inline Bytes add_words(Bytes a, Bytes b) { return _mm512_add_epi16(a, b); }
inline Bytes sub_words(Bytes a, Bytes b) { return _mm512_sub_epi16(a, b); }
inline Bytes upper_bytes(Bytes a) { return _mm512_srli_epi16(a, 8); }
inline Bytes to_upper_bytes(Bytes a) { return _mm512_slli_epi16(a, 8); }

constexpr std::int64_t kRowsAtOnce = 8;

/// totals[i] = the sum of the 64-bit lanes of rows[i], modulo 2^32.
inline void horizontal_sums(const Bytes* rows, std::int32_t* totals) {
  const auto pair = [](Bytes a, Bytes b) { return _mm512_mask_blend_epi32(0xAAAA, a, _mm512_slli_epi64(b, 32)); };
  const auto halves = [](Bytes a, Bytes b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  };
  const Bytes low = halves(pair(rows[0], rows[1]), pair(rows[2], rows[3]));
  const Bytes high = halves(pair(rows[4], rows[5]), pair(rows[6], rows[7]));
  const Bytes both = _mm512_add_epi32(_mm512_shuffle_i32x4(low, high, 0x88), _mm512_shuffle_i32x4(low, high, 0xDD));
  const Bytes total = _mm512_add_epi32(both, _mm512_shuffle_i32x4(both, both, 0xB1));
  const __m512i order = _mm512_setr_epi64(0, 1, 4, 5, 0, 0, 0, 0);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(totals), _mm512_castsi512_si256(_mm512_permutexvar_epi64(order, total)));
}

/// totals[i] += the sums of even bytes and of odd ones, in their order.
inline void add_in_order(Bytes even, Bytes odd, std::int32_t* totals) {
  const Bytes low = _mm512_unpacklo_epi16(even, odd);
  const Bytes high = _mm512_unpackhi_epi16(even, odd);
  const auto add_sixteen = [=](__m128i first, __m128i second, std::int32_t* p) {
    const __m512i widened = _mm512_cvtepu16_epi32(_mm256_set_m128i(second, first));
    _mm512_storeu_si512(p, _mm512_add_epi32(_mm512_loadu_si512(p), widened));
  };
  add_sixteen(_mm512_castsi512_si128(low), _mm512_castsi512_si128(high), totals);
  add_sixteen(_mm512_extracti32x4_epi32(low, 1), _mm512_extracti32x4_epi32(high, 1), totals + 16);
  add_sixteen(_mm512_extracti32x4_epi32(low, 2), _mm512_extracti32x4_epi32(high, 2), totals + 32);
  add_sixteen(_mm512_extracti32x4_epi32(low, 3), _mm512_extracti32x4_epi32(high, 3), totals + 48);
}

#else

using Bytes = __m256i;
constexpr std::int64_t kBytes = 32;

inline Bytes zero() { return _mm256_setzero_si256(); }
inline Bytes spread_byte(int value) { return _mm256_set1_epi8(static_cast<char>(value)); }
inline Bytes flip(Bytes a, Bytes b) { return _mm256_xor_si256(a, b); }
inline Bytes load(const std::uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline Bytes load(const std::uint8_t* p, std::int64_t count) {
  std::uint8_t bytes[kBytes] = {};
  for (std::int64_t i = 0; i < count; ++i) bytes[i] = p[i];
  return load(bytes);
}
inline Bytes sums_of_eight(Bytes a) { return _mm256_sad_epu8(a, _mm256_setzero_si256()); }
inline Bytes add_qwords(Bytes a, Bytes b) { return _mm256_add_epi64(a, b); }
inline Bytes add_words(Bytes a, Bytes b) { return _mm256_add_epi16(a, b); }
inline Bytes sub_words(Bytes a, Bytes b) { return _mm256_sub_epi16(a, b); }
inline Bytes upper_bytes(Bytes a) { return _mm256_srli_epi16(a, 8); }
inline Bytes to_upper_bytes(Bytes a) { return _mm256_slli_epi16(a, 8); }

constexpr std::int64_t kRowsAtOnce = 4;

inline void horizontal_sums(const Bytes* rows, std::int32_t* totals) {
  const auto pair = [](Bytes a, Bytes b) { return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA); };
  const Bytes low = pair(rows[0], rows[1]);
  const Bytes high = pair(rows[2], rows[3]);
  const Bytes both = _mm256_add_epi32(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(totals),
                   _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1)));
}

inline void add_in_order(Bytes even, Bytes odd, std::int32_t* totals) {
  const Bytes low = _mm256_unpacklo_epi16(even, odd);
  const Bytes high = _mm256_unpackhi_epi16(even, odd);
  const auto add_eight = [](__m128i words, std::int32_t* p) {
    auto* at = reinterpret_cast<__m256i*>(p);
    _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), _mm256_cvtepu16_epi32(words)));
  };
  add_eight(_mm256_castsi256_si128(low), totals);
  add_eight(_mm256_castsi256_si128(high), totals + 8);
  add_eight(_mm256_extracti128_si256(low, 1), totals + 16);
  add_eight(_mm256_extracti128_si256(high, 1), totals + 24);
}

#endif

template <bool kSigned>
inline Bytes unsigned_bytes(Bytes a) {
  return kSigned ? flip(a, spread_byte(0x80)) : a;
}

// --- rows -------------------------------------------------------------------------------------------------------------

template <bool kSigned>
inline Bytes row_sum(const std::uint8_t* x, std::int64_t n) {
  const auto sums = [](Bytes bytes) { return sums_of_eight(unsigned_bytes<kSigned>(bytes)); };
  Bytes total = zero();
  std::int64_t i = 0;
  if (n >= 8 * kBytes) {
    Bytes totals[4] = {zero(), zero(), zero(), zero()};
    for (; i + 4 * kBytes <= n; i += 4 * kBytes)
      for (int k = 0; k < 4; ++k) totals[k] = add_qwords(totals[k], sums(load(x + i + k * kBytes)));
    total = add_qwords(add_qwords(totals[0], totals[1]), add_qwords(totals[2], totals[3]));
  }
  for (; i + kBytes <= n; i += kBytes) total = add_qwords(total, sums(load(x + i)));
  return i < n ? add_qwords(total, sums(load(x + i, n - i))) : total;
}

template <bool kSigned>
void sum_rows(const void* in, std::int64_t rows, std::int64_t stride, std::int64_t n, bool accumulate,
              std::int32_t* sums) {
  const std::uint8_t* x = static_cast<const std::uint8_t*>(in);
  // The zeros that fill up a register are flipped too.
  const std::int32_t excess = kSigned ? wrap((n + kBytes - 1) / kBytes * kBytes * 128) : 0;
  std::int32_t totals[kRowsAtOnce];
  for (std::int64_t row = 0; row < rows; row += kRowsAtOnce) {
    const std::int64_t count = rows - row < kRowsAtOnce ? rows - row : kRowsAtOnce;
    Bytes row_sums[kRowsAtOnce];
    for (std::int64_t i = 0; i < kRowsAtOnce; ++i)
      row_sums[i] = i < count ? row_sum<kSigned>(x + (row + i) * stride, n) : zero();
    horizontal_sums(row_sums, totals);
    for (std::int64_t i = 0; i < count; ++i)
      sums[row + i] = wrap(std::int64_t{totals[i]} - excess + (accumulate ? sums[row + i] : 0));
  }
}

// --- columns ----------------------------------------------------------------------------------------------------------

constexpr std::int64_t kRowsOfWords = 256;  // bytes whose sum a word holds: 256 * 255 < 2^16

// Words are summed whole, and their upper bytes apart: the lower bytes' sum is the difference, modulo 2^16.
template <bool kSigned, int kRegisters, class Load>
inline void add_columns(const std::uint8_t* x, std::int64_t rows, std::int64_t stride, std::int32_t* sums,
                        const Load& load_register) {
  for (std::int64_t row = 0; row < rows; row += kRowsOfWords) {
    const std::int64_t end = row + kRowsOfWords < rows ? row + kRowsOfWords : rows;
    Bytes words[kRegisters];
    Bytes upper[kRegisters];
    for (int k = 0; k < kRegisters; ++k) words[k] = upper[k] = zero();
    for (std::int64_t i = row; i < end; ++i)
      for (int k = 0; k < kRegisters; ++k) {
        const Bytes bytes = unsigned_bytes<kSigned>(load_register(x + i * stride + k * kBytes));
        words[k] = add_words(words[k], bytes);
        upper[k] = add_words(upper[k], upper_bytes(bytes));
      }
    for (int k = 0; k < kRegisters; ++k)
      add_in_order(sub_words(words[k], to_upper_bytes(upper[k])), upper[k], sums + k * kBytes);
  }
}

template <bool kSigned>
void add_all_columns(const std::uint8_t* x, std::int64_t rows, std::int64_t stride, std::int64_t n, std::int32_t* sums) {
  constexpr int kRegisters = 4;
  const auto load_all = [](const std::uint8_t* p) { return load(p); };
  std::int64_t j = 0;
  for (; j + kRegisters * kBytes <= n; j += kRegisters * kBytes)
    add_columns<kSigned, kRegisters>(x + j, rows, stride, sums + j, load_all);
  for (; j + kBytes <= n; j += kBytes) add_columns<kSigned, 1>(x + j, rows, stride, sums + j, load_all);
  if (j == n) return;
  std::int32_t rest[kBytes] = {};
  add_columns<kSigned, 1>(x + j, rows, stride, rest, [=](const std::uint8_t* p) { return load(p, n - j); });
  for (std::int64_t i = 0; j + i < n; ++i) sums[j + i] = wrap(std::int64_t{sums[j + i]} + rest[i]);
}

template <bool kSigned>
void sum_columns(const void* in, std::int64_t rows, std::int64_t stride, std::int64_t n, bool accumulate,
                 std::int32_t* sums) {
  const std::uint8_t* x = static_cast<const std::uint8_t*>(in);
  const std::int32_t excess = kSigned ? wrap(rows * 128) : 0;
  for (std::int64_t j = 0; j < n; ++j) sums[j] = wrap((accumulate ? std::int64_t{sums[j]} : 0) - excess);
  constexpr std::int64_t kWide = 4 * kBytes;
  const std::int64_t joined = n < kWide && stride == n ? kWide / n : 1;
  if (joined > 1 && rows >= 2 * joined) {  // several short rows make a long one
    std::int32_t wide[kWide] = {};
    add_all_columns<kSigned>(x, rows / joined, joined * n, joined * n, wide);
    for (std::int64_t k = 0; k < joined; ++k)
      for (std::int64_t j = 0; j < n; ++j) sums[j] = wrap(std::int64_t{sums[j]} + wide[k * n + j]);
    x += rows / joined * joined * n;
    rows %= joined;
  }
  if (rows > 0) add_all_columns<kSigned>(x, rows, stride, n, sums);
}

// --- means ------------------------------------------------------------------------------------------------------------

template <class T>
void mean(const std::int32_t* __restrict sums, std::size_t n, const MeanParameters& parameters, void* reduced) {
  constexpr float kBound = 131072;            // more is saturated anyway
  constexpr float kRoundToInteger = 0x1.8p23F;  // adding it and taking it off rounds to the nearest integer, ties to even
  constexpr std::int32_t kLowest = T(-1) < T(0) ? -128 : 0;
  const auto shift = static_cast<std::int32_t>(parameters.shift);
  const double scale = parameters.scale;
  const double divisor = parameters.divisor;
  const std::int32_t zero_point = parameters.zero_point;
  T* __restrict y = static_cast<T*>(reduced);
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<float>(static_cast<double>(sums[i] - shift) * scale / divisor);
    const float low = value > -kBound ? value : -kBound;  // NaN too
    const float bounded = low < kBound ? low : kBound;
    const std::int32_t level = static_cast<std::int32_t>((bounded + kRoundToInteger) - kRoundToInteger) + zero_point;
    y[i] = static_cast<T>(level < kLowest ? kLowest : level > kLowest + 255 ? kLowest + 255 : level);
  }
}

}  // namespace

const ReduceKernels kReduce = {
    {sum_rows<false>, sum_rows<true>},
    {sum_columns<false>, sum_columns<true>},
    {mean<std::uint8_t>, mean<std::int8_t>},
};

}  // namespace octet::vector::OCTET_ISA
