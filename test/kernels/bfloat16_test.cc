// The bfloat16 product against its definition, bit by bit, of every size around the loop's blocks.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <random>
#include <vector>

#include "primitives/vector/kernels.hpp"
#include "provider/core/cpu.hpp"

namespace octet {
namespace {

using Floats = std::vector<float>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Operands {
  std::int64_t rows, columns, k;
  std::vector<std::uint16_t> a, b;
  Floats scale, bias;

  Operands(std::int64_t m, std::int64_t n, std::int64_t k_)
      : rows(m),
        columns(n),
        k(k_),
        a(index(m * vector::padded_pairs(k))),
        b(index(n * vector::padded_pairs(k))),
        scale(index(n)),
        bias(index(n)) {
    std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same data in every run
    std::uniform_real_distribution<float> uniform(-2, 2);
    const auto bits = [](float value) { return Eigen::bfloat16(value).value; };
    for (std::int64_t i = 0; i < rows * k; ++i)
      a[index(i / k * vector::padded_pairs(k) + i % k)] = bits(uniform(random));
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        b[packed(i, j)] = bits(static_cast<float>(static_cast<std::int32_t>(random() % 511) - 255));
    for (float& value : scale) value = uniform(random);
    for (float& value : bias) value = uniform(random);
  }

  std::size_t packed(std::int64_t i, std::int64_t j) const {
    return index(j / 64 * 64 * vector::padded_pairs(k) + i / 2 * 128 + j % 64 * 2 + i % 2);
  }
  static float value(std::uint16_t bits) { return static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(bits)); }

  /// Products of bfloat16 are exact in float32, each sum is rounded: the second of a pair comes first.
  float sum(std::int64_t row, std::int64_t column) const {
    float result = 0;
    const std::uint16_t* values = a.data() + row * vector::padded_pairs(k);
    for (std::int64_t i = 0; i < k; i += 2) {
      if (i + 1 < k) result += value(values[i + 1]) * value(b[packed(i + 1, column)]);
      result += value(values[i]) * value(b[packed(i, column)]);
    }
    return result;
  }
};

TEST(Bfloat16Product, IsItsDefinition) {
  if (!core::has_bf16()) GTEST_SKIP() << "no AVX512_BF16";
  for (const std::int64_t columns : {64, 128, 192})
    for (const std::int64_t k : {0, 1, 2, 7, 40, 129})
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 13, 19}) {
        const Operands operands(rows, columns, k);
        for (const bool with_bias : {false, true}) {
          const std::int64_t stride = columns + 5;
          Floats y(index(rows * stride), 0.75F);
          vector::kernels().bfloat16->product({rows, columns, k, operands.a.data(), operands.b.data(),
                                               operands.scale.data(), with_bias ? operands.bias.data() : nullptr,
                                               y.data(), stride});
          for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < stride; ++j) {
              float expected = 0.75F;
              if (j < columns)
                expected =
                    (with_bias ? operands.bias[index(j)] : 0.75F) + operands.sum(i, j) * operands.scale[index(j)];
              ASSERT_EQ(y[index(i * stride + j)], expected)
                  << rows << " rows, " << columns << " columns, k " << k << ": row " << i << ", column " << j;
            }
        }
      }
}

TEST(Bfloat16Product, KeepsWhatIsNotFiniteInItsRow) {
  if (!core::has_bf16()) GTEST_SKIP() << "no AVX512_BF16";
  Operands operands(3, 64, 9);
  Floats expected(3 * 64), found(3 * 64);
  const auto compute = [&](Floats& y) {
    vector::kernels().bfloat16->product(
        {3, 64, 9, operands.a.data(), operands.b.data(), operands.scale.data(), operands.bias.data(), y.data(), 64});
  };
  compute(expected);
  operands.a[index(vector::padded_pairs(9) + 4)] = 0x7FC0;  // NaN in row 1
  compute(found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i / 64 == 1) {
      EXPECT_TRUE(std::isnan(found[i]));
    } else {
      EXPECT_EQ(found[i], expected[i]);
    }
  }
}

TEST(Bfloat16Product, IsOnlyWhereTheInstructionSetCanBe) {
  EXPECT_EQ(vector::avx2::kTable.bfloat16, nullptr);
  EXPECT_EQ(vector::avx512_core::kTable.bfloat16, nullptr);
  if (core::has_bf16()) {
    EXPECT_NE(vector::kernels().bfloat16, nullptr);
  }
}

}  // namespace
}  // namespace octet
