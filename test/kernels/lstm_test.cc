// The LSTM's activation functions: errors as stated, and the same bits from every instruction set.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "test/kernels/vector_tables.hpp"

namespace octet {
namespace {

using vector::Activation;
using vector::ActivationFunction;

std::vector<float> computed(const vector::Kernels& table, const ActivationFunction& function,
                            const std::vector<float>& x) {
  std::vector<float> y(x.size());
  table.lstm->activate(function, x.data(), x.size(), y.data());
  return y;
}

std::uint32_t bits_of(float value) { return Eigen::numext::bit_cast<std::uint32_t>(value); }

TEST(LstmActivations, AreTheSameBitsOnEveryInstructionSet) {
  const std::vector<float> x = test::all_magnitudes({87.0F, -87.0F, 10.0F, -10.0F});
  for (int kind = 0; kind <= static_cast<int>(Activation::softplus); ++kind) {
    const ActivationFunction function{static_cast<Activation>(kind), 0.3F, 0.7F};
    const std::vector<float> expected = computed(vector::avx2::kTable, function, x);
    for (const auto* table : test::vector_tables()) {
      const std::vector<float> found = computed(*table, function, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i])) {
          ASSERT_TRUE(std::isnan(found[i])) << table->isa << " function " << kind << " loses NaN";
        } else if (!std::isnan(expected[i])) {
          ASSERT_EQ(bits_of(found[i]), bits_of(expected[i]))
              << table->isa << " function " << kind << " of " << x[i] << ": " << found[i] << ", " << expected[i];
        }
      }
    }
  }
}

struct Bound {
  Activation kind;
  double (*truth)(double);
  double units;  ///< in the last place of the result
  double from;
};

class Error : public testing::TestWithParam<Bound> {};

TEST_P(Error, IsAsStated) {
  const auto [kind, truth, units, from] = GetParam();
  const std::vector<float> x = test::all_magnitudes({87.0F, -87.0F, 10.0F, -10.0F});
  for (const auto* table : test::vector_tables()) {
    const std::vector<float> y = computed(*table, {kind, 1.0F, 0.0F}, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]) || std::isinf(x[i]) || x[i] <= from) continue;
      const double expected = truth(static_cast<double>(x[i]));
      int exponent = 0;
      std::frexp(static_cast<float>(expected), &exponent);
      const double unit = std::ldexp(1.0, std::max(exponent - 24, -149));
      ASSERT_LE(std::fabs(static_cast<double>(y[i]) - expected), units * unit) << table->isa << " of " << x[i];
    }
  }
}

constexpr double kAll = -std::numeric_limits<double>::infinity();
INSTANTIATE_TEST_SUITE_P(
    Of, Error,
    testing::Values(Bound{Activation::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 2.5, -87},
                    Bound{Activation::tanh, [](double x) { return std::tanh(x); }, 2.6, kAll},
                    Bound{Activation::elu, [](double x) { return x < 0 ? std::expm1(x) : x; }, 1, kAll},
                    Bound{Activation::softplus,
                          [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }, 3.7, -87}));

TEST(LstmActivations, HaveTheirLimits) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {infinity, -infinity, 200.0F, -200.0F};
  for (const auto* table : test::vector_tables()) {
    EXPECT_EQ(computed(*table, {Activation::tanh}, x), (std::vector<float>{1, -1, 1, -1})) << table->isa;
    const std::vector<float> sigmoid = computed(*table, {Activation::sigmoid}, x);
    EXPECT_EQ(sigmoid[0], 1.0F) << table->isa;
    EXPECT_LT(sigmoid[1], 2e-38F) << table->isa;
    EXPECT_EQ(computed(*table, {Activation::hard_sigmoid, 0.2F, 0.5F}, x), (std::vector<float>{1, 0, 1, 0}));
    EXPECT_EQ(computed(*table, {Activation::thresholded_relu, 1.0F}, {1.0F, 1.5F, -3.0F}),
              (std::vector<float>{0, 1.5F, 0}));
  }
}

}  // namespace
}  // namespace octet
