// The loops of row-wise products: activations against double, columns against their definition, on every instruction
// set that this CPU has.
#include <gtest/gtest.h>

#include <cmath>
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
          ASSERT_TRUE(found[i] == expected[i] && std::signbit(found[i]) == std::signbit(expected[i]))
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
  for (int i = 0; i < 13139; ++i) x.push_back(-90 + 0.0137F * static_cast<float>(i));
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

struct WalkCase {
  std::int64_t rows, columns, next_columns, width;
  bool bfloat16, upwards;
  float magnitude;
};

/// Columns at 0 that are quantized, columns at 70 that are bounded, of a matrix that has 140.
class WalkTest : public testing::TestWithParam<const vector::Kernels*> {
 protected:
  static constexpr std::int64_t kStride = 140, kNext = 70;

  void fill(const WalkCase& given) {
    b_.resize(static_cast<std::size_t>(given.rows * kStride));
    halves_.resize(b_.size());
    for (float& value : b_) value = real_(random_) * given.magnitude;
    table().quantize->narrow[vector::kBfloat16](b_.data(), b_.size(), halves_.data());
    if (given.bfloat16) table().quantize->widen[vector::kBfloat16](halves_.data(), b_.size(), b_.data());
    for (std::size_t n = 0; n < 64; ++n) {
      float greatest = 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(given.rows); ++k)
        greatest = std::max(greatest, std::fabs(at(k, n)));
      reciprocal_[n] = static_cast<std::int64_t>(n) < given.columns ? 1 / (greatest / 127.0F) : 1;
    }
  }
  float at(std::size_t k, std::size_t n) const { return b_[k * static_cast<std::size_t>(kStride) + n]; }
  const vector::Kernels& table() const { return *GetParam(); }

  vector::ColumnWalk walk_of(const WalkCase& given) const {
    const auto columns_from = [&](std::int64_t n, std::int64_t count) {
      return given.bfloat16 ? vector::FloatColumns{halves_.data() + n, count}
                            : vector::FloatColumns{b_.data() + n, count};
    };
    vector::ColumnWalk walk{};
    walk.bfloat16 = given.bfloat16;
    walk.rows = given.rows;
    walk.row_stride = kStride;
    walk.width = given.width;
    walk.upwards = given.upwards;
    walk.from_memory = given.columns % 2 == 0;
    walk.quantized = columns_from(0, given.columns);
    walk.reciprocal = reciprocal_.data();
    if (given.next_columns > 0) walk.bounded = columns_from(kNext, given.next_columns);
    return walk;
  }

  std::int32_t level(const WalkCase& given, std::int64_t k, std::int64_t n) const {
    if (n >= given.columns || k >= given.rows) return 0;
    const auto column = static_cast<std::size_t>(n);
    return static_cast<std::int32_t>(std::lrint(at(static_cast<std::size_t>(k), column) * reciprocal_[column]));
  }
  /// Of the columns that are bounded, with what was known before: a half, and the magnitude in every third column.
  float bound_before(const WalkCase& given, std::int64_t n) const { return given.magnitude * (n % 3 == 0 ? 1 : 0.5F); }
  void expect_bounds(const WalkCase& given, const std::vector<float>& bounds) const {
    for (std::int64_t n = 0; n < given.width; ++n) {
      float greatest = bound_before(given, n);
      for (std::int64_t k = 0; n < given.next_columns && k < given.rows; ++k)
        greatest = std::max(greatest, std::fabs(at(static_cast<std::size_t>(k), static_cast<std::size_t>(kNext + n))));
      ASSERT_EQ(bounds[static_cast<std::size_t>(n)], greatest) << table().isa << " column " << n;
    }
  }

  std::mt19937 random_{1};  // NOLINT(bugprone-random-generator-seed): the same data in every run
  std::uniform_real_distribution<float> real_{-1, 1};
  std::vector<float> b_, reciprocal_ = std::vector<float>(64);
  std::vector<std::uint16_t> halves_;
};

std::vector<WalkCase> walk_cases() {
  std::vector<WalkCase> cases;
  for (const std::int64_t rows : {1, 2, 3, 4, 7, 64, 130})
    for (const std::int64_t width : {32, 64})
      for (const std::int64_t columns : {0, 1, 5, 15, 16, 17, 31, 32, 63, 64})
        for (const std::int64_t next_columns : {0, 1, 33, 64})
          for (const bool bfloat16 : {false, true})
            if (columns <= width && next_columns <= width) {
              const std::size_t number = cases.size();
              const float magnitudes[] = {1.0F, 0x1p-100F, 0x1p100F};
              cases.push_back(
                  {rows, columns, next_columns, width, bfloat16, number / 2 % 2 == 0, magnitudes[number % 3]});
            }
  return cases;
}

// The block's other columns are left alone, and each packed byte is where matmul_kernels.hpp says.
TEST_P(WalkTest, PacksAndFindsBounds) {
  for (const WalkCase& given : walk_cases())
    for (const std::int64_t place : {0, 32}) {
      if (place + given.width > 64) continue;
      fill(given);
      std::vector<std::int8_t> packed(static_cast<std::size_t>(64 * vector::padded_k(given.rows)), 99);
      std::vector<std::int32_t> sums(64, 7);
      std::vector<float> bounds(64);
      for (std::int64_t n = 0; n < 64; ++n) bounds[static_cast<std::size_t>(n)] = bound_before(given, n);
      vector::ColumnWalk walk = walk_of(given);
      walk.packed = packed.data() + place * 4;
      walk.column_sum = sums.data();
      walk.bounds = bounds.data();
      table().rowwise->walk_columns(walk);
      for (std::int64_t n = 0; n < 64; ++n) {
        const bool written = n >= place && n < place + given.width;
        std::int32_t sum = 0;
        for (std::int64_t k = 0; k < vector::padded_k(given.rows); ++k) {
          const std::int32_t expected = written ? level(given, k, n - place) : 99;
          ASSERT_EQ(packed[static_cast<std::size_t>(k / 4 * 256 + n * 4 + k % 4)], expected)
              << table().isa << " row " << k << " column " << n;
          sum += expected;
        }
        if (written) {
          ASSERT_EQ(sums[static_cast<std::size_t>(n - place)], 7 + sum) << table().isa << " column " << n;
        }
      }
      expect_bounds(given, bounds);
      ASSERT_FALSE(HasFatalFailure());
    }
}

TEST_P(WalkTest, MultipliesByAFewRows) {
  for (const WalkCase& given : walk_cases())
    for (std::int64_t a_rows = 1; a_rows <= table().rowwise->walk_products; ++a_rows) {
      fill(given);
      std::vector<std::uint8_t> a(static_cast<std::size_t>(a_rows * given.rows));
      for (std::uint8_t& value : a) value = static_cast<std::uint8_t>(random_());
      std::vector<std::int32_t> sums(64, 99), acc(static_cast<std::size_t>(a_rows * 70), 99);
      std::vector<float> bounds(64);
      for (std::int64_t n = 0; n < 64; ++n) bounds[static_cast<std::size_t>(n)] = bound_before(given, n);
      vector::ColumnWalk walk = walk_of(given);
      walk.column_sum = sums.data();
      walk.a_rows = a_rows;
      walk.a = a.data();
      walk.a_stride = given.rows;
      walk.acc = acc.data();
      walk.acc_stride = 70;
      walk.bounds = bounds.data();
      table().rowwise->walk_columns(walk);
      for (std::int64_t m = 0; m < a_rows; ++m)
        for (std::int64_t n = 0; n < 70; ++n) {
          std::int32_t sum = 99;
          for (std::int64_t k = 0; n < given.width && k < given.rows; ++k)
            sum += a[static_cast<std::size_t>(m * given.rows + k)] * level(given, k, n);
          ASSERT_EQ(acc[static_cast<std::size_t>(m * 70 + n)], sum) << table().isa << " " << m << " " << n;
        }
      expect_bounds(given, bounds);
      ASSERT_FALSE(HasFatalFailure());
    }
}

INSTANTIATE_TEST_SUITE_P(Isa, WalkTest, testing::ValuesIn(test::vector_tables()),
                         [](const auto& table) { return std::string(table.param->isa); });

}  // namespace
}  // namespace octet
