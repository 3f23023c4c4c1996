// From the sums of rows that are quantized one by one to float32 (RowwiseSums), a register of columns at a time.
#pragma once

#include "primitives/vector/isa/activations.hpp"
#include "primitives/vector/rowwise_kernels.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

#ifdef __AVX512F__
inline Ints multiply(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }
inline Ints subtract(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
#else
inline Ints multiply(Ints a, Ints b) { return _mm256_mullo_epi32(a, b); }
inline Ints subtract(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
#endif

/// acc - row_zero_point * column_sum, and with zero points of the columns + row_term * zero_point (RowwiseSums).
template <bool kZeroPoint>
OCTET_INLINE Floats exact_sums(Ints acc, Ints row_zero_point, Ints column_sum, Ints row_term, Ints zero_point) {
  Ints sum = subtract(acc, multiply(row_zero_point, column_sum));
  if (kZeroPoint) sum = add(sum, multiply(row_term, zero_point));
  return to_float(sum);
}

/// What a register of columns has in every row.
template <bool kZeroPoint>
struct Columns {
  Ints sum, zero_point;
  Floats scale;

  OCTET_INLINE Columns(const RowwiseSums& sums, std::int64_t n)
      : sum(load(sums.column_sum + n)),
        zero_point(kZeroPoint ? load(sums.zero_point + n) : sum),
        scale(load(sums.column_scale + n)) {}
};

/// What a row has in every column.
struct Row {
  const std::int32_t* acc;
  Floats scale;
  Ints zero_point, term;

  OCTET_INLINE Row(const RowwiseSums& sums, std::int64_t m)
      : acc(sums.acc + m * sums.acc_stride),
        scale(spread(sums.row_scale[m])),
        zero_point(spread(sums.row_zero_point[m])),
        term(sums.zero_point ? spread(sums.row_term[m]) : zero_point) {}

  template <bool kZeroPoint>
  OCTET_INLINE Floats value(std::int64_t n, const Columns<kZeroPoint>& columns) const {
    return exact_sums<kZeroPoint>(load(acc + n), zero_point, columns.sum, term, columns.zero_point) *
           (scale * columns.scale);
  }
};

}  // namespace
}  // namespace octet::vector::OCTET_ISA
