// The loops of row-wise products: activations against double, columns against their definition, on every instruction
// set that this CPU has.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "test/kernels/elementwise_support.hpp"

namespace octet {
namespace {

using vector::OutputActivation;

/// Two parameters, or a slope for each element.
std::vector<float> parameters_of(OutputActivation activation, std::size_t n) {
  if (activation != OutputActivation::prelu) return {1.0F, 0.7F};
  std::vector<float> slopes(n);
  for (std::size_t i = 0; i < n; ++i) slopes[i] = static_cast<float>(i % 7) / 8;
  return slopes;
}

std::vector<float> computed(const vector::Kernels& table, OutputActivation activation, std::vector<float> x) {
  table.rowwise->activate(activation, parameters_of(activation, x.size()).data(), x.data(), x.size());
  return x;
}

TEST(OutputActivations, AreTheSameBitsOnEveryInstructionSet) {
  const std::vector<float> x = test::all_magnitudes({13.19F, -13.19F, -87.0F, 20.0F});
  for (int kind = 0; kind <= static_cast<int>(OutputActivation::gelu); ++kind) {
    const auto activation = static_cast<OutputActivation>(kind);
    const std::vector<float> expected = computed(vector::avx2::kTable, activation, x);
    for (const auto* table : test::vector_tables()) {
      const std::vector<float> found = computed(*table, activation, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i])) {
          ASSERT_TRUE(std::isnan(found[i])) << table->isa << " activation " << kind << " loses NaN";
        } else if (!std::isnan(expected[i])) {
          ASSERT_EQ(std::memcmp(&found[i], &expected[i], sizeof(float)), 0)
              << table->isa << " activation " << kind << " of " << x[i] << ": " << found[i] << ", " << expected[i];
        }
      }
    }
  }
}

TEST(OutputActivations, TakeAnyNumberOfElements) {
  const std::vector<float> all = {-1.5F, 2, -0.25F, 0.5F, -3, -2, -1, 1, 4, -5, 6, -7, -8, 9, -10, 11, -12, -13, 14};
  for (const auto* table : test::vector_tables())
    for (int kind = 0; kind <= static_cast<int>(OutputActivation::gelu); ++kind) {
      const auto activation = static_cast<OutputActivation>(kind);
      const std::vector<float> expected = computed(*table, activation, all);
      for (std::size_t n = 0; n <= all.size(); ++n) {
        std::vector<float> x = all;
        table->rowwise->activate(activation, parameters_of(activation, all.size()).data(), x.data(), n);
        for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], i < n ? expected[i] : all[i]) << kind << " " << n;
      }
    }
}

struct Bound {
  OutputActivation kind;
  double (*truth)(double);
  double units;  ///< in the last place of the result
};

class OutputError : public testing::TestWithParam<Bound> {};

TEST_P(OutputError, IsAsStated) {
  const auto [kind, truth, units] = GetParam();
  std::vector<float> x = test::all_magnitudes({13.19F, -13.19F, -87.0F, 20.0F});
  for (float value = -90; value < 90; value += 0.0137F) x.push_back(value);
  for (const auto* table : test::vector_tables()) {
    const std::vector<float> y = computed(*table, kind, x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]) || std::isinf(x[i])) continue;
      const double expected = truth(static_cast<double>(x[i]));
      if (y[i] == 0 && std::fabs(expected) < 2e-36) continue;
      if (std::fabs(expected) < 0x1p-126) {
        ASSERT_LE(std::fabs(y[i]), 0x1p-125) << table->isa << " of " << x[i];
        continue;
      }
      int exponent = 0;
      std::frexp(static_cast<float>(expected), &exponent);
      worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - expected) / std::ldexp(1.0, exponent - 24));
      ASSERT_LE(worst, units) << table->isa << " of " << x[i];
    }
    RecordProperty(std::string("units_") + table->isa, std::to_string(worst));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, OutputError,
    testing::Values(Bound{OutputActivation::elu, [](double x) { return x < 0 ? std::expm1(x) : x; }, 1},
                    Bound{OutputActivation::mish,
                          [](double x) {
                            const double e = std::exp(std::fmin(x, 40));
                            return x > 1 ? x : x * (e * (e + 2) / (e * (e + 2) + 2));
                          },
                          4},
                    Bound{OutputActivation::swish, [](double x) { return x / (1 + std::exp(-x)); }, 2.5},
                    Bound{OutputActivation::gelu, [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }, 6}));

TEST(OutputActivations, HaveTheirLimits) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto* table : test::vector_tables())
    for (const OutputActivation kind : {OutputActivation::mish, OutputActivation::swish, OutputActivation::gelu}) {
      const std::vector<float> y = computed(*table, kind, {infinity, -infinity, 3e38F, -3e38F});
      EXPECT_EQ(y, (std::vector<float>{infinity, 0, 3e38F, 0})) << table->isa << " " << static_cast<int>(kind);
    }
}

// Two blocks' neighbours are left alone, and each packed byte is where matmul_kernels.hpp says.
TEST(ColumnQuantization, IsAsDefined) {
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same data in every run
  std::uniform_real_distribution<float> real(-1, 1);
  for (const auto* table : test::vector_tables())
    for (const std::int64_t rows : {1, 2, 3, 4, 7, 64, 130})
      for (const std::int64_t columns : {0, 1, 5, 15, 16, 17, 31, 32, 63, 64})
        for (const float magnitude : {1.0F, 0x1p-100F, 0x1p100F})
          for (const bool bfloat16 : {false, true}) {
            const std::int64_t stride = 70, width = vector::kColumnBlock;
            std::vector<float> b(static_cast<std::size_t>(rows * stride));
            std::vector<std::uint16_t> halves(b.size());
            for (float& value : b) value = real(random) * magnitude;
            table->quantize->narrow[vector::kBfloat16](b.data(), b.size(), halves.data());
            if (bfloat16) table->quantize->widen[vector::kBfloat16](halves.data(), b.size(), b.data());
            const void* data = bfloat16 ? static_cast<const void*>(halves.data()) : b.data();
            const vector::FloatColumns given{data, bfloat16, stride, columns};
            std::vector<float> bounds(64, -1.0F), reciprocal(64, 1.0F);
            table->rowwise->column_bounds(given, rows, bounds.data());
            for (std::int64_t n = 0; n < width; ++n) {
              float greatest = 0;
              for (std::int64_t k = 0; k < rows; ++k)
                greatest = std::max(greatest, std::fabs(b[static_cast<std::size_t>(k * stride + n)]));
              ASSERT_EQ(bounds[static_cast<std::size_t>(n)], n < columns ? greatest : -1.0F);
              if (n < columns) reciprocal[static_cast<std::size_t>(n)] = 1 / (greatest / 127.0F);
            }
            std::vector<std::int8_t> packed(static_cast<std::size_t>(width * vector::padded_k(rows)), 99);
            std::vector<std::int32_t> sums(64, 99);
            table->rowwise->quantize_columns(given, rows, reciprocal.data(), width, packed.data(), sums.data());
            for (std::int64_t n = 0; n < width; ++n) {
              std::int32_t sum = 0;
              for (std::int64_t k = 0; k < vector::padded_k(rows); ++k) {
                const bool inside = n < columns && k < rows;
                const float quotient =
                    inside ? b[static_cast<std::size_t>(k * stride + n)] * reciprocal[static_cast<std::size_t>(n)] : 0;
                const auto expected = static_cast<std::int32_t>(std::lrint(quotient));
                ASSERT_EQ(packed[static_cast<std::size_t>(k / 4 * 256 + n * 4 + k % 4)], expected)
                    << table->isa << " row " << k << " column " << n;
                sum += expected;
              }
              ASSERT_EQ(sums[static_cast<std::size_t>(n)], sum) << table->isa << " column " << n;
            }
          }
}

}  // namespace
}  // namespace octet
