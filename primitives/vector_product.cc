// The product by our own loops.
#include <algorithm>

#include "primitives/vector/kernels.hpp"
#include "provider/core/cpu.hpp"
#include "provider/core/product.hpp"

namespace octet::core {
namespace {

// Many rows: one block of columns at a time, so that the sums wait for the epilogue in the L1 cache. Few rows, or
// weights that are read from afar for some rows only: as many columns as one call can take.
constexpr std::int64_t kRowBlock = 48;
// Up to here reading the weights in their own order costs less than packing them first.
constexpr std::int64_t kPlainRows = 4;
constexpr std::int64_t kPlainColumns = 1024;

std::int64_t columns_at_a_time(const ProductRequest& request) {
  if (request.weights_of_run && request.m <= kPlainRows && cpu_isa_level() >= Isa::avx512_core_vnni)
    return kPlainColumns;
  const std::int64_t few = request.weights_of_run ? kRowBlock : 6;
  return request.m > few ? vector::kColumnBlock : cached_columns(request.n, request.k);
}

class VectorProduct final : public Product {
 public:
  explicit VectorProduct(const ProductRequest& request)
      : Product(std::string("product:") + vector::kernels().isa, kRowBlock, columns_at_a_time(request),
                has_vnni(cpu_isa_level()) ? 100 : 30),
        k_(request.k) {}

  void run(std::int64_t rows, std::int64_t columns, const std::uint8_t* a, const std::int8_t* b, std::int32_t* acc,
           std::int64_t acc_stride) const override {
    vector::kernels().matmul.product(rows, columns, k_, a, b, acc, acc_stride);
  }

  bool run_plain(std::int64_t rows, std::int64_t columns, const std::uint8_t* a, const vector::PlainWeights& weights,
                 std::int32_t* acc, std::int64_t acc_stride, std::int32_t* column_sum) const override {
    return rows <= kPlainRows &&
           vector::kernels().matmul.plain_product(rows, columns, k_, a, weights, acc, acc_stride, column_sum);
  }

 private:
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
