// Columns of B in 8 bits, packed as the products read them (primitives/vector/matmul_kernels.hpp), with their sums and
// scales.
#pragma once

#include <cstddef>
#include <cstdint>

#include "primitives/vector/matmul_kernels.hpp"
#include "primitives/vector/rowwise_kernels.hpp"

namespace octet::core {

/// K cut into pieces of whole groups of 64 rows, such that int32 holds every sum of one piece.
class DepthPieces {
 public:
  explicit DepthPieces(std::int64_t k);
  std::int64_t count() const noexcept { return count_; }
  std::int64_t begin(std::int64_t piece) const noexcept { return piece * length_; }
  std::int64_t length(std::int64_t piece) const noexcept;
  /// Sum of padded_k over the pieces; over those before a piece it is begin(piece).
  std::int64_t padded_end() const noexcept;

 private:
  std::int64_t k_;
  std::int64_t length_;  ///< of all pieces but the last
  std::int64_t count_;
};

/// Where the elements of float B lie.
struct FloatMatrix {
  const void* data;
  bool bfloat16;
  bool transposed;  ///< n x k: a column's elements are neighbours
  std::int64_t k, n;

  const std::uint8_t* at(std::int64_t index) const {
    return static_cast<const std::uint8_t*>(data) + index * element_bytes();
  }
  std::int64_t element_bytes() const { return bfloat16 ? 2 : 4; }
};

/// A view of memory for up to `capacity` columns, a multiple of 64.
class QuantizedColumns {
 public:
  static std::size_t bytes(const DepthPieces& pieces, std::int64_t capacity);
  /// 64-byte aligned memory of that size.
  QuantizedColumns(const DepthPieces& pieces, std::int64_t capacity, std::uint8_t* memory);

  /// Packed weights and their sums from column n (a multiple of 64) on.
  std::int8_t* packed(std::int64_t piece, std::int64_t n) const noexcept;
  std::int32_t* column_sum(std::int64_t piece, std::int64_t n) const noexcept { return sums_ + piece * capacity_ + n; }
  float* scale(std::int64_t n) const noexcept { return scale_ + n; }

  /// Columns [0, count) of s8 b, as they are, with their scales; element (k, n) at k * row_stride + n * column_stride.
  void pack(const std::int8_t* b, std::int64_t row_stride, std::int64_t column_stride, std::int64_t count,
            const float* scale) const;

 private:
  DepthPieces pieces_;
  std::int64_t capacity_;
  std::int8_t* packed_;
  std::int32_t* sums_;
  float* scale_;
};

/// Quantizes columns of float B from left to right, a block of at most 64 after the other, with scale max|b| / levels.
/// The walk through B that quantizes some finds the bounds of the next (primitives/vector/rowwise_kernels.hpp).
class ColumnQuantizer {
 public:
  /// For columns [first, end).
  ColumnQuantizer(const FloatMatrix& b, const DepthPieces& pieces, std::int64_t first, std::int64_t end, float levels);

  /// The next `count` columns become those from n (a multiple of 64) on of `columns`.
  void quantize(std::int64_t count, const QuantizedColumns& columns, std::int64_t n) { take(count, columns, n, {}); }

  /// Whether multiply() can be had for so many rows.
  bool multiplies(std::int64_t rows) const noexcept;
  /// The same but for the packing, to the first of `columns`: acc[m][0..64) are their sums with rows of `a`.
  void multiply(std::int64_t count, const QuantizedColumns& columns, std::int64_t rows, const std::uint8_t* a,
                std::int32_t* acc, std::int64_t acc_stride) {
    take(count, columns, 0, {rows, a, acc, acc_stride});
  }

 private:
  struct FewRows {
    std::int64_t count;
    const std::uint8_t* a;
    std::int32_t* acc;
    std::int64_t acc_stride;
  };

  void take(std::int64_t count, const QuantizedColumns& columns, std::int64_t n, const FewRows& rows);
  void quantize_transposed(std::int64_t count, const QuantizedColumns& columns, std::int64_t n);
  vector::FloatColumns strip(std::int64_t piece, std::int64_t begin, std::int64_t count) const noexcept;
  void walk(vector::ColumnWalk& step, std::int64_t piece);

  FloatMatrix b_;
  DepthPieces pieces_;
  float levels_;
  std::int64_t width_;
  std::int64_t next_, end_;
  bool upwards_ = false;
  float bounds_[vector::kColumnBlock] = {};  ///< of the columns from next_ on
};

}  // namespace octet::core
