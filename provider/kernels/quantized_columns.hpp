// Columns of B in 8 bits, packed as the products read them (primitives/vector/matmul_kernels.hpp), with their sums and
// scales.
#pragma once

#include <cstdint>
#include <vector>

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
};

/// A view of memory for up to `capacity` columns, a multiple of 64.
class QuantizedColumns {
 public:
  static std::size_t bytes(const DepthPieces& pieces, std::int64_t capacity);
  /// 64-byte aligned memory of that size.
  QuantizedColumns(const DepthPieces& pieces, std::int64_t capacity, std::uint8_t* memory);

  /// Packed weights and their sums from column n (a multiple of 64) on.
  const std::int8_t* packed(std::int64_t piece, std::int64_t n) const noexcept;
  const std::int32_t* column_sum(std::int64_t piece, std::int64_t n) const noexcept { return sums_of(piece) + n; }
  const float* scale(std::int64_t n) const noexcept { return scale_ + n; }

  /// Columns [first, first + count) of b, with scale max|b| / levels.
  void quantize(const FloatMatrix& b, std::int64_t first, std::int64_t count, float levels);
  /// Columns [0, count) of s8 b, as they are, with their scales; element (k, n) at k * row_stride + n * column_stride.
  void pack(const std::int8_t* b, std::int64_t row_stride, std::int64_t column_stride, std::int64_t count,
            const float* scale);

 private:
  std::int32_t* sums_of(std::int64_t piece) const noexcept { return sums_ + piece * capacity_; }
  std::int8_t* block(std::int64_t piece, std::int64_t n) const noexcept;
  void quantize_strip(const vector::FloatColumns& strip, std::int64_t k, std::int64_t width, float levels,
                      std::int64_t n);
  void quantize_transposed(const FloatMatrix& b, std::int64_t first, std::int64_t count, float levels, std::int64_t n);

  DepthPieces pieces_;
  std::int64_t capacity_;
  std::int8_t* packed_;
  std::int32_t* sums_;
  float* scale_;
};

}  // namespace octet::core
