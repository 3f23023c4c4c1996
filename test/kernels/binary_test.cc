// The loops of the binary family on their own: every instruction set that this CPU has, and Eigen, against the
// formulas; and random shapes against the reference.
#include <cmath>
#include <limits>

#include "test/kernels/elementwise_support.hpp"

namespace octet::test {
namespace {

using vector::AddParameters;
using vector::BinaryForm;
using vector::BinaryKernels;
using vector::BinaryRows;
using vector::MultiplyParameters;

std::vector<NamedLoops<BinaryKernels>> tables() {
  std::vector<NamedLoops<BinaryKernels>> result;
  for (const vector::Kernels* table : vector_tables()) result.push_back({table->isa, *table->binary});
  const auto eigen = core::offer_eigen_binary();
  result.push_back({"eigen", std::get<0>(eigen)->loops});
  return result;
}

template <class T>
T saturated(float value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return Limits::lowest();
  return static_cast<T>(std::nearbyint(std::min(std::max(value, float{Limits::lowest()}), float{Limits::max()})));
}
template <class T>
T added(const AddParameters& p, T a, T b) {
  return saturated<T>(
      std::fma(static_cast<float>(a), p.a_factor, std::fma(static_cast<float>(b), p.b_factor, p.offset)));
}
template <class T>
T multiplied(const MultiplyParameters& p, T a, T b) {
  const auto product = static_cast<float>((a - p.a_zero_point) * (b - p.b_zero_point));
  const float scaled = product * p.factor;
  return saturated<T>(scaled + p.y_zero_point);
}

const float kInfinity = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Ordinary factors, factors with many exact ties, and factors whose results leave the range of int32 or are no
/// numbers.
const std::vector<AddParameters> kAdd{
    {0.6130F, 0.8711F, -3.25F}, {1.0F, 1.0F, -128.0F},          {0.5F, 0.25F, 7.0F},   {-0.5F, 1.5F, 3.0F},
    {0.0039F, 0.0041F, 100.4F}, {1e10F, 1e-3F, 0.0F},           {-1e20F, 1e20F, 1.0F}, {3e38F, 3e38F, 0.0F},
    {kInfinity, 1.0F, 0.0F},    {1.0F, -kInfinity, -kInfinity}, {kNaN, 1.0F, 0.0F},    {0x1p23F, 0x1p22F, 5.0F}};
std::vector<MultiplyParameters> multiply_parameters(bool is_signed) {
  const std::int32_t low = is_signed ? -128 : 0;
  std::vector<MultiplyParameters> result;
  for (const std::int32_t a_zero : {low, low + 128, low + 255, low + 11})
    for (const std::int32_t b_zero : {low, low + 255, low + 77})
      for (const float factor : {0.0061F, 0.5F, -0.25F, 1e-7F, 1e6F, 3e38F, kInfinity, kNaN, 0.0F})
        result.push_back({a_zero, b_zero, factor, static_cast<float>(low + 101)});
  return result;
}

template <class T>
constexpr std::size_t kIndex = std::numeric_limits<T>::is_signed ? 1 : 0;

/// All pairs of bytes: a[i] and b[i] in order of a.
template <class T>
struct Pairs {
  std::vector<T> a, b, bytes;
  Pairs() {
    for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<T>(i));
    for (int i = 0; i < 65536; ++i) {
      a.push_back(static_cast<T>(i >> 8));
      b.push_back(static_cast<T>(i));
    }
  }
  /// The same pairs for each form.
  BinaryRows rows(BinaryForm form, void* y) const {
    if (form == vector::kVectors) return {1, a.size(), a.data(), 0, b.data(), 0, y};
    if (form == vector::kScalarA) return {256, 256, bytes.data(), 1, bytes.data(), 0, y};
    return {256, 256, bytes.data(), 0, bytes.data(), 1, y};
  }
  /// Where the result of a[i] and b[i] is.
  static std::size_t place(BinaryForm form, std::size_t i) {
    return form == vector::kScalarB ? i % 256 * 256 + i / 256 : i;
  }
};
constexpr BinaryForm kForms[] = {vector::kVectors, vector::kScalarA, vector::kScalarB};

template <class T>
class Binary : public testing::Test {};
using Types = testing::Types<std::uint8_t, std::int8_t>;
TYPED_TEST_SUITE(Binary, Types);

TYPED_TEST(Binary, AddsAllPairs) {
  using T = TypeParam;
  const Pairs<T> pairs;
  for (const AddParameters& p : kAdd) {
    std::vector<T> expected;
    for (std::size_t i = 0; i < pairs.a.size(); ++i) expected.push_back(added<T>(p, pairs.a[i], pairs.b[i]));
    for (const auto& table : tables())
      for (const BinaryForm form : kForms) {
        std::vector<T> y(65536, 99);
        table.loops.add[kIndex<T>][form](p, pairs.rows(form, y.data()));
        for (std::size_t i = 0; i < y.size(); ++i)
          ASSERT_EQ(+y[pairs.place(form, i)], +expected[i])
              << table.name << " form " << form << ": " << +pairs.a[i] << " * " << p.a_factor << " + " << +pairs.b[i]
              << " * " << p.b_factor << " + " << p.offset;
      }
  }
}

TYPED_TEST(Binary, MultipliesAllPairs) {
  using T = TypeParam;
  const Pairs<T> pairs;
  for (const MultiplyParameters& p : multiply_parameters(kIndex<T> == 1)) {
    std::vector<T> expected;
    for (std::size_t i = 0; i < pairs.a.size(); ++i) expected.push_back(multiplied<T>(p, pairs.a[i], pairs.b[i]));
    for (const auto& table : tables())
      for (const BinaryForm form : kForms) {
        std::vector<T> y(65536, 99);
        table.loops.multiply[kIndex<T>][form](p, pairs.rows(form, y.data()));
        for (std::size_t i = 0; i < y.size(); ++i)
          ASSERT_EQ(+y[pairs.place(form, i)], +expected[i])
              << table.name << " form " << form << ": (" << +pairs.a[i] << " - " << p.a_zero_point << ") * ("
              << +pairs.b[i] << " - " << p.b_zero_point << ") * " << p.factor;
      }
  }
}

TYPED_TEST(Binary, MultipliesIntegersOfAllPairs) {
  using T = TypeParam;
  const Pairs<T> pairs;
  for (const std::int32_t a_zero : {+std::numeric_limits<T>::lowest(), +std::numeric_limits<T>::max(), 3})
    for (const std::int32_t b_zero : {+std::numeric_limits<T>::lowest(), +std::numeric_limits<T>::max(), 0})
      for (const auto& table : tables())
        for (const BinaryForm form : kForms) {
          std::vector<std::int32_t> y(65536, 99);
          table.loops.multiply_integer[kIndex<T>][form](a_zero, b_zero, pairs.rows(form, y.data()));
          for (std::size_t i = 0; i < y.size(); ++i)
            ASSERT_EQ(y[pairs.place(form, i)], (pairs.a[i] - a_zero) * (pairs.b[i] - b_zero)) << table.name;
        }
}

// Every length of a row, at the end and at the beginning of a page, and with the output in an operand's place.
TYPED_TEST(Binary, TouchesOnlyItsElements) {
  using T = TypeParam;
  std::mt19937 random(3);
  const AddParameters add{0.613F, 0.871F, -3.25F};
  const MultiplyParameters multiply{3, 5, 0.0061F, 7.0F};
  for (const GuardedBytes::Side side : {GuardedBytes::Side::back, GuardedBytes::Side::front})
    for (std::size_t n = 1; n <= 200; n += n < 140 ? 1 : 13)
      for (const auto& table : tables())
        for (const BinaryForm form : kForms) {
          const std::size_t a_size = form == vector::kScalarA ? 1 : n;
          const std::size_t b_size = form == vector::kScalarB ? 1 : n;
          const GuardedBytes a(a_size, side), b(b_size, side), y(n, side), z(4 * n, side);
          fill_random(a.data(), a_size, random);
          fill_random(b.data(), b_size, random);
          const auto a_at = [&](std::size_t i) { return reinterpret_cast<const T*>(a.data())[a_size == 1 ? 0 : i]; };
          const auto b_at = [&](std::size_t i) { return reinterpret_cast<const T*>(b.data())[b_size == 1 ? 0 : i]; };
          const BinaryRows rows{1, n, a.data(), 0, b.data(), 0, y.data()};
          std::vector<T> sums, products;
          for (std::size_t i = 0; i < n; ++i) {
            sums.push_back(added<T>(add, a_at(i), b_at(i)));
            products.push_back(multiplied<T>(multiply, a_at(i), b_at(i)));
          }
          table.loops.add[kIndex<T>][form](add, rows);
          ASSERT_EQ(std::memcmp(y.data(), sums.data(), n), 0) << table.name << " n=" << n << " form " << form;
          table.loops.multiply[kIndex<T>][form](multiply, rows);
          ASSERT_EQ(std::memcmp(y.data(), products.data(), n), 0) << table.name << " n=" << n << " form " << form;
          table.loops.multiply_integer[kIndex<T>][form](3, 5, {1, n, a.data(), 0, b.data(), 0, z.data()});
          for (std::size_t i = 0; i < n; ++i) {
            std::int32_t product;
            std::memcpy(&product, z.data() + 4 * i, 4);
            ASSERT_EQ(product, (a_at(i) - 3) * (b_at(i) - 5)) << table.name << " n=" << n << " form " << form;
          }
          const GuardedBytes& place = form == vector::kScalarA ? b : a;  // an operand that moves
          std::memcpy(y.data(), place.data(), n);
          table.loops.add[kIndex<T>][form](add, {1, n, a.data(), 0, b.data(), 0, place.data()});
          ASSERT_EQ(std::memcmp(place.data(), sums.data(), n), 0) << table.name << " in place, n=" << n;
          std::memcpy(place.data(), y.data(), n);
          table.loops.multiply[kIndex<T>][form](multiply, {1, n, a.data(), 0, b.data(), 0, place.data()});
          ASSERT_EQ(std::memcmp(place.data(), products.data(), n), 0) << table.name << " in place, n=" << n;
        }
}

// --- through the operators -----------------------------------------------------------------------

struct Shapes {
  Dims a, b, y;
};

/// Two shapes that broadcast: each dimension is in both, in one with 1 in the other, or (leading) in one only.
Shapes random_shapes(std::mt19937& random) {
  const std::size_t rank = random() % 9;
  Shapes shapes;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    static constexpr std::int64_t kExtents[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 33, 64, 65, 100, 260, 1100};
    std::int64_t extent = random() % 60 == 0 ? 0 : kExtents[random() % 15];
    if (elements * std::max<std::int64_t>(extent, 1) > 40000) extent = 2;
    elements *= std::max<std::int64_t>(extent, 1);
    shapes.y.push_back(extent);
    const auto kind = random() % 4;
    shapes.a.push_back(kind == 0 ? 1 : extent);
    shapes.b.push_back(kind == 1 ? 1 : extent);
    if (kind == 0) shapes.y.back() = shapes.b.back();
  }
  // What is 1 in front may be left out.
  Dims& shorter = random() % 2 == 0 ? shapes.a : shapes.b;
  while (!shorter.empty() && shorter.front() == 1 && random() % 2 == 0) shorter.erase(shorter.begin());
  return shapes;
}

std::string text(const Shapes& shapes) {
  std::string result;
  for (const Dims* dims : {&shapes.a, &shapes.b}) {
    result += "[";
    for (const std::int64_t dim : *dims) result += std::to_string(dim) + " ";
    result += "]";
  }
  return result;
}

TEST(BinaryOperators, RandomShapes) {
  std::mt19937 random(17);
  for (int round = 0; round < 400; ++round) {
    const Shapes shapes = random_shapes(random);
    const DataType type = random() % 2 == 0 ? DataType::uint8 : DataType::int8;
    const Tensor a = random_tensor(type, shapes.a, random), b = random_tensor(type, shapes.b, random);
    const auto zero_point = [&] { return random() % 3 == 0 ? Tensor() : random_tensor(type, {}, random); };
    Node node;
    node.op_type = round % 3 == 0 ? "QLinearAdd" : round % 3 == 1 ? "QLinearMul" : "MulInteger";
    std::vector<Tensor> inputs;
    if (round % 3 == 2) {
      inputs = {a, zero_point(), b, zero_point()};
    } else {
      const Tensor y_scale = scale_tensor(round % 3 == 0 ? 0.031F : 0.9F);
      inputs = {a, scale_tensor(0.019F), zero_point(), b, scale_tensor(0.027F), zero_point(), y_scale, zero_point()};
    }
    expect_as_reference(node, inputs, round % 3 == 2 ? DataType::int32 : type, shapes.y,
                        node.op_type + " of " + text(shapes));
  }
}

}  // namespace
}  // namespace octet::test
