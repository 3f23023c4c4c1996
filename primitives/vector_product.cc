// The product by our own loops.
#include <algorithm>

#include "primitives/vector/kernels.hpp"
#include "provider/core/cpu.hpp"
#include "provider/core/parallel.hpp"
#include "provider/core/product.hpp"

namespace octet::core {
namespace {

using vector::kColumnBlock;

// Many rows: one block of columns at a time, so that the sums wait for the epilogue in the L1 cache. Few rows: as many
// columns as one call can take.
constexpr std::int64_t kRowBlock = 48;
constexpr std::int64_t kTileRowBlock = 128;  // with AMX
constexpr std::int64_t kFewRows = 6;

// Weights that come with the run. Up to kPlainRows, reading them in their own order costs less than packing them. Up to
// kRowBlock, kDepth rows of a block of columns are packed at a time, which stay in the L1 cache while they are
// multiplied. More rows pay for packing the block as a whole.
constexpr std::int64_t kPlainRows = 4;
constexpr std::int64_t kDepth = 384;
constexpr std::int64_t kSums = 16384;  // of a call

bool has_amx() { return cpu_isa_level() == Isa::avx512_core_amx; }

/// Multiplications per nanosecond.
double speed() {
  if (has_amx()) return 800;
  return has_vnni(cpu_isa_level()) ? 100 : 30;
}

std::int64_t columns_at_a_time(const ProductRequest& request) {
  if (request.m > kRowBlock) return kColumnBlock;
  if (request.weights_of_run) return std::max(kSums / request.m / kColumnBlock, std::int64_t{1}) * kColumnBlock;
  return request.m > kFewRows ? kColumnBlock : cached_columns(request.n, request.k);
}

class VectorProduct final : public Product {
 public:
  explicit VectorProduct(const ProductRequest& request)
      : Product(std::string("product:") + isa_name(cpu_isa_level()), has_amx() ? kTileRowBlock : kRowBlock,
                columns_at_a_time(request), speed()),
        k_(request.k) {}

  void run(std::int64_t rows, std::int64_t columns, const std::uint8_t* a, const std::int8_t* b,
           const std::int32_t* start, std::int32_t* acc, std::int64_t acc_stride) const override {
    vector::kernels().matmul.product({rows, columns, k_, a, k_, b, acc, acc_stride, start, 0, {}});
  }

  bool reads_plain(std::int64_t rows) const noexcept override { return rows <= kRowBlock; }

  void run_plain(std::int64_t rows, std::int64_t columns, const std::uint8_t* a, const vector::PlainWeights& weights,
                 std::int32_t* acc, std::int64_t acc_stride, std::int32_t* column_sum) const override {
    const auto plain_product = vector::kernels().matmul.plain_product;
    if (rows <= kPlainRows && plain_product(rows, columns, k_, a, weights, acc, acc_stride, column_sum)) return;
    std::fill_n(column_sum, columns, 0);
    const std::int64_t pieces = (k_ + kDepth - 1) / kDepth;
    const std::int64_t depth = vector::padded_k((k_ + pieces - 1) / pieces);
    for (std::int64_t k = 0; k < k_; k += depth)
      run_piece({k, std::min(k + depth, k_)}, rows, columns, a, weights, acc, acc_stride, column_sum);
  }

 private:
  // Adds rows `depth` of the weights, a block of columns after the other. While one is multiplied, the next is fetched:
  // the cache line of its last column, for what else a row may have came with the block before.
  void run_piece(Range depth, std::int64_t rows, std::int64_t columns, const std::uint8_t* a,
                 const vector::PlainWeights& weights, std::int32_t* acc, std::int64_t acc_stride,
                 std::int32_t* column_sum) const {
    const vector::MatMulKernels& loops = vector::kernels().matmul;
    const std::uint8_t* b = weights.b + depth.begin * weights.row_stride;
    const std::int64_t k = depth.end - depth.begin;
    alignas(64) std::int8_t packed[kDepth * kColumnBlock];
    std::int32_t sums[kColumnBlock];
    for (std::int64_t n = 0; n < columns; n += kColumnBlock) {
      const std::int64_t width = std::min(kColumnBlock, columns - n);
      loops.pack(b + n, weights.row_stride, 1, k, width, weights.flip, packed, sums);
      for (std::int64_t i = 0; i < width; ++i) column_sum[n + i] += sums[i];
      vector::ProductTile tile{rows, width, k, a + depth.begin, k_, packed, acc + n, acc_stride, nullptr, 0, {}};
      if (depth.begin > 0) {
        tile.start = tile.acc;
        tile.start_stride = acc_stride;
      }
      const std::int64_t last = std::min(n + 2 * kColumnBlock, columns) - 1;
      if (n + kColumnBlock < columns)
        tile.ahead = {b + last, weights.row_stride, k};
      else if (depth.end < k_)
        tile.ahead = {b + k * weights.row_stride + std::min(kColumnBlock, columns) - 1, weights.row_stride,
                      std::min(k, k_ - depth.end)};
      loops.product(tile);
    }
  }

  std::int64_t k_;
};

}  // namespace

std::int64_t cached_columns(std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kBytes = 512 * 1024;
  const std::int64_t columns = kBytes / vector::padded_k(k) / vector::kColumnBlock * vector::kColumnBlock;
  return std::min(vector::padded_n(n), std::max(columns, vector::kColumnBlock));
}

Offer<Product> offer_vector_product(const ProductRequest& request) { return std::make_unique<VectorProduct>(request); }

}  // namespace octet::core
