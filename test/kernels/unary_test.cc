// Tables, copies and functions on their own: every instruction set that this CPU has, and Eigen; and random
// concatenations against the reference.
#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "test/kernels/elementwise_support.hpp"

namespace octet::test {
namespace {

using vector::UnaryKernels;

std::vector<NamedLoops<UnaryKernels>> tables() {
  std::vector<NamedLoops<UnaryKernels>> result;
  for (const vector::Kernels* table : vector_tables()) {
    result.push_back({table->isa, *table->unary});
    if (table->unary_vbmi != nullptr && core::has_vbmi())
      result.push_back({std::string(table->isa) + " with VBMI", *table->unary_vbmi});
  }
  const auto eigen = core::offer_eigen_unary();
  result.push_back({"eigen", std::get<0>(eigen)->loops});
  return result;
}

std::array<std::uint8_t, vector::kTableSize> random_table(std::mt19937& random) {
  std::array<std::uint8_t, vector::kTableSize> table;
  fill_random(table.data(), table.size(), random);
  return table;
}

TEST(Lookup, EveryByteAtEveryPlace) {
  std::mt19937 random(1);
  const auto table = random_table(random);
  for (const auto& kernels : tables())
    for (std::size_t shift = 0; shift < 64; ++shift) {
      std::vector<std::uint8_t> x(256), y(256);
      for (std::size_t i = 0; i < 256; ++i) x[i] = static_cast<std::uint8_t>(i + shift);
      kernels.loops.lookup(table.data(), {1, 256, x.data(), 0, y.data(), 0});
      for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(y[i], table[x[i]]) << kernels.name << " " << +x[i];
    }
}

// Every length of one row, at the end and at the beginning of a page, and in place.
TEST(Lookup, TouchesOnlyItsBytes) {
  std::mt19937 random(2);
  const auto table = random_table(random);
  for (const GuardedBytes::Side side : {GuardedBytes::Side::back, GuardedBytes::Side::front})
    for (std::size_t n = 1; n <= 400; n += n < 300 ? 1 : 7)
      for (const auto& kernels : tables()) {
        const GuardedBytes x(n, side), y(n, side);
        fill_random(x.data(), n, random);
        std::vector<std::uint8_t> expected;
        for (std::size_t i = 0; i < n; ++i) expected.push_back(table[x.data()[i]]);
        kernels.loops.lookup(table.data(), {1, n, x.data(), 0, y.data(), 0});
        ASSERT_EQ(std::memcmp(y.data(), expected.data(), n), 0) << kernels.name << " n=" << n;
        kernels.loops.copy({1, n, x.data(), 0, y.data(), 0});
        ASSERT_EQ(std::memcmp(y.data(), x.data(), n), 0) << kernels.name << " copies n=" << n;
        kernels.loops.lookup(table.data(), {1, n, x.data(), 0, x.data(), 0});
        ASSERT_EQ(std::memcmp(x.data(), expected.data(), n), 0) << kernels.name << " in place, n=" << n;
      }
}

TEST(Lookup, RowsThatLieApart) {
  std::mt19937 random(3);
  const auto table = random_table(random);
  for (std::int64_t n = 0; n <= 300; n += n < 140 ? 1 : 11)
    for (const std::int64_t rows : {0, 1, 2, 7})
      for (const auto& kernels : tables()) {
        const std::int64_t x_stride = n + static_cast<std::int64_t>(random() % 3);
        const std::int64_t y_stride = n + static_cast<std::int64_t>(random() % 70);
        std::vector<std::uint8_t> x(static_cast<std::size_t>(rows * x_stride + 1));
        fill_random(x.data(), x.size(), random);
        std::vector<std::uint8_t> found(static_cast<std::size_t>(rows * y_stride + 1), 99), copied = found;
        std::vector<std::uint8_t> expected = found, expected_copy = found;
        for (std::int64_t row = 0; row < rows; ++row)
          for (std::int64_t i = 0; i < n; ++i) {
            const std::uint8_t byte = x[static_cast<std::size_t>(row * x_stride + i)];
            expected[static_cast<std::size_t>(row * y_stride + i)] = table[byte];
            expected_copy[static_cast<std::size_t>(row * y_stride + i)] = byte;
          }
        const auto size = static_cast<std::size_t>(n);
        kernels.loops.lookup(table.data(), {rows, size, x.data(), x_stride, found.data(), y_stride});
        ASSERT_EQ(found, expected) << kernels.name << " " << rows << " rows of " << n;
        kernels.loops.copy({rows, size, x.data(), x_stride, copied.data(), y_stride});
        ASSERT_EQ(copied, expected_copy) << kernels.name << " copies " << rows << " rows of " << n;
      }
}

std::uint32_t bits_of(float value) { return Eigen::numext::bit_cast<std::uint32_t>(value); }
bool same(float a, float b) { return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b)); }

float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(Functions, SameBitsAsTheFormula) {
  std::vector<float> x{0.0F,  -0.0F, 0x1.3p-20F, 0x1.6p-20F, -103.97F, -103.98F, -104.0F,
                       17.0F, 17.4F, 88.0F,      -88.0F,     1e30F,    -1e30F};
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 1048583)
    x.push_back(float_of(static_cast<std::uint32_t>(bits)));
  std::mt19937 random(4);
  for (int i = 0; i < 200000; ++i) x.push_back(std::uniform_real_distribution<float>(-110, 20)(random));
  for (const auto& kernels : tables()) {
    std::vector<float> y(x.size());
    kernels.loops.sigmoid(x.data(), x.size(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto expected = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(x[i]))));
      ASSERT_TRUE(same(y[i], expected)) << kernels.name << " sigmoid(" << x[i] << ") = " << y[i] << ", not "
                                        << expected;
    }
    for (const float alpha : {0.01F, -0.5F, 0.0F, 3.0F}) {
      kernels.loops.leaky_relu(x.data(), x.size(), alpha, y.data());
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(same(y[i], x[i] >= 0 ? x[i] : alpha * x[i])) << kernels.name << " " << x[i];
    }
  }
}

// --- through the operators -----------------------------------------------------------------------

// One operator whose parameters are inputs, run with others each time, and with the same again.
TEST(UnaryOperators, ParametersThatChange) {
  std::mt19937 random(6);
  for (const char* name : {"QLinearSigmoid", "QLinearLeakyRelu"})
    for (const DataType type : {DataType::uint8, DataType::int8}) {
      Node node;
      node.op_type = name;
      node.inputs = {{type}, {DataType::float32}, {type}, {DataType::float32}, {type}};
      const Operator op(node);
      for (int round = 0; round < 60; ++round) {
        const std::vector<Tensor> inputs{
            random_tensor(type, {300}, random), scale_tensor(0.02F * static_cast<float>(random() % 3)),
            random_tensor(type, {}, random), scale_tensor(random() % 2 == 0 ? 0.004F : 0.03F),
            random_tensor(type, {}, random)};
        std::vector<Tensor> outputs(1), expected(1);
        outputs[0] = expected[0] = Tensor(type, {300});
        reference::run(node, views(inputs), views(expected));
        for (int again = 0; again < 2; ++again) {
          op.run(views(inputs), views(outputs));
          ASSERT_EQ(difference(outputs[0], expected[0]), "") << name << " " << round;
        }
      }
    }
}

TEST(ConcatOperator, RandomTensors) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const std::size_t rank = 1 + random() % 5;
    const DataType type = random() % 2 == 0 ? DataType::uint8 : DataType::int8;
    const auto axis = static_cast<std::int64_t>(random() % rank);
    static constexpr std::int64_t kExtents[] = {1, 2, 3, 5, 8, 15, 17, 33, 64, 70};
    Dims dims;
    for (std::size_t d = 0; d < rank; ++d) dims.push_back(kExtents[random() % (d < 2 ? 10 : 4)]);
    Node node;
    node.op_type = "QLinearConcat";
    node.attributes["axis"] = random() % 2 == 0 ? axis : axis - static_cast<std::int64_t>(rank);
    std::vector<Tensor> inputs{scale_tensor(0.03F), random_tensor(type, {}, random)};
    std::int64_t length = 0;
    for (std::size_t i = 1 + random() % 7; i > 0; --i) {
      Dims own = dims;
      own[static_cast<std::size_t>(axis)] = random() % 6 == 0 ? 0 : kExtents[random() % 10];
      length += own[static_cast<std::size_t>(axis)];
      inputs.push_back(random_tensor(type, own, random));
      const bool equal = random() % 3 == 0;
      inputs.push_back(equal ? inputs[0] : scale_tensor(0.01F * static_cast<float>(1 + random() % 9)));
      inputs.push_back(equal ? inputs[1] : random_tensor(type, {}, random));
    }
    dims[static_cast<std::size_t>(axis)] = length;
    expect_as_reference(node, inputs, type, dims, "round " + std::to_string(round));
  }
}

}  // namespace
}  // namespace octet::test
