// The loops of the matmul family. Products are u8 x s8 -> s32: signed activations and unsigned weights are brought into
// that form by flipping the top bit and moving the zero point by 128.
//
// Packed weights. Columns in blocks of 64, padded with zeros; in a block, groups of 4 rows of k: 64 columns x 4 bytes.
// k is padded with zeros to a multiple of 64. This is oneDNN's format tag BA16a64b4a, so that its primitives and these
// loops read the same bytes, and a range of columns that begins at a multiple of 64 begins at column * padded_k(k).
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::vector {

constexpr std::int64_t kColumnBlock = 64;
constexpr std::int64_t kGroup = 4;  ///< rows of k whose bytes of a column stand side by side

constexpr std::int64_t padded_k(std::int64_t k) { return (k + 63) / 64 * 64; }
constexpr std::int64_t padded_n(std::int64_t n) { return (n + kColumnBlock - 1) / kColumnBlock * kColumnBlock; }

/// A tile of int32 sums on its way to the output. With a = A - a_zero_point, b = B - b_zero_point:
///   sum[m][n] = acc[m][n] + column_term[n] + row_term[m] + addend[m][n] - row_sum[m] * b_zero_point[n]   (modulo 2^32)
///   y[m][n]   = sum                                     (epilogue_s32)
///             = f32(sum) * scale[n] + bias[n]           (epilogue_f32, epilogue_f16; each operation rounded)
///             = saturate(rint(f32(sum) * scale[n]) + y_zero_point)      (epilogue_u8, epilogue_s8; NaN gives the least
///             value)
/// A null pointer leaves its term out.
struct EpilogueTile {
  std::int64_t rows;
  std::int64_t columns;
  const std::int32_t* acc;
  std::int64_t acc_stride;
  void* y;  ///< may be acc itself where y is int32
  std::int64_t y_stride;
  const std::int32_t* column_term;
  const std::int32_t* row_term;
  const std::int32_t* addend;
  std::int64_t addend_stride;
  const std::int32_t* row_sum;  ///< given together with b_zero_point
  const std::int32_t* b_zero_point;
  const float* scale;
  const float* bias;
  std::int32_t y_zero_point;
};

/// Weights as the caller gave them: rows of neighbouring columns, `row_stride` apart. `flip` (0 or 0x80) turns unsigned
/// bytes into signed ones.
struct PlainWeights {
  const std::uint8_t* b;
  std::int64_t row_stride;
  std::uint8_t flip;
};

/// Bytes that are wanted soon: brought into the cache, a line of each row, while something else is computed.
struct Ahead {
  const std::uint8_t* first;
  std::int64_t stride;
  std::int64_t rows;  ///< 0: nothing is
};

/// A tile of sums over k, from packed weights:
///   acc[m][n] = start[m][n] + sum of a[m][k] * b[k][n]      (modulo 2^32)
struct ProductTile {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t k;
  const std::uint8_t* a;
  std::int64_t a_stride;
  const std::int8_t* b;
  std::int32_t* acc;  ///< nothing past `columns` is written
  std::int64_t acc_stride;
  const std::int32_t* start;  ///< null: zeros; may be acc
  std::int64_t start_stride;  ///< 0: the same for every row
  Ahead ahead;
};

/// What an output column needs of the operands' quantization parameters, for one row's (or every row's) values of A. A
/// stride is 0 (one value for every column) or 1.
struct ColumnParameters {
  std::int64_t columns;
  std::int64_t k;
  const std::int32_t* column_sum;
  std::int32_t a_zero_point;
  const std::int32_t* b_zero_point;
  std::int64_t b_zero_point_stride;
  const std::int32_t* c;  ///< or null
  std::int64_t c_stride;
  float a_scale;
  const float* b_scale;
  std::int64_t b_scale_stride;
  float y_scale;
};

struct MatMulKernels {
  void (*product)(const ProductTile& tile);
  /// acc[rows][columns] = a[rows][k] * b for weights that are not packed, where few rows do not pay for packing; also
  /// sets column_sum[n] to the sum of column n. False, with nothing done, on instruction sets that have no such loop.
  bool (*plain_product)(std::int64_t rows, std::int64_t columns, std::int64_t k, const std::uint8_t* a,
                        const PlainWeights& weights, std::int32_t* acc, std::int64_t acc_stride,
                        std::int32_t* column_sum);
  /// Packs columns [0, columns) of a k x columns matrix with the given strides (in elements), flipping the top bit of
  /// every byte where `flip` is 0x80, and sets column_sum[n] to the sum of the packed column (padded_n(columns)
  /// entries).
  void (*pack)(const std::uint8_t* b, std::int64_t row_stride, std::int64_t column_stride, std::int64_t k,
               std::int64_t columns, std::uint8_t flip, std::int8_t* packed, std::int32_t* column_sum);
  /// y = x with the top bit of every byte flipped.
  void (*flip)(const std::uint8_t* x, std::int64_t count, std::uint8_t* y);
  /// sums[m] = sum of a[m][0..k)
  void (*row_sums)(const std::uint8_t* a, std::int64_t rows, std::int64_t k, std::int32_t* sums);

  /// term[n] = -a_zero_point * (column_sum[n] - k * b_zero_point[n]) + c[n]   (modulo 2^32)
  void (*column_terms)(const ColumnParameters& parameters, std::int32_t* term);
  /// scale[n] = f32(a_scale * b_scale[n]); divided by y_scale and rounded again where `divide`.
  void (*column_scales)(const ColumnParameters& parameters, bool divide, float* scale);
  void (*epilogue_s32)(const EpilogueTile& tile);
  void (*epilogue_f32)(const EpilogueTile& tile);
  void (*epilogue_f16)(const EpilogueTile& tile);
  void (*epilogue_u8)(const EpilogueTile& tile);
  void (*epilogue_s8)(const EpilogueTile& tile);
};

}  // namespace octet::vector
