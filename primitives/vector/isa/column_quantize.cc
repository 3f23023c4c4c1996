// Float columns to packed s8: four rows at a time, whose integers are narrowed and put side by side by column, as the
// product reads them.
#include "primitives/vector/isa/lanes.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

constexpr std::int64_t kLane = static_cast<std::int64_t>(kLanes);
constexpr std::int64_t kRows = 4;    // of a group
constexpr std::int64_t kAhead = 16;  // rows, each some cache lines far from the last, which no hardware guesses

#ifdef __AVX512F__
inline Ints magnitude_bits(Floats a) { return _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7FFFFFFF)); }
inline Ints greater(Ints a, Ints b) { return _mm512_max_epi32(a, b); }
inline Floats widen(const std::uint16_t* p) {
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
}
/// In each lane of 128 bits, byte 4 r + c to 4 c + r.
inline Ints by_column(Ints a) {
  const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_shuffle_epi8(a, _mm512_broadcast_i32x4(order));
}
inline Ints add_bytes(Ints sum, Ints bytes) {
#ifdef __AVX512VNNI__
  return _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), bytes);
#else
  const Ints pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), bytes);
  return add(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#endif
}
#else
inline Ints magnitude_bits(Floats a) { return _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(0x7FFFFFFF)); }
inline Ints greater(Ints a, Ints b) { return _mm256_max_epi32(a, b); }
inline Floats widen(const std::uint16_t* p) {
  const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
}
inline Ints by_column(Ints a) {
  const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(order));
}
inline Ints add_bytes(Ints sum, Ints bytes) {
  const Ints pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes);
  return add(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#endif

inline Floats all_of(const float* p) { return load(p); }
inline Floats all_of(const std::uint16_t* p) { return widen(p); }
inline Floats some_of(const float* p, std::size_t count) { return load(p, count); }
inline Floats some_of(const std::uint16_t* p, std::size_t count) {
  std::uint16_t words[kLanes] = {};
  __builtin_memcpy(words, p, count * sizeof *p);
  return widen(words);
}

/// Rows of a strip of columns. kWhole: no register reaches past the last column.
template <class T, bool kWhole>
struct Strip {
  const T* b;
  std::int64_t row_stride, columns;

  explicit Strip(const FloatColumns& given)
      : b(static_cast<const T*>(given.b)), row_stride(given.row_stride), columns(given.columns) {}

  /// The elements of row k from column n on that a register takes, then zeros.
  Floats at(std::int64_t k, std::int64_t n) const {
    const T* p = b + k * row_stride + n;
    if (kWhole || columns - n >= kLane) return all_of(p);
    return columns > n ? some_of(p, static_cast<std::size_t>(columns - n)) : spread(0.0F);
  }
  void prefetch(std::int64_t k, std::int64_t width) const {
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t n = 0; n < width; n += kLine)
      _mm_prefetch(reinterpret_cast<const char*>(b + k * row_stride + n), _MM_HINT_T0);
  }
};

// Magnitudes compare as their bits do, with infinity and NaN above all numbers.
template <class T, bool kWhole>
void bounds_of(const FloatColumns& columns, std::int64_t rows, float* bounds) {
  constexpr int kVectors = kColumnBlock / kLane;
  const Strip<T, kWhole> strip(columns);
  Ints greatest[kVectors];
  for (Ints& vector : greatest) vector = spread(std::int32_t{0});
  for (std::int64_t k = 0; k < rows; ++k) {
    strip.prefetch(k + kAhead < rows ? k + kAhead : k, columns.columns);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) greatest[v] = greater(greatest[v], magnitude_bits(strip.at(k, v * kLane)));
  }
  float all[kColumnBlock];
  for (int v = 0; v < kVectors; ++v) store_all(all + v * kLane, greatest[v]);
  __builtin_memcpy(bounds, all, static_cast<std::size_t>(columns.columns) * sizeof *bounds);
}

// kVectors registers of columns from n on, all rows.
template <class T, bool kWhole, int kVectors>
void quantize_from(const FloatColumns& columns, std::int64_t n, std::int64_t rows, const float* reciprocal,
                   std::int8_t* packed, std::int32_t* column_sum) {
  const Strip<T, kWhole> strip(columns);
  Floats factors[kVectors];
  Ints sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    factors[v] = load(reciprocal + v * kLane);
    sums[v] = spread(std::int32_t{0});
  }
  const auto group = [&](std::int64_t k, const auto& row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const auto level = [&](std::int64_t i) { return round(mul(row(i, n + v * kLane), factors[v])); };
      const Ints bytes = by_column(pack_s8(pack_s16(level(k), level(k + 1)), pack_s16(level(k + 2), level(k + 3))));
      sums[v] = add_bytes(sums[v], bytes);
      store_all(packed + k * kColumnBlock + v * kLane * kRows, bytes);
    }
  };
  std::int64_t k = 0;
  for (; k + kRows <= rows; k += kRows) group(k, [&](std::int64_t i, std::int64_t at) { return strip.at(i, at); });
  if (k < rows) {
    group(k, [&](std::int64_t i, std::int64_t at) { return i < rows ? strip.at(i, at) : spread(0.0F); });
    k += kRows;
  }
  for (; k < padded_k(rows); k += kRows)
    for (int v = 0; v < kVectors; ++v)
      store_all(packed + k * kColumnBlock + v * kLane * kRows, spread(std::int32_t{0}));
  for (int v = 0; v < kVectors; ++v) store_all(column_sum + v * kLane, sums[v]);
}

template <class T, bool kWhole>
void quantize_of(const FloatColumns& columns, std::int64_t rows, const float* reciprocal, std::int64_t width,
                 std::int8_t* packed, std::int32_t* column_sum) {
  constexpr std::int64_t kMost = 4 * kLane;
  const auto quantize = width >= kMost       ? quantize_from<T, kWhole, 4>
                        : width == 2 * kLane ? quantize_from<T, kWhole, 2>
                                             : quantize_from<T, kWhole, 1>;
  for (std::int64_t n = 0; n < width; n += kMost)
    quantize(columns, n, rows, reciprocal + n, packed + n * kRows, column_sum + n);
}

}  // namespace

void column_bounds(const FloatColumns& columns, std::int64_t rows, float* bounds) {
  const bool whole = columns.columns == kColumnBlock;
  const auto loop = columns.bfloat16 ? whole ? bounds_of<std::uint16_t, true> : bounds_of<std::uint16_t, false>
                    : whole          ? bounds_of<float, true>
                                     : bounds_of<float, false>;
  loop(columns, rows, bounds);
}

void quantize_columns(const FloatColumns& columns, std::int64_t rows, const float* reciprocal, std::int64_t width,
                      std::int8_t* packed, std::int32_t* column_sum) {
  const bool whole = columns.columns == width;
  const auto loop = columns.bfloat16 ? whole ? quantize_of<std::uint16_t, true> : quantize_of<std::uint16_t, false>
                    : whole          ? quantize_of<float, true>
                                     : quantize_of<float, false>;
  loop(columns, rows, reciprocal, width, packed, column_sum);
}

void quantize_s8(const float* __restrict x, std::size_t n, float reciprocal, std::int8_t* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) {
    float level = __builtin_rintf(x[i] * reciprocal);
    level = level > -128.0F ? level : -128.0F;  // also where it is NaN
    y[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(level));
  }
}

}  // namespace octet::vector::OCTET_ISA
