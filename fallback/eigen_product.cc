// The product by Eigen: blocks of float products whose sums are exact integers.
#include <Eigen/Core>
#include <algorithm>

#include "primitives/vector/matmul_kernels.hpp"
#include "provider/core/product.hpp"
#include "provider/core/scratch.hpp"

namespace octet::core {
namespace {

// 512 products of at most 255 * 128 sum to less than 2^24: every partial sum is an integer that float holds exactly.
constexpr std::int64_t kDepth = 512;

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixMap = Eigen::Map<Matrix, Eigen::Aligned64>;

class EigenProduct final : public Product {
 public:
  explicit EigenProduct(const ProductRequest& request)
      : Product("Eigen::GEMM<float>", 128, std::min<std::int64_t>(vector::padded_n(request.n), 512), 20),
        k_(request.k) {}

  void run(std::int64_t rows, std::int64_t columns, const std::uint8_t* a, const std::int8_t* b,
           const std::int32_t* start, std::int32_t* acc, std::int64_t acc_stride) const override {
    const std::int64_t depth = std::min(k_, kDepth);
    Layout layout;
    const auto floats = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
    const std::size_t a_at = layout.add(floats(rows * depth));
    const std::size_t b_at = layout.add(floats(depth * columns));
    const std::size_t y_at = layout.add(floats(rows * columns));
    const Scratch scratch(layout.total());
    auto* a_block = reinterpret_cast<float*>(scratch.bytes() + a_at);
    auto* b_block = reinterpret_cast<float*>(scratch.bytes() + b_at);
    MatrixMap y(reinterpret_cast<float*>(scratch.bytes() + y_at), rows, columns);

    for (std::int64_t begin = 0; begin < k_; begin += kDepth) {
      const std::int64_t count = std::min(kDepth, k_ - begin);
      for (std::int64_t m = 0; m < rows; ++m) std::copy_n(a + m * k_ + begin, count, a_block + m * count);
      unpack(b, begin, count, columns, b_block);
      y.noalias() = MatrixMap(a_block, rows, count) * MatrixMap(b_block, count, columns);
      for (std::int64_t m = 0; m < rows; ++m)
        for (std::int64_t n = 0; n < columns; ++n) {
          const auto sum = static_cast<std::uint32_t>(static_cast<std::int32_t>(y(m, n)));
          std::int32_t& target = acc[m * acc_stride + n];
          const std::int32_t before = begin > 0 ? target : start ? start[n] : 0;
          target = static_cast<std::int32_t>(static_cast<std::uint32_t>(before) + sum);
        }
    }
  }

 private:
  // Rows [begin, begin + count) of the packed weights as a row-major float matrix.
  void unpack(const std::int8_t* packed, std::int64_t begin, std::int64_t count, std::int64_t columns, float* b) const {
    for (std::int64_t n = 0; n < columns; ++n) {
      const std::int8_t* column = packed + n / vector::kColumnBlock * vector::kColumnBlock * vector::padded_k(k_) +
                                  n % vector::kColumnBlock * vector::kGroup;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t k = begin + i;
        b[i * columns + n] = static_cast<float>(
            column[k / vector::kGroup * (vector::kGroup * vector::kColumnBlock) + k % vector::kGroup]);
      }
    }
  }

  std::int64_t k_;
};

}  // namespace

Offer<Product> offer_eigen_product(const ProductRequest& request) { return std::make_unique<EigenProduct>(request); }

}  // namespace octet::core
