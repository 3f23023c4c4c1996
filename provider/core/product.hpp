// The part of a matrix product that takes the time: int32 sums of u8 activations times packed s8 weights. Each backend
// offers one; everything around it (quantization, zero points, scales, threads) is the kernel's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "primitives/vector/matmul_kernels.hpp"
#include "provider/core/dispatch.hpp"

namespace octet::core {

struct ProductRequest {
  std::int64_t m;  ///< rows that share the weights
  std::int64_t n;
  std::int64_t k;               ///< at least 1
  bool weights_of_run = false;  ///< row-major, to be packed in each run
};

/// Immutable; run() may be called by many threads.
class Product {
 public:
  virtual ~Product() = default;
  /// acc[rows][columns] = start[columns] + a[rows][k] * b, exact modulo 2^32; rows of `a` lie k apart, rows of acc
  /// acc_stride. `b` points to the first packed column (primitives/vector/matmul_kernels.hpp); without `start` (null)
  /// sums begin at zero. Writes nothing past `columns`.
  virtual void run(std::int64_t rows, std::int64_t columns, const std::uint8_t* a, const std::int8_t* b,
                   const std::int32_t* start, std::int32_t* acc, std::int64_t acc_stride) const = 0;

  /// True where products of so many rows had better take weights that come with the run as they are.
  virtual bool reads_plain(std::int64_t /*rows*/) const noexcept { return false; }
  /// The same sums, from zero, of such weights, and the sums of their columns. Only where reads_plain(rows).
  virtual void run_plain(std::int64_t /*rows*/, std::int64_t /*columns*/, const std::uint8_t* /*a*/,
                         const vector::PlainWeights& /*weights*/, std::int32_t* /*acc*/, std::int64_t /*acc_stride*/,
                         std::int32_t* /*column_sum*/) const {}

  const std::string& implementation() const noexcept { return implementation_; }
  /// The tile that suits the backend best: run() is asked for no more rows and columns than these at a time.
  std::int64_t row_block() const noexcept { return row_block_; }
  std::int64_t column_block() const noexcept { return column_block_; }
  /// About how long a run takes, for deciding on threads.
  double multiplications_per_nanosecond() const noexcept { return speed_; }

 protected:
  Product(std::string implementation, std::int64_t row_block, std::int64_t column_block, double speed)
      : implementation_(std::move(implementation)), row_block_(row_block), column_block_(column_block), speed_(speed) {}

 private:
  std::string implementation_;
  std::int64_t row_block_;
  std::int64_t column_block_;
  double speed_;
};

Offer<Product> offer_onednn_product(const ProductRequest& request);  // primitives/onednn_product.cc
Offer<Product> offer_vector_product(const ProductRequest& request);  // primitives/vector_product.cc
Offer<Product> offer_eigen_product(const ProductRequest& request);   // fallback/eigen_product.cc

/// Columns of a block whose weights leave room in the L2 cache for activations and sums: a multiple of 64.
std::int64_t cached_columns(std::int64_t n, std::int64_t k);

}  // namespace octet::core
