// Constant weights in the form that every product reads, held once in the process.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "provider/core/aligned.hpp"
#include "provider/core/kernel.hpp"

namespace octet::core {

/// Where the elements of a matrix lie: element (k, n) at k * row_stride + n * column_stride.
struct MatrixStrides {
  std::int64_t row;
  std::int64_t column;
};

/// Counts bytes of packed weights in the process for as long as it lives.
class HeldBytes {
 public:
  explicit HeldBytes(std::size_t bytes = 0) noexcept;
  ~HeldBytes();
  HeldBytes(HeldBytes&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::size_t bytes() const noexcept { return bytes_; }
  /// Of all: where caches have no room for them, each product reads its own from memory.
  static std::size_t total() noexcept;

 private:
  std::size_t bytes_;
};

/// Packed s8 weights of one or more k x n matrices (primitives/vector/matmul_kernels.hpp), with their column sums.
class PackedWeights {
 public:
  PackedWeights(const TensorView& b, std::int64_t matrices, std::int64_t k, std::int64_t n, MatrixStrides strides);

  const std::int8_t* data(std::int64_t matrix) const noexcept;
  const std::int32_t* column_sum(std::int64_t matrix) const noexcept;
  std::size_t bytes() const noexcept { return held_.bytes(); }
  bool operator==(const PackedWeights& other) const noexcept;
  std::uint64_t hash() const noexcept { return hash_; }

 private:
  std::int64_t matrices_;
  std::int64_t k_;
  std::int64_t n_;
  HeldBytes held_;
  AlignedArray<std::int8_t> packed_;
  std::vector<std::int32_t> column_sums_;
  std::uint64_t hash_ = 0;
};

/// The packed form of b: shared with every other holder of equal weights in this process.
std::shared_ptr<const PackedWeights> pack_weights(const TensorView& b, std::int64_t matrices, std::int64_t k,
                                                  std::int64_t n, MatrixStrides strides);

}  // namespace octet::core
