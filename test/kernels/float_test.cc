// Float32 products with a packed operand, and transposes, of every size around the loops' blocks, on every instruction
// set.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "provider/core/float_product.hpp"
#include "test/kernels/vector_tables.hpp"

namespace octet {
namespace {

std::vector<float> random_floats(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

std::vector<float> transposed(const std::vector<float>& x, std::int64_t rows, std::int64_t columns) {
  std::vector<float> y(x.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      y[static_cast<std::size_t>(j * rows + i)] = x[static_cast<std::size_t>(i * columns + j)];
  return y;
}

void expect_product(const std::vector<float>& y, std::int64_t m, std::int64_t n, std::int64_t k,
                    const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += static_cast<double>(a[static_cast<std::size_t>(i * k + l)]) *
               static_cast<double>(b[static_cast<std::size_t>(l * n + j)]);
      ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(i * n + j)]), sum, 1e-5)
          << what << " " << i << " " << j;
    }
}

TEST(FloatKernels, ProductOfPacked) {
  for (const auto* table : test::vector_tables())
    for (const std::int64_t n : {1, 7, 16, 17, 33, 64, 65, 130})
      for (const std::int64_t k : {0, 1, 2, 9, 40})
        for (const std::int64_t m : {1, 2, 3, 6, 7, 8, 13}) {
          const std::vector<float> a = random_floats(m * k, 1), b = random_floats(k * n, 2);
          for (const bool transpose : {false, true}) {
            std::vector<float> packed(static_cast<std::size_t>(vector::packed_floats(k, n)), std::nanf(""));
            table->floats->pack(transpose ? transposed(b, k, n).data() : b.data(), transpose, k, n, packed.data());
            std::vector<float> y(static_cast<std::size_t>(m * n + 1), 77.0F);
            table->floats->product(m, n, k, a.data(), packed.data(), y.data());
            ASSERT_EQ(y.back(), 77.0F) << "written past the end";
            expect_product(y, m, n, k, a, b, table->isa);
          }
        }
}

TEST(FloatKernels, Transpose) {
  for (const auto* table : test::vector_tables())
    for (const std::int64_t rows : {1, 5, 8, 16, 19})
      for (const std::int64_t columns : {1, 7, 8, 24, 33}) {
        const std::vector<float> x = random_floats(rows * columns, 3);
        std::vector<float> y(x.size());
        table->floats->transpose(x.data(), rows, columns, y.data());
        ASSERT_EQ(y, transposed(x, rows, columns)) << table->isa << " " << rows << " " << columns;
      }
}

TEST(FloatProduct, OfEveryOrientation) {
  using core::Transposed;
  for (const std::int64_t m : {0, 1, 5, 40})
    for (const std::int64_t n : {0, 1, 9, 70})
      for (const std::int64_t k : {0, 1, 6, 33}) {
        const std::vector<float> a = random_floats(m * k, 1), b = random_floats(k * n, 2);
        const std::vector<float> a_transposed = transposed(a, m, k), b_transposed = transposed(b, k, n);
        for (const bool flip_a : {false, true})
          for (const bool flip_b : {false, true}) {
            std::vector<float> y(static_cast<std::size_t>(m * n), std::nanf(""));
            core::float_product(m, n, k, {(flip_a ? a_transposed : a).data(), Transposed{flip_a}},
                                {(flip_b ? b_transposed : b).data(), Transposed{flip_b}}, y.data());
            expect_product(y, m, n, k, a, b, "oneDNN");
          }
      }
}

}  // namespace
}  // namespace octet
