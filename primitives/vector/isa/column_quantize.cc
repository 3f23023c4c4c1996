// Float columns to packed s8: four rows at a time, whose integers are narrowed and put side by side by column, as the
// product reads them.
#include "primitives/vector/isa/groups.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

constexpr std::int64_t kLane = static_cast<std::int64_t>(kLanes);
constexpr std::int64_t kPair = 2 * kLane;  // columns of two registers
constexpr std::int64_t kAheadGroups = 4;   // from being fetched to being read

#ifdef __AVX512F__
inline Ints magnitude_bits(Floats a) { return _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7FFFFFFF)); }
inline Ints greater(Ints a, Ints b) { return _mm512_max_epi32(a, b); }
inline Ints magnitude_words(Ints a) { return _mm512_and_si512(a, _mm512_set1_epi16(0x7FFF)); }
inline Ints greater_words(Ints a, Ints b) { return _mm512_max_epi16(a, b); }
inline Ints load_words(const std::uint16_t* p) { return _mm512_loadu_si512(p); }
inline Ints load_words(const std::uint16_t* p, std::int64_t count) {
  return _mm512_maskz_loadu_epi16((1U << count) - 1, p);
}
/// Words become the upper halves of dwords: of each eight, the first four or the last four.
inline Ints first_fours(Ints a) { return _mm512_unpacklo_epi16(_mm512_setzero_si512(), a); }
inline Ints last_fours(Ints a) { return _mm512_unpackhi_epi16(_mm512_setzero_si512(), a); }
inline Floats as_floats(Ints a) { return _mm512_castsi512_ps(a); }
inline Ints as_ints(Floats a) { return _mm512_castps_si512(a); }
#else
inline Ints magnitude_bits(Floats a) { return _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(0x7FFFFFFF)); }
inline Ints greater(Ints a, Ints b) { return _mm256_max_epi32(a, b); }
inline Ints magnitude_words(Ints a) { return _mm256_and_si256(a, _mm256_set1_epi16(0x7FFF)); }
inline Ints greater_words(Ints a, Ints b) { return _mm256_max_epi16(a, b); }
inline Ints load_words(const std::uint16_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline Ints load_words(const std::uint16_t* p, std::int64_t count) {
  std::uint16_t words[kPair] = {};
  __builtin_memcpy(words, p, static_cast<std::size_t>(count) * sizeof *p);
  return load_words(words);
}
inline Ints first_fours(Ints a) { return _mm256_unpacklo_epi16(_mm256_setzero_si256(), a); }
inline Ints last_fours(Ints a) { return _mm256_unpackhi_epi16(_mm256_setzero_si256(), a); }
inline Floats as_floats(Ints a) { return _mm256_castsi256_ps(a); }
inline Ints as_ints(Floats a) { return _mm256_castps_si256(a); }
#endif

/// Two registers for kPair columns.
struct FloatPair {
  Floats low, high;
};
struct IntPair {
  Ints low, high;
};

/// From fours of columns 0 2 4 6 and 1 3 5 7 (as first_fours and last_fours leave them) to 0 1 2 3 and 4 5 6 7, and
/// back.
inline IntPair fours_in_order(const IntPair& a) {
#ifdef __AVX512F__
  return {_mm512_permutex2var_epi64(a.low, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), a.high),
          _mm512_permutex2var_epi64(a.low, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), a.high)};
#else
  return {_mm256_permute2x128_si256(a.low, a.high, 0x20), _mm256_permute2x128_si256(a.low, a.high, 0x31)};
#endif
}
inline IntPair fours_apart(const IntPair& a) {
#ifdef __AVX512F__
  return {_mm512_permutex2var_epi64(a.low, _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13), a.high),
          _mm512_permutex2var_epi64(a.low, _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15), a.high)};
#else
  return fours_in_order(a);
#endif
}

/// Four rows of dwords, whose first bytes are put side by side by column.
#ifdef __AVX512F__
class FourRows {
 public:
  OCTET_INLINE void put(int row, Ints a) {
    const Ints firsts = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
    bytes_ = row == 0 ? a : _mm512_mask_shuffle_epi8(bytes_, 0x1111111111111111U << row, a, firsts);
  }
  OCTET_INLINE Ints by_column() const { return bytes_; }

 private:
  Ints bytes_;
};
#else
class FourRows {
 public:
  OCTET_INLINE void put(int row, Ints a) { rows_[row] = a; }
  OCTET_INLINE Ints by_column() const {
    const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const Ints bytes = pack_s8(pack_s16(rows_[0], rows_[1]), pack_s16(rows_[2], rows_[3]));
    return _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(order));
  }

 private:
  Ints rows_[kGroup];
};
#endif

/// What differs between the types: how kPair columns are read and their magnitudes kept, and in which order they come.
template <class T>
struct Source;

template <>
struct Source<float> {
  using Raw = FloatPair;
  using Bounds = IntPair;

  OCTET_INLINE static Raw read(const float* p) { return {load(p), load(p + kLane)}; }
  OCTET_INLINE static Raw read(const float* p, std::int64_t count) {
    const auto some = static_cast<std::size_t>(count % kLane);
    if (count < kLane) return {load(p, some), spread(0.0F)};
    return {load(p), load(p + kLane, some)};
  }
  OCTET_INLINE static FloatPair values(const Raw& raw) { return raw; }
  OCTET_INLINE static Bounds raised(const Bounds& bounds, const Raw& raw) {
    return {greater(bounds.low, magnitude_bits(raw.low)), greater(bounds.high, magnitude_bits(raw.high))};
  }
  OCTET_INLINE static IntPair bits(const Bounds& bounds) { return bounds; }
  OCTET_INLINE static IntPair in_order(const IntPair& a) { return a; }
  OCTET_INLINE static FloatPair as_read(const FloatPair& a) { return a; }
};

template <>
struct Source<std::uint16_t> {
  using Raw = Ints;
  using Bounds = Ints;

  OCTET_INLINE static Raw read(const std::uint16_t* p) { return load_words(p); }
  OCTET_INLINE static Raw read(const std::uint16_t* p, std::int64_t count) { return load_words(p, count); }
  OCTET_INLINE static FloatPair values(Raw raw) { return {as_floats(first_fours(raw)), as_floats(last_fours(raw))}; }
  OCTET_INLINE static Bounds raised(Bounds bounds, Raw raw) { return greater_words(bounds, magnitude_words(raw)); }
  OCTET_INLINE static IntPair bits(Bounds bounds) { return fours_in_order({first_fours(bounds), last_fours(bounds)}); }
  OCTET_INLINE static IntPair in_order(const IntPair& a) { return fours_in_order(a); }
  OCTET_INLINE static FloatPair as_read(const FloatPair& a) {
    const IntPair apart = fours_apart({as_ints(a.low), as_ints(a.high)});
    return {as_floats(apart.low), as_floats(apart.high)};
  }
};

OCTET_INLINE void store_in_order(void* to, const IntPair& ordered) {
  store_all(to, ordered.low);
  store_all(static_cast<std::uint8_t*>(to) + sizeof(Ints), ordered.high);
}
OCTET_INLINE void add_in_order(std::int32_t* to, const IntPair& ordered) {
  store_in_order(to, {add(load(to), ordered.low), add(load(to + kLane), ordered.high)});
}
// Magnitudes compare as their bits do, with infinity and NaN above all numbers.
OCTET_INLINE void raise(float* bounds, const IntPair& bits) {
  store_in_order(bounds, {greater(bits.low, as_ints(load(bounds))), greater(bits.high, as_ints(load(bounds + kLane)))});
}

/// A pair of columns' registers from a row that has `columns` of them; zeros past the last.
template <class T, bool kWhole>
OCTET_INLINE typename Source<T>::Raw read(const T* row, int pair, std::int64_t columns) {
  const std::int64_t count = columns - pair * kPair;
  if (kWhole || count >= kPair) return Source<T>::read(row + pair * kPair);
  return count > 0 ? Source<T>::read(row + pair * kPair, count) : typename Source<T>::Raw{};
}

/// Brings the columns of a group of rows into the L2 cache.
template <int kPairs, class T>
OCTET_INLINE void fetch(const T* group, std::int64_t stride) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
#pragma GCC unroll 4
  for (int r = 0; r < kGroup; ++r)
#pragma GCC unroll 4
    for (std::int64_t n = 0; n < kPairs * kPair; n += kLine)
      _mm_prefetch(reinterpret_cast<const char*>(group + r * stride + n), _MM_HINT_T1);
}

/// kPairs * kPair columns from n on; rows are a multiple of 4. kWhole: all columns are there. kProducts: for how many
/// rows of A there is room; 0: the integers are packed.
template <class T, int kPairs, bool kWhole, int kProducts>
void walk_groups(const ColumnWalk& walk, std::int64_t n) {
  using S = Source<T>;
  const std::int64_t stride = walk.row_stride, first = walk.upwards ? walk.rows - kGroup : 0;
  const std::int64_t step = walk.upwards ? -kGroup : kGroup;
  const auto begin = [&](const void* b) { return static_cast<const T*>(b) + first * stride + n; };
  const bool quantizes = walk.quantized.b, bounds = walk.bounded.b, fetches = walk.from_memory;
  const T* quantized = quantizes ? begin(walk.quantized.b) : nullptr;
  const T* bounded = bounds ? begin(walk.bounded.b) : nullptr;
  const std::int64_t quantized_columns = walk.quantized.columns - n, bounded_columns = walk.bounded.columns - n;
  std::int8_t* packed = kProducts == 0 && quantizes ? walk.packed + first * kColumnBlock + n * kGroup : nullptr;
  [[maybe_unused]] const std::uint8_t* a[kProducts + 1];
#pragma GCC unroll 4
  for (int m = 0; m < kProducts; ++m) a[m] = walk.a + (m < walk.a_rows ? m : 0) * walk.a_stride + first;

  const Ints zero = spread(std::int32_t{0});
  FloatPair factor[kPairs];
  IntPair sum[kPairs], acc[kProducts + 1][kPairs];
  typename S::Bounds bound[kPairs];
#pragma GCC unroll 2
  for (int p = 0; p < kPairs; ++p) {
    bound[p] = typename S::Bounds{};
    sum[p] = {zero, zero};
#pragma GCC unroll 4
    for (int m = 0; m < kProducts; ++m) acc[m][p] = {zero, zero};
    const float* reciprocal = walk.reciprocal + n + p * kPair;
    factor[p] = quantizes ? S::as_read({load(reciprocal), load(reciprocal + kLane)}) : FloatPair{};
  }

  for (std::int64_t k = 0; k < walk.rows; k += kGroup) {
    if (quantizes) {
      IntPair bytes[kPairs];
      if (kProducts > 1) asm("" : "+m"(factor));  // in memory: the registers are for sums
#pragma GCC unroll 2
      for (int p = 0; p < kPairs; ++p) {
        FourRows low, high;
#pragma GCC unroll 4
        for (int r = 0; r < kGroup; ++r) {
          const FloatPair x = S::values(read<T, kWhole>(quantized + r * stride, p, quantized_columns));
          low.put(r, round(mul(x.low, factor[p].low)));
          high.put(r, round(mul(x.high, factor[p].high)));
        }
        bytes[p] = {low.by_column(), high.by_column()};
        sum[p] = {add_weights(sum[p].low, bytes[p].low), add_weights(sum[p].high, bytes[p].high)};
        if (kProducts == 0) store_in_order(packed + p * kPair * kGroup, S::in_order(bytes[p]));
      }
#ifdef __AVX512VNNI__
#pragma GCC unroll 4
      for (int m = 0; m < kProducts; ++m) {
        const Ints activations = spread(static_cast<std::int32_t>(load_four(a[m])));
        a[m] += step;
#pragma GCC unroll 2
        for (int p = 0; p < kPairs; ++p)
          acc[m][p] = {_mm512_dpbusd_epi32(acc[m][p].low, activations, bytes[p].low),
                       _mm512_dpbusd_epi32(acc[m][p].high, activations, bytes[p].high)};
      }
#endif
      quantized += step * stride;
      if (kProducts == 0) packed += step * kColumnBlock;
    }
    if (bounds) {
      if (fetches) fetch<kPairs>(bounded + kAheadGroups * step * stride, stride);
#pragma GCC unroll 4
      for (int r = 0; r < kGroup; ++r)
#pragma GCC unroll 2
        for (int p = 0; p < kPairs; ++p)
          bound[p] = S::raised(bound[p], read<T, kWhole>(bounded + r * stride, p, bounded_columns));
      bounded += step * stride;
    }
  }

#pragma GCC unroll 2
  for (int p = 0; p < kPairs; ++p) {
    const std::int64_t at = n + p * kPair;
    if (bounds) raise(walk.bounds + at, S::bits(bound[p]));
    if (!quantizes) continue;
    add_in_order(walk.column_sum + at, S::in_order(sum[p]));
#pragma GCC unroll 4
    for (int m = 0; m < kProducts; ++m)
      if (m < walk.a_rows) add_in_order(walk.acc + m * walk.acc_stride + at, S::in_order(acc[m][p]));
  }
}

template <class T, int kPairs, bool kWhole>
void walk_all(const ColumnWalk& walk) {
  constexpr int kFew = static_cast<int>(kWalkProducts);
  auto groups = walk_groups<T, kPairs, kWhole, 0>;
  if (kFew > 0 && walk.a_rows > 0)
    groups = walk.a_rows == 1 ? walk_groups < T, kPairs, kWhole,
    kFew == 0 ? 0 : 1 >       : walk_groups<T, kPairs, kWhole, kFew>;
  for (std::int64_t n = 0; n < walk.width; n += kPairs * kPair) groups(walk, n);
}

template <class T>
void walk_all(const ColumnWalk& walk) {
  const auto is_whole = [&](const FloatColumns& columns) { return !columns.b || columns.columns == walk.width; };
  const bool whole = is_whole(walk.quantized) && is_whole(walk.bounded);
  if (walk.width >= 2 * kPair)
    whole ? walk_all<T, 2, true>(walk) : walk_all<T, 2, false>(walk);
  else
    whole ? walk_all<T, 1, true>(walk) : walk_all<T, 1, false>(walk);
}

void walk_all(const ColumnWalk& walk) {
  if (walk.rows > 0) walk.bfloat16 ? walk_all<std::uint16_t>(walk) : walk_all<float>(walk);
}

/// Rows past the last whole group, copied to where zeros follow.
class Tail {
 public:
  Tail(const ColumnWalk& walk, std::int64_t begin) : walk_(walk) {
    walk_.rows = kGroup;
    walk_.row_stride = kColumnBlock;
    const std::int64_t rows = walk.rows - begin;
    copy(walk_.quantized, walk, begin, rows, quantized_);
    copy(walk_.bounded, walk, begin, rows, bounded_);
    if (walk.packed) walk_.packed += begin * kColumnBlock;
    for (std::int64_t m = 0; m < walk.a_rows; ++m)
      __builtin_memcpy(a_ + m * kGroup, walk.a + m * walk.a_stride + begin, static_cast<std::size_t>(rows));
    walk_.a = a_;
    walk_.a_stride = kGroup;
  }
  const ColumnWalk& walk() const { return walk_; }

 private:
  static constexpr std::int64_t kBytes = kGroup * kColumnBlock * static_cast<std::int64_t>(sizeof(float));

  static void copy(FloatColumns& columns, const ColumnWalk& walk, std::int64_t begin, std::int64_t rows,
                   std::uint8_t* to) {
    if (!columns.b) return;
    const std::int64_t size = walk.bfloat16 ? 2 : 4;
    const auto* from = static_cast<const std::uint8_t*>(columns.b) + begin * walk.row_stride * size;
    for (std::int64_t k = 0; columns.columns > 0 && k < rows; ++k)
      __builtin_memcpy(to + k * kColumnBlock * size, from + k * walk.row_stride * size,
                       static_cast<std::size_t>(columns.columns * size));
    columns.b = to;
  }

  ColumnWalk walk_;
  alignas(64) std::uint8_t quantized_[kBytes] = {}, bounded_[kBytes] = {};
  std::uint8_t a_[kWalkProducts * kGroup + kGroup] = {};
};

}  // namespace

void walk_columns(const ColumnWalk& walk) {
  ColumnWalk whole = walk;
  whole.rows = walk.rows / kGroup * kGroup;
  walk_all(whole);
  if (whole.rows < walk.rows) walk_all(Tail(walk, whole.rows).walk());
  if (!walk.quantized.b || !walk.packed) return;
  const std::int64_t end = (walk.rows + kGroup - 1) / kGroup * kGroup;
  for (std::int64_t k = end; k < padded_k(walk.rows); k += kGroup)
    __builtin_memset(walk.packed + k * kColumnBlock, 0, static_cast<std::size_t>(walk.width * kGroup));
}

void quantize_s8(const float* __restrict x, std::size_t n, float reciprocal, std::int8_t* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) {
    float level = __builtin_rintf(x[i] * reciprocal);
    level = level > -128.0F ? level : -128.0F;  // also where it is NaN
    y[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(level));
  }
}

}  // namespace octet::vector::OCTET_ISA
