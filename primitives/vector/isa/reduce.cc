// Sums and means of bytes. Where signed bytes are summed as unsigned ones with the top bit flipped, 128 is too much for
// each.
#include <cmath>
#include <cstring>
#include <limits>

#include "primitives/vector/isa/lanes.hpp"
#include "primitives/vector/isa/reduce_registers.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

inline std::int32_t wrap(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

// --- rows ----------------------------------------------------------------------------------------

/// One row, in lanes.
template <bool kSigned>
inline Bytes row_sum(const std::uint8_t* x, std::int64_t n, const std::uint8_t* end) {
  using Sum = Summing<kSigned>;
  Bytes totals[4] = {zero(), zero(), zero(), zero()};
  std::int64_t i = 0;
  for (; i + 4 * kBytes <= n; i += 4 * kBytes)
    for (int k = 0; k < 4; ++k) totals[k] = Sum::add(totals[k], load_register(x + i + k * kBytes));
  Bytes total = Sum::join(Sum::join(totals[0], totals[1]), Sum::join(totals[2], totals[3]));
  for (; i + kBytes <= n; i += kBytes) total = Sum::add(total, load_register(x + i));
  return i < n ? Sum::add(total, load_rest<Bytes>(x + i, n - i, end)) : total;
}

constexpr std::int64_t kShortRow = 16 * kBytes;  // 16 * 8 * 255 < 2^15, 16 * 4 * 128 < 2^14

/// kRowsAtOnce rows of kRegisters registers, the last of which has n % sizeof(Register) bytes (0: all).
template <bool kSigned, class Register, int kRegisters>
inline Totals short_row_sums(const std::uint8_t* x, std::int64_t stride, std::int64_t n, const std::uint8_t* end) {
  constexpr std::int64_t kSize = sizeof(Register);
  constexpr std::int64_t kLast = (kRegisters - 1) * kSize;
  const std::int64_t rest = n % kSize;
  using Sum = Summing<kSigned>;
  Register totals[kRowsAtOnce];
  for (std::int64_t k = 0; k < kRowsAtOnce; ++k) {
    const std::uint8_t* row = x + k * stride;
    const Register last = rest == 0 ? piece_at<Register>(row + kLast) : load_rest<Register>(row + kLast, rest, end);
    totals[k] = Sum::add(Register{}, last);
    for (std::int64_t i = 0; i < kLast; i += kSize) totals[k] = Sum::add(totals[k], piece_at<Register>(row + i));
  }
  return Sum::across_short(totals);
}

/// kRowsAtOnce rows of any length, modulo 2^32.
template <bool kSigned>
inline Totals long_row_sums(const std::uint8_t* x, std::int64_t stride, std::int64_t n, const std::uint8_t* end) {
  Bytes totals[kRowsAtOnce];
  for (std::int64_t k = 0; k < kRowsAtOnce; ++k) totals[k] = row_sum<kSigned>(x + k * stride, n, end);
  return n <= kShortRow ? Summing<kSigned>::across_short(totals) : Summing<kSigned>::across(totals);
}

/// Whole groups of kRowsAtOnce rows: sums = their sums, `more`, and what they were where `accumulate`.
template <class SumGroup>
inline void sum_row_groups(std::int64_t rows, std::int32_t more, bool accumulate, std::int32_t* sums,
                           const SumGroup& sum_group) {
  for (std::int64_t row = 0; row < rows; row += kRowsAtOnce) {
    const Totals totals = add_totals(sum_group(row), spread_total(more));
    store_totals(sums + row, accumulate ? add_totals(totals, load_totals(sums + row)) : totals);
  }
}

constexpr int kMostRowRegisters = 8;
constexpr std::int64_t kMostInHalves = 96;  // bytes of a row that is held in halves of registers

/// The size of the registers that hold the rows of a group.
inline std::int64_t register_size(std::int64_t n) { return n <= kMostInHalves ? sizeof(Half) : kBytes; }

template <bool kSigned, class Register = Half, int kRegisters = 1>
void sum_grouped_rows(const std::uint8_t* x, std::int64_t rows, std::int64_t stride, std::int64_t n,
                      const std::uint8_t* end, std::int32_t more, bool accumulate, std::int32_t* sums) {
  constexpr std::int64_t kHeld = kRegisters * sizeof(Register);
  if constexpr (kRegisters > kMostRowRegisters) {
    sum_row_groups(rows, more, accumulate, sums,
                   [=](std::int64_t row) { return long_row_sums<kSigned>(x + row * stride, stride, n, end); });
  } else if (n > kHeld) {
    if constexpr (kHeld < kMostInHalves)
      sum_grouped_rows<kSigned, Half, kRegisters + 1>(x, rows, stride, n, end, more, accumulate, sums);
    else
      sum_grouped_rows<kSigned, Bytes, kHeld / kBytes + 1>(x, rows, stride, n, end, more, accumulate, sums);
  } else {
    sum_row_groups(rows, more, accumulate, sums, [=](std::int64_t row) {
      return short_row_sums<kSigned, Register, kRegisters>(x + row * stride, stride, n, end);
    });
  }
}

/// What flipping adds to a row that zeros fill up to whole registers of `size` bytes.
template <bool kSigned>
inline std::int32_t excess(std::int64_t n, std::int64_t size) {
  return Summing<kSigned>::kFlips ? wrap((n + size - 1) / size * size * 128) : 0;
}

/// Rows of up to 8 bytes that follow one another: 2 or 4 in each 128-bit lane, filled up with zeros to 8 or 4 bytes
/// each. Stops before it would read behind `end`; the number of rows done.
template <bool kSigned>
inline std::int64_t sum_tiny_rows(const std::uint8_t* x, std::int64_t rows, std::int64_t n, const std::uint8_t* end,
                                  std::int32_t* sums) {
  const std::int64_t per_lane = n <= 4 ? 4 : 2;
  const std::int64_t width = 16 / per_lane;
  std::uint8_t order[16];
  for (std::int64_t i = 0; i < 16; ++i)
    order[i] = static_cast<std::uint8_t>(i % width < n ? i / width * n + i % width : 0x80);  // 0x80 gives 0
  const __m128i rows_apart = piece_at<__m128i>(order);
  const std::int64_t at_once = kBytes / width;
  const std::int64_t last_lane = (kBytes / 16 - 1) * per_lane * n;
  const std::int32_t excess = kSigned ? wrap(n * 128) : 0;
  std::int64_t row = 0;
  for (; row + at_once <= rows && end - (x + row * n) >= last_lane + 16; row += at_once) {
    const Bytes lanes = unsigned_bytes<kSigned>(load_lanes(x + row * n, per_lane * n));
    store_lanes(arranged(lanes, rows_apart), per_lane, -excess, sums + row);
  }
  return row;
}

template <bool kSigned>
void sum_rows(const void* in, std::int64_t rows, std::int64_t stride, std::int64_t n, bool accumulate,
              std::int32_t* sums) {
  const std::uint8_t* x = static_cast<const std::uint8_t*>(in);
  const std::uint8_t* end = x + (rows - 1) * stride + n;
  std::int64_t row = 0;
  if (n <= 8 && stride == n && !accumulate) row = sum_tiny_rows<kSigned>(x, rows, n, end, sums);
  const std::int64_t grouped = (rows - row) / kRowsAtOnce * kRowsAtOnce;
  sum_grouped_rows<kSigned>(x + row * stride, grouped, stride, n, end, -excess<kSigned>(n, register_size(n)),
                            accumulate, sums + row);
  row += grouped;
  if (row == rows) return;
  Bytes rest[kRowsAtOnce];
  for (std::int64_t i = 0; i < kRowsAtOnce; ++i)
    rest[i] = row + i < rows ? row_sum<kSigned>(x + (row + i) * stride, n, end) : zero();
  std::int32_t totals[kRowsAtOnce];
  store_totals(totals, add_totals(Summing<kSigned>::across(rest), spread_total(-excess<kSigned>(n, kBytes))));
  for (std::int64_t i = 0; row + i < rows; ++i)
    sums[row + i] = accumulate ? wrap(std::int64_t{sums[row + i]} + totals[i]) : totals[i];
}

// --- columns -------------------------------------------------------------------------------------

constexpr std::int64_t kRowsOfWords = 256;  // bytes whose sum a word holds: 256 * 255 < 2^16

/// The sums of columns side by side, `kRegisters` registers of them. Words are summed whole, and their upper bytes
/// apart: the lower bytes' sum is the difference, modulo 2^16.
template <bool kSigned, int kRegisters>
class Columns {
 public:
  OCTET_INLINE Columns() : words_(zero()), upper_(zero()) {}

  OCTET_INLINE void add(const std::uint8_t* p) {
    before_.add(p);
    add(load_register(p + kOffset));
  }
  /// With only `columns` of the last register.
  OCTET_INLINE void add(const std::uint8_t* p, std::int64_t columns, const std::uint8_t* end) {
    before_.add(p);
    add(load_rest<Bytes>(p + kOffset, columns, end));
  }
  /// totals = the sums, `more`, and what the totals were where `accumulate`.
  OCTET_INLINE void store(bool accumulate, std::int32_t more, std::int32_t* totals) const {
    before_.store(accumulate, more, totals);
    in_order(sub_words(words_, to_upper_bytes(upper_)), upper_, [&](int quarter, Bytes sums) {
      std::int32_t* at = totals + kOffset + quarter * (kBytes / 4);
      const Bytes total = add_dwords(sums, spread_dword(more));
      store_register(at, accumulate ? add_dwords(total, load_register(at)) : total);
    });
  }

 private:
  static constexpr std::int64_t kOffset = (kRegisters - 1) * kBytes;

  OCTET_INLINE void add(Bytes loaded) {
    const Bytes bytes = held(unsigned_bytes<kSigned>(loaded));
    words_ = add_words(words_, bytes);
    upper_ = add_words(upper_, upper_bytes(bytes));
  }

  Columns<kSigned, kRegisters - 1> before_;
  Bytes words_, upper_;
};
template <bool kSigned>
class Columns<kSigned, 0> {
 public:
  OCTET_INLINE void add(const std::uint8_t*) {}
  OCTET_INLINE void store(bool, std::int32_t, std::int32_t*) const {}
};

#ifdef __AVX512F__
constexpr int kMostRegisters = 8;
#else
constexpr int kMostRegisters = 3;
#endif
constexpr std::int64_t kWide = kMostRegisters * kBytes;

// What the processor fetches on its own is the next line, but rows may be pages apart.
constexpr std::int64_t kRowsAhead = 4;
inline void prefetch(const std::uint8_t* p, const std::uint8_t* end) {
  if (p < end) _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
}

/// The sums of up to kRowsOfWords rows of n columns, up to kRegisters registers of them, as Columns::store gives them:
/// there is room for whole registers.
template <bool kSigned, int kRegisters = kMostRegisters>
void sum_some_columns(const std::uint8_t* x, std::int64_t rows, std::int64_t stride, std::int64_t n,
                      const std::uint8_t* end, bool accumulate, std::int32_t* totals) {
  if constexpr (kRegisters > 1)
    if (n <= (kRegisters - 1) * kBytes)
      return sum_some_columns<kSigned, kRegisters - 1>(x, rows, stride, n, end, accumulate, totals);
  const std::int64_t rest = n % kBytes;
  Columns<kSigned, kRegisters> sums;
  if (rest == 0)
    for (std::int64_t i = 0; i < rows; ++i) {
      for (int k = 0; k < kRegisters; ++k) prefetch(x + (i + kRowsAhead) * stride + k * kBytes, end);
      sums.add(x + i * stride);
    }
  else
    for (std::int64_t i = 0; i < rows; ++i) sums.add(x + i * stride, rest, end);
  sums.store(accumulate, kSigned ? wrap(rows * -128) : 0, totals);
}

// Where blocks are parts of long rows, loads that cross a cache line cost up to a quarter of the time: it pays to do
// the columns before an aligned one on their own.
constexpr std::int64_t kLongRow = 1024;
constexpr std::int64_t kRowsToAlign = 128;

/// The columns of the first block.
inline std::int64_t first_block(const std::uint8_t* x, std::int64_t rows, std::int64_t stride, std::int64_t n) {
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(x) % kBytes);
  return past == 0 || stride % kBytes != 0 || rows < kRowsToAlign || n < kLongRow ? kWide : kBytes - past;
}

/// totals = the sums, and what the totals were where `accumulate`.
inline void put_sums(const std::int32_t* __restrict sums, std::int64_t n, bool accumulate,
                     std::int32_t* __restrict totals) {
  if (accumulate)
    for (std::int64_t i = 0; i < n; ++i) totals[i] = wrap(std::int64_t{totals[i]} + sums[i]);
  else
    for (std::int64_t i = 0; i < n; ++i) totals[i] = sums[i];
}

/// All columns of some rows before the next rows: what the processor fetches ahead of a part of a row is used soon.
template <bool kSigned>
void sum_column_blocks(const std::uint8_t* x, std::int64_t rows, std::int64_t stride, std::int64_t n,
                       const std::uint8_t* end, bool accumulate, std::int32_t* sums) {
  for (std::int64_t row = 0; row < rows; row += kRowsOfWords) {
    const std::int64_t count = rows - row < kRowsOfWords ? rows - row : kRowsOfWords;
    const bool keep = accumulate || row > 0;
    for (std::int64_t j = 0, columns = first_block(x, rows, stride, n); j < n; j += columns, columns = kWide) {
      if (columns > n - j) columns = n - j;
      const std::uint8_t* block = x + row * stride + j;
      if (columns % kBytes == 0) {
        sum_some_columns<kSigned>(block, count, stride, columns, end, keep, sums + j);
        continue;
      }
      std::int32_t wide[kWide];
      sum_some_columns<kSigned>(block, count, stride, columns, end, false, wide);
      put_sums(wide, columns, keep, sums + j);
    }
  }
}

/// How many rows of n bytes make one of up to kWide bytes; of whole registers, if there is such a number.
inline std::int64_t rows_to_join(std::int64_t n) {
  std::int64_t whole = kBytes;  // rows that make whole registers
  for (std::int64_t odd = n; odd % 2 == 0 && whole > 1; odd /= 2) whole /= 2;
  const std::int64_t fitting = kWide / n;
  return fitting >= whole ? fitting / whole * whole : fitting;
}

template <bool kSigned>
void sum_columns(const void* in, std::int64_t rows, std::int64_t stride, std::int64_t n, bool accumulate,
                 std::int32_t* sums) {
  const std::uint8_t* x = static_cast<const std::uint8_t*>(in);
  const std::uint8_t* end = x + (rows - 1) * stride + n;
  const std::int64_t joined = stride == n ? rows_to_join(n) : 1;
  if (joined <= 1 || rows < 2 * joined) return sum_column_blocks<kSigned>(x, rows, stride, n, end, accumulate, sums);
  // Several short rows make a long one, whose sums are folded until they are those of one row.
  std::int32_t wide[kWide];
  const std::int64_t whole = rows / joined * joined;
  sum_column_blocks<kSigned>(x, rows / joined, joined * n, joined * n, end, false, wide);
  if (whole < rows) {
    const std::int64_t rest = (rows - whole) * n;
    sum_column_blocks<kSigned>(x + whole * n, 1, rest, rest, end, true, wide);
  }
  for (std::int64_t count = joined; count > 1;) {
    const std::int64_t half = (count + 1) / 2;
    put_sums(wide + half * n, (count - half) * n, true, wide);
    count = half;
  }
  put_sums(wide, n, accumulate, sums);
}

// --- means ---------------------------------------------------------------------------------------

/// Means of sums less the shift, by the definition, before they are saturated.
inline Ints divided(Ints differences, const MeanParameters& parameters) {
  constexpr float kBound = 131072;  // more is saturated anyway
  const Floats value = quotients(differences, parameters.scale, parameters.divisor);
  const Floats bounded = min(max(value, spread(-kBound)), spread(kBound));  // NaN too
  return add(round(bounded), spread(parameters.zero_point));
}

inline Ints minus_shift(const MeanParameters& parameters) {
  return spread(static_cast<std::int32_t>(-parameters.shift));
}

template <class T>
inline void divided_means(const std::int32_t* sums, std::size_t n, const MeanParameters& parameters, T* y) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    const std::size_t count = n - i < kLanes ? n - i : kLanes;
    const Ints some = count < kLanes ? load(sums + i, count) : load(sums + i);
    const Ints means = divided(add(some, minus_shift(parameters)), parameters);
    T bytes[4 * kLanes];
    store_saturated(bytes, means, means, means, means);
    std::memcpy(y + i, bytes, count);
  }
}

// A mean by one multiplication in float32 differs from the definition's float32 by at most four roundings, of 2^-24
// each: by less than kClose up to kFarthest, from where on every zero point leaves a saturated result. So both round to
// the same integer, unless the mean is as close to a tie: then it is divided.
constexpr float kFarthest = 256;
constexpr float kClose = 0x1.1p-14F;
constexpr float kFarFromTies = 0.5F - kClose;
constexpr float kSmallRatio = 0.25F;  // times a 32-bit sum leaves room for a zero point in 32 bits

/// Whole groups of registers; how many means that makes.
template <class T, bool kIsBounded>
inline std::size_t multiplied_means(const std::int32_t* sums, std::size_t n, const MeanParameters& parameters,
                                    float ratio, T* y) {
  const Ints shift = minus_shift(parameters);
  const Ints zero_point = spread(parameters.zero_point);
  std::size_t i = 0;
  const auto differences = [&](std::size_t k) { return add(load(sums + i + k * kLanes), shift); };
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    Ints means[4];
    Floats off[4];  // from the nearest integers
    Floats farthest = spread(0.0F);
    for (std::size_t k = 0; k < 4; ++k) {
      Floats value = mul(to_float(differences(k)), spread(ratio));
      if (!kIsBounded) value = min(max(value, spread(-kFarthest)), spread(kFarthest));
      const Ints nearest = round(value);
      off[k] = value - to_float(nearest);
      farthest = greater_magnitude(off[k], farthest);
      means[k] = add(nearest, zero_point);
    }
    if (any_above(farthest, kFarFromTies))
      for (std::size_t k = 0; k < 4; ++k)
        if (any_above(greater_magnitude(off[k], off[k]), kFarFromTies)) means[k] = divided(differences(k), parameters);
    store_saturated(y + i, means[0], means[1], means[2], means[3]);
  }
  return i;
}

template <class T>
void mean(const std::int32_t* sums, std::size_t n, const MeanParameters& parameters, void* reduced) {
  T* y = static_cast<T*>(reduced);
  const auto ratio = static_cast<float>(parameters.scale / parameters.divisor);
  std::size_t done = 0;
  if (std::abs(ratio) <= kSmallRatio)
    done = multiplied_means<T, true>(sums, n, parameters, ratio, y);
  else if (std::abs(ratio) <= std::numeric_limits<float>::max())
    done = multiplied_means<T, false>(sums, n, parameters, ratio, y);
  divided_means(sums + done, n - done, parameters, y + done);
}

}  // namespace

const ReduceKernels kReduce = {
    {sum_rows<false>, sum_rows<true>},
    {sum_columns<false>, sum_columns<true>},
    {mean<std::uint8_t>, mean<std::int8_t>},
};

}  // namespace octet::vector::OCTET_ISA
