// The loops of products whose rows of A, and columns of B, are quantized each by its own range: float columns to packed
// s8, and sums to outputs.
//
// exp is that of lstm_kernels.hpp: expm1_parts(x) gives p and s, so that exp(x) = fma(p, s, s) and
// exp(x) - 1 = fma(p, s, s - 1), of x clamped to [-87, 87] where nothing else is said.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::vector {

/// Sums of rows that are quantized each with its own scale and zero point:
///   value[m][n] = f32(acc[m][n] - row_zero_point[m] * column_sum[n] + zero_point[n] * row_term[m])   (sum modulo 2^32)
///                 * f32(row_scale[m] * column_scale[n])
struct RowwiseSums {
  std::int64_t rows;
  std::int64_t columns;
  const std::int32_t* acc;  ///< readable up to a multiple of 64 columns
  std::int64_t acc_stride;
  const float* row_scale;
  const std::int32_t* row_zero_point;
  const std::int32_t* row_term;  ///< k * row_zero_point[m] - sum of the quantized row; given together with zero_point
  const float* column_scale;
  const std::int32_t* column_sum;
  const std::int32_t* zero_point;  ///< null: all 0
};

/// What is applied to an output in float32, with parameters p[0], p[1] (prelu: p[n] of column n); NaN stays NaN.
enum class OutputActivation {
  identity,
  relu,            ///< x < 0 ? 0 : x
  leaky_relu,      ///< x < 0 ? p0 * x : x
  restrict_range,  ///< min(max(x, p0), p1)
  prelu,           ///< x < 0 ? p[n] * x : x
  elu,             ///< x < 0 ? p0 * (exp(x) - 1) : x
  hswish,          ///< max(min(x, p0) + p0, 0) * p1 * x
  mish,            ///< x > p0 ? x : x < -87 ? 0 : x * (t / (t + 2)), t = e * (e + 2), e = exp(min(x, 20))
  hard_sigmoid,    ///< min(max(x * p0 + p1, 0), 1)
  swish,           ///< -p0 * x > 87 ? 0 : x / (1 + exp(-p0 * x))
  gelu,            ///< x < 0 ? t : x - t; t = |x| > 13.19 ? 0 : x * erfc(|x| / sqrt 2) / 2 (isa/output_activations.hpp)
};

/// y[m][n] = activation(value[m][n] + bias[n]), rounded to bfloat16 (ties to even) where told.
struct RowwiseTile {
  RowwiseSums sums;
  const float* exact_sums;  ///< in place of acc and its corrections, with their stride and padding; or null
  const float* bias;        ///< or null: nothing is added
  OutputActivation activation;
  const float* parameters;  ///< prelu's are readable up to a multiple of 64 columns
  void* y;                  ///< may be acc's memory where it is float32
  std::int64_t y_stride;
  bool bfloat16;
};

/// Neighbouring columns of a row-major float32 or bfloat16 matrix.
struct FloatColumns {
  const void* b;  ///< null: there are none
  std::int64_t columns;
};

/// One way down the rows of a matrix, or up: some columns, whose bounds are known, are quantized, while the bounds of
/// the next ones are found. So each comes from memory once, and its second reading finds it in the cache.
struct ColumnWalk {
  bool bfloat16;
  std::int64_t rows;
  std::int64_t row_stride;  ///< in elements
  std::int64_t width;       ///< 32 or 64: how many columns are taken together
  bool upwards;             ///< from the last rows to the first
  bool from_memory;         ///< the matrix is larger than the caches: what is bounded soon is fetched

  /// Become rint(b * reciprocal[n]), ties to even. A product has at most 127 in magnitude, or is NaN and gives any
  /// integer. Columns past the last are zeros.
  FloatColumns quantized;
  const float* reciprocal;   ///< `width` of them
  std::int8_t* packed;       ///< where the first column is in its block (matmul_kernels.hpp)
  std::int32_t* column_sum;  ///< grows by the sums of `width` columns

  /// In place of being packed: acc[m][n] grows by the sum over the rows of a[m] times the integers, for `width`
  /// columns.
  std::int64_t a_rows;  ///< 0, or up to RowwiseKernels::walk_products
  const std::uint8_t* a;
  std::int64_t a_stride;
  std::int32_t* acc;
  std::int64_t acc_stride;

  /// bounds[n] becomes the greatest of itself and the magnitudes of column n; not finite where an element is not.
  FloatColumns bounded;
  float* bounds;  ///< `width` of them, not negative
};

struct RowwiseKernels {
  void (*finish)(const RowwiseTile& tile);
  /// x = activation(x), for tests; prelu takes parameters[i] for x[i].
  void (*activate)(OutputActivation activation, const float* parameters, float* x, std::size_t n);

  void (*walk_columns)(const ColumnWalk& walk);
  /// How many rows of A a walk multiplies by; 0 on instruction sets without 8-bit products.
  std::int64_t walk_products;
  /// A walk's integers of a column whose elements are neighbours.
  void (*quantize_s8)(const float* x, std::size_t n, float reciprocal, std::int8_t* y);
};

}  // namespace octet::vector
