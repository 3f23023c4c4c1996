// Weights in training: the quantizer and the products of single rows, of every size around the loops' blocks, on every
// instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "test/kernels/vector_tables.hpp"

namespace octet {
namespace {

using Floats = std::vector<float>;

Floats random_floats(std::int64_t count, std::uint32_t seed, float width = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-width, width);
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

/// Weights with a scale and bounds for each column.
struct Weights {
  std::int64_t rows, columns;
  Floats weights, scale, lowest, highest;

  Weights(std::int64_t row_count, std::int64_t column_count)
      : rows(row_count), columns(column_count), weights(random_floats(rows * columns, 1)) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const auto zero_point = static_cast<float>(j * 37 % 256);
      scale.push_back(0.01F + 0.0001F * static_cast<float>(j));
      lowest.push_back(0 - zero_point);
      highest.push_back(255 - zero_point);
    }
  }
  vector::WeightMatrix matrix() const {
    return {rows, columns, weights.data(), scale.data(), lowest.data(), highest.data()};
  }
  std::size_t column(std::size_t i) const { return i % static_cast<std::size_t>(columns); }
  float rounded(std::size_t i) const { return std::nearbyint(weights[i] / scale[column(i)]); }
  bool saturates(std::size_t i) const { return rounded(i) < lowest[column(i)] || rounded(i) > highest[column(i)]; }
  Floats meant() const {
    Floats result(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      result[i] = std::clamp(rounded(i), lowest[column(i)], highest[column(i)]) * scale[column(i)];
    return result;
  }
  std::vector<std::uint32_t> memory() const {
    return std::vector<std::uint32_t>(static_cast<std::size_t>(vector::packed_words(rows, columns)), 0x7FC07FC0);
  }
};

template <class Function>
void for_sizes(const Function& function) {
  for (const auto* table : test::vector_tables())
    for (const std::int64_t rows : {0, 1, 2, 7, 8, 9, 20})
      for (const std::int64_t columns : {0, 1, 7, 8, 16, 17, 31, 64, 65, 150}) {
        SCOPED_TRACE(std::string(table->isa) + " " + std::to_string(rows) + "x" + std::to_string(columns));
        function(*table->weights, Weights(rows, columns));
      }
}

TEST(WeightKernels, FakeQuantizeIsItsFormula) {
  for_sizes([](const vector::WeightKernels& kernels, const Weights& weights) {
    Floats y(weights.weights.size() + 1, 77.0F), gradient(y.size(), 2.0F), expected = weights.meant();
    bool saturates = false;
    for (std::size_t i = 0; i < weights.weights.size(); ++i) saturates = saturates || weights.saturates(i);
    EXPECT_EQ(kernels.fake_quantize(weights.matrix(), y.data()), saturates);
    std::vector<std::uint32_t> packed = weights.memory();
    EXPECT_EQ(kernels.pack(weights.matrix(), packed.data()), saturates);
    expected.push_back(77.0F);
    EXPECT_EQ(y, expected);
    kernels.straight_through(weights.matrix(), gradient.data());
    for (std::size_t i = 0; i < weights.weights.size(); ++i)
      EXPECT_EQ(gradient[i], weights.saturates(i) ? 0.0F : 2.0F) << i;
    EXPECT_EQ(gradient.back(), 2.0F);
  });
}

TEST(WeightKernels, ProductsOfOneRow) {
  for_sizes([](const vector::WeightKernels& kernels, const Weights& weights) {
    const Floats meant = weights.meant();
    std::vector<std::uint32_t> packed = weights.memory();
    kernels.pack(weights.matrix(), packed.data());
    const auto at = [&](std::int64_t i, std::int64_t j) {
      return static_cast<double>(meant[static_cast<std::size_t>(i * weights.columns + j)]);
    };
    const Floats x = random_floats(weights.rows, 2), d = random_floats(weights.columns, 3);
    Floats y(d.size() + 1, 77.0F), dx(x.size() + 1, 77.0F);
    Floats scaled(static_cast<std::size_t>(vector::block_columns(weights.columns)), std::nanf(""));
    kernels.product(weights.matrix(), packed.data(), x.data(), y.data());
    kernels.transposed_product(weights.matrix(), packed.data(), d.data(), scaled.data(), dx.data());
    for (std::int64_t j = 0; j < weights.columns; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < weights.rows; ++i)
        sum += static_cast<double>(x[static_cast<std::size_t>(i)]) * at(i, j);
      ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(j)]), sum, 1e-5) << j;
    }
    for (std::int64_t i = 0; i < weights.rows; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < weights.columns; ++j)
        sum += static_cast<double>(d[static_cast<std::size_t>(j)]) * at(i, j);
      ASSERT_NEAR(static_cast<double>(dx[static_cast<std::size_t>(i)]), sum, 1e-4) << i;
    }
    EXPECT_EQ(y.back(), 77.0F) << "written past the end";
    EXPECT_EQ(dx.back(), 77.0F) << "written past the end";
  });
}

TEST(WeightKernels, IntegersAreExact) {
  for (const auto* table : test::vector_tables()) {
    const std::int64_t columns = 511;  // from -255 to 255
    Floats weights, scale(columns, 1.0F), lowest(columns, -255.0F), highest(columns, 255.0F), y(columns);
    for (int q = -255; q <= 255; ++q) weights.push_back(static_cast<float>(q));
    const vector::WeightMatrix matrix{1, columns, weights.data(), scale.data(), lowest.data(), highest.data()};
    std::vector<std::uint32_t> packed(static_cast<std::size_t>(vector::packed_words(1, columns)));
    EXPECT_FALSE(table->weights->pack(matrix, packed.data()));
    const float one = 1;
    table->weights->product(matrix, packed.data(), &one, y.data());
    EXPECT_EQ(y, weights) << table->isa;
  }
}

TEST(WeightKernels, NanStaysInItsColumn) {
  for (const auto* table : test::vector_tables()) {
    Weights weights(3, 40);
    weights.weights[41] = std::nanf("");  // row 1, column 1
    std::vector<std::uint32_t> packed = weights.memory();
    table->weights->pack(weights.matrix(), packed.data());
    Floats meant(120), y(40);
    const Floats x(3, 1.0F);
    table->weights->fake_quantize(weights.matrix(), meant.data());
    table->weights->product(weights.matrix(), packed.data(), x.data(), y.data());
    for (std::size_t j = 0; j < 40; ++j) {
      EXPECT_EQ(std::isnan(meant[40 + j]), j == 1) << table->isa << " " << j;
      EXPECT_EQ(std::isnan(y[j]), j == 1) << table->isa << " " << j;
    }
  }
}

}  // namespace
}  // namespace octet
