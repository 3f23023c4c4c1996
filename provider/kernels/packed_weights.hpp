// Constant weights in the form that every product reads, held once in the process.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "provider/core/aligned.hpp"
#include "provider/core/kernel.hpp"

namespace octet::core {

/// Where the elements of a matrix lie: element (k, n) at k * row_stride + n * column_stride.
struct MatrixStrides {
  std::int64_t row;
  std::int64_t column;
};

/// Packed s8 weights of one or more k x n matrices (primitives/vector/matmul_kernels.hpp), with their column sums.
class PackedWeights {
 public:
  PackedWeights(const TensorView& b, std::int64_t matrices, std::int64_t k, std::int64_t n, MatrixStrides strides);
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  const std::int8_t* data(std::int64_t matrix) const noexcept;
  const std::int32_t* column_sum(std::int64_t matrix) const noexcept;
  std::size_t bytes() const noexcept { return bytes_; }
  bool operator==(const PackedWeights& other) const noexcept;
  std::uint64_t hash() const noexcept { return hash_; }

  /// Bytes of all that the process holds: where caches have no room for them, each product reads its own from memory.
  static std::size_t held_bytes() noexcept;

 private:
  std::int64_t matrices_;
  std::int64_t k_;
  std::int64_t n_;
  std::size_t bytes_ = 0;
  AlignedArray<std::int8_t> packed_;
  std::vector<std::int32_t> column_sums_;
  std::uint64_t hash_ = 0;
};

/// The packed form of b: shared with every other holder of equal weights in this process.
std::shared_ptr<const PackedWeights> pack_weights(const TensorView& b, std::int64_t matrices, std::int64_t k,
                                                  std::int64_t n, MatrixStrides strides);

}  // namespace octet::core
