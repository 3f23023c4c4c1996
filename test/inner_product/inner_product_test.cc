// octet::InnerProduct against its definition: every combination of types and options, sizes, depths, special values.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "test/inner_product/reference.hpp"
#include "test/support/threads.hpp"

namespace octet::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

ConstElements elements(const Bytes& bytes, DataType type) {
  if (type == DataType::float32) return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / 4};
  if (type == DataType::bfloat16) return {reinterpret_cast<const std::uint16_t*>(bytes.data()), bytes.size() / 2};
  return {reinterpret_cast<const std::int8_t*>(bytes.data()), bytes.size()};
}

Elements writable(Bytes& bytes, DataType type) {
  if (type == DataType::float32) return {reinterpret_cast<float*>(bytes.data()), bytes.size() / 4};
  return {reinterpret_cast<std::uint16_t*>(bytes.data()), bytes.size() / 2};
}

InnerProduct product_of(const InnerProductCase& given) {
  const Bytes b = given.b_bytes();
  InnerProductParameters parameters;
  if (given.options.constant_b) parameters.weight = elements(b, given.options.b_type);
  if (given.options.b_type == DataType::int8) parameters.scale = given.scale;
  parameters.bias = given.bias;
  parameters.activation = given.parameters;
  return InnerProduct(static_cast<std::size_t>(given.m), static_cast<std::size_t>(given.n),
                      static_cast<std::size_t>(given.k), given.options, parameters);
}

/// C of the first `rows` rows, in its own type.
Bytes run(const InnerProduct& product, const InnerProductCase& given, std::int64_t rows, const Call& call = {}) {
  Bytes a = given.a_bytes();
  a.resize(given.m == 0 ? 0 : a.size() / static_cast<std::size_t>(given.m) * static_cast<std::size_t>(rows));
  Bytes c(static_cast<std::size_t>(rows * given.n * (given.options.c_type == DataType::float32 ? 4 : 2)), 0xAB);
  if (given.options.constant_b) {
    product.forward(elements(a, given.options.a_type), writable(c, given.options.c_type), call);
  } else {
    const Bytes b = given.b_bytes();
    product.forward(elements(a, given.options.a_type), elements(b, given.options.b_type),
                    writable(c, given.options.c_type), call);
  }
  return c;
}

bool is_exact(InnerProductActivation activation) {
  return activation <= InnerProductActivation::prelu && activation != InnerProductActivation::hswish;
}

/// Bits where the activation is exact, a few units in the last place where it is not.
void expect_results(const InnerProductCase& given, const Bytes& c, const std::string& what) {
  const Reference reference = reference_of(given);
  const std::vector<float> found = floats_of(c, given.options.c_type);
  ASSERT_EQ(found.size(), reference.values.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double expected = reference.results[i];
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found[i])) << what << " element " << i;
      continue;
    }
    auto rounded = static_cast<float>(expected);
    if (given.options.c_type == DataType::bfloat16) rounded = from_bfloat16(to_bfloat16(rounded));
    if (is_exact(given.options.activation)) {
      ASSERT_EQ(found[i], rounded) << what << " element " << i;
    } else {
      const double step = given.options.c_type == DataType::bfloat16 ? 0x1p-7 : 0x1p-20;
      ASSERT_NEAR(found[i], expected, 1e-7 + step * std::fabs(expected)) << what << " element " << i;
    }
  }
}

std::string describe(const InnerProductCase& given) {
  const InnerProductOptions& o = given.options;
  return std::to_string(given.m) + "x" + std::to_string(given.n) + "x" + std::to_string(given.k) + " " +
         data_type_name(o.a_type) + " " + (o.constant_b ? "constant " : "") + data_type_name(o.b_type) + " " +
         data_type_name(o.c_type) + (o.bias ? " bias" : "") + (o.avoid_overflow ? " narrow" : "") +
         (o.trans_b ? " transposed" : "") + " activation " + std::to_string(static_cast<int>(o.activation));
}

void check(const InnerProductCase& given) {
  const InnerProduct product = product_of(given);
  expect_results(given, run(product, given, given.m), describe(given));
}

struct Weight {
  DataType type;
  bool constant;
};
constexpr Weight kWeights[] = {
    {DataType::float32, true}, {DataType::int8, true}, {DataType::float32, false}, {DataType::bfloat16, false}};
constexpr DataType kFloats[] = {DataType::float32, DataType::bfloat16};
constexpr std::int64_t kSizes[] = {1, 2, 3, 17, 63, 65, 255, 257};

InnerProductOptions options_of(DataType a, Weight b, DataType c) {
  InnerProductOptions options;
  options.a_type = a;
  options.b_type = b.type;
  options.c_type = c;
  options.constant_b = b.constant;
  return options;
}

#ifdef OCTET_SANITIZED  // slow: every seventh combination
constexpr std::uint32_t kEach = 7;
#else
constexpr std::uint32_t kEach = 1;
#endif

// Every combination, each with other sizes.
TEST(InnerProduct, ComputesEveryCombination) {
  std::uint32_t number = 0;
  for (const DataType a : kFloats)
    for (const Weight b : kWeights)
      for (const DataType c : kFloats)
        for (int activation = 0; activation <= 10; ++activation)
          for (unsigned flags = 0; flags < 8; ++flags) {
            InnerProductOptions options = options_of(a, b, c);
            options.activation = static_cast<InnerProductActivation>(activation);
            options.bias = (flags & 1) != 0;
            options.avoid_overflow = (flags & 2) != 0;
            options.trans_b = (flags & 4) != 0;
            if (++number % kEach != 0) continue;
            check(InnerProductCase(1 + number % 9, 1 + number * 7 % 130, 1 + number * 13 % 150, options, number));
            if (HasFatalFailure()) return;
          }
}

class Sizes : public testing::TestWithParam<std::int64_t> {};

TEST_P(Sizes, ComputeInAllTypes) {
  const std::int64_t m = GetParam();
  std::uint32_t number = 0;
  for (const std::int64_t n : kSizes)
    for (const std::int64_t k : kSizes) {
      if (number++ % kEach != 0) continue;
      InnerProductOptions options = options_of(kFloats[number % 2], kWeights[number % 4], kFloats[number / 2 % 2]);
      options.bias = number % 3 == 0;
      options.trans_b = number % 5 == 0;
      check(InnerProductCase(m, n, k, options, number));
      if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Of, Sizes, testing::ValuesIn(kSizes));

TEST(InnerProduct, EveryBackendGivesTheSame) {
  for (const Weight b : kWeights) {
    InnerProductCase given(70, 130, 300, options_of(DataType::float32, b, DataType::float32), 5);
    const Bytes expected = run(product_of(given), given, given.m);
    for (const char* backend : {"onednn", "vector", "eigen"}) {
      given.options.backend = backend;
      try {
        EXPECT_EQ(run(product_of(given), given, given.m), expected) << backend;
      } catch (const Error& error) {  // oneDNN refuses below VNNI
        EXPECT_EQ(error.code(), ErrorCode::not_implemented);
        EXPECT_STREQ(backend, "onednn");
      }
    }
  }
}

TEST(InnerProduct, ThreadsAndBatchMatesChangeNothing) {
  for (const Weight b : kWeights)
    for (const std::int64_t n : {70, 400}) {
      const InnerProductCase given(200, n, 700, options_of(DataType::bfloat16, b, DataType::float32), 3);
      const InnerProduct product = product_of(given);
      const Bytes expected = run(product, given, given.m);
      EXPECT_EQ(run(product, given, given.m, lend_threads(3)), expected);
      for (const std::int64_t rows : {1, 5, 17, 100}) {
        Bytes first = expected;
        first.resize(static_cast<std::size_t>(rows * n) * sizeof(float));
        for (const int threads : {0, 3, 12})  // blocks of columns, bands of rows, and both
          EXPECT_EQ(run(product, given, rows, lend_threads(threads)), first) << rows << " rows, " << threads;
      }
      InnerProductCase threaded = given;
      threaded.options.threads = 2;
      EXPECT_EQ(run(product_of(threaded), threaded, given.m), expected);
    }
}

// Sums beyond int32: every product of u8 255 and s8 -128 that there is.
TEST(InnerProduct, IsExactForLongSums) {
  for (const std::int64_t k : {65792, 65793, 65794, 70000, 140000})
    for (const bool transposed : {false, true}) {
      InnerProductOptions options = options_of(DataType::float32, kWeights[1], DataType::float32);
      options.trans_b = transposed;
      InnerProductCase given(3, 65, k, options, 1);
      for (std::size_t i = 0; i < given.b.size(); ++i)
        if (i % 65 != 7) given.b[i] = -128;
      for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(k); ++i) given.a[i] = 2;
      check(given);
      ASSERT_FALSE(HasFatalFailure());
    }
}

TEST(InnerProduct, QuantizesLongColumns) {
  for (const Weight b : kWeights)
    for (const bool transposed : {false, true}) {
      InnerProductOptions options = options_of(DataType::bfloat16, b, DataType::bfloat16);
      options.trans_b = transposed;
      options.bias = true;
      check(InnerProductCase(2, 67, 70000, options, 9));
      for (const std::int64_t m : {2, 9})  // multiplied at once or packed; of bfloat16 and float, strips of 32 columns
        for (const std::int64_t k : {2000, 5000}) check(InnerProductCase(m, 100, k, options, 10));
      ASSERT_FALSE(HasFatalFailure());
    }
}

TEST(InnerProduct, OfNothing) {
  for (const Weight b : kWeights)
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{0, 5, 7}, {5, 0, 7}, {3, 70, 0}, {0, 0, 0}}) {
      InnerProductOptions options = options_of(DataType::float32, b, DataType::float32);
      options.bias = true;
      const InnerProductCase given(m, n, k, options, 1);
      check(given);
      EXPECT_EQ(product_of(given).decision().backend, "none");
    }
}

TEST(InnerProduct, ErrorAgainstTheFloatProductIsBounded) {
  for (const Weight b : kWeights)
    for (const bool narrow : {false, true}) {
      InnerProductOptions options = options_of(DataType::float32, b, DataType::float32);
      options.avoid_overflow = narrow;
      const InnerProductCase given(17, 65, 257, options, 21);
      const std::vector<float> found = floats_of(run(product_of(given), given, given.m), DataType::float32);
      const Reference reference = reference_of(given);
      for (std::size_t i = 0; i < found.size(); ++i) {
        double exact = 0;
        const std::size_t row = i / 65, column = i % 65;
        for (std::size_t l = 0; l < 257; ++l)
          exact += static_cast<double>(given.a[row * 257 + l]) * static_cast<double>(given.b[l * 65 + column]) *
                   (b.type == DataType::int8 ? static_cast<double>(given.scale[column]) : 1);
        const double rounding = 0x1p-22 * std::fabs(static_cast<double>(found[i]));
        ASSERT_LE(std::fabs(static_cast<double>(found[i]) - exact), reference.bounds[i] + rounding);
      }
    }
}

TEST(InnerProduct, RowsOfOneValueAreExact) {
  InnerProductOptions options = options_of(DataType::float32, kWeights[1], DataType::float32);
  InnerProductCase given(6, 3, 100, options, 2);
  const float values[] = {0.1F, -0.1F, 1e-42F, -3e38F, 0.0F, -0.0F};
  for (std::size_t i = 0; i < given.a.size(); ++i) given.a[i] = values[i / 100];
  std::fill(given.b.begin(), given.b.end(), 1.0F);
  std::fill(given.scale.begin(), given.scale.end(), 0.01F);
  const std::vector<float> found = floats_of(run(product_of(given), given, 6), DataType::float32);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], 100 * (values[i / 3] * 0.01F)) << i;
  check(given);
}

TEST(InnerProduct, SpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const float largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  const float values[] = {nan, infinity, -infinity, largest, -largest, least, -least, 1e-37F, -0.0F, 0x1p-70F};
  for (const Weight b : kWeights)
    for (const bool transposed : {false, true})
      for (const InnerProductActivation activation :
           {InnerProductActivation::identity, InnerProductActivation::relu, InnerProductActivation::restrict_range,
            InnerProductActivation::hswish, InnerProductActivation::hard_sigmoid, InnerProductActivation::gelu,
            InnerProductActivation::mish, InnerProductActivation::swish, InnerProductActivation::elu}) {
        InnerProductOptions options = options_of(DataType::float32, b, DataType::float32);
        options.trans_b = transposed;
        options.activation = activation;
        InnerProductCase given(30, 40, 50, options, 4);
        for (std::size_t i = 0; i < 10; ++i) {
          given.a[i * 100 + 3] = values[i];  // rows 0, 2, 4 ...
          if (i == 3) given.a[i * 100 + 4] = -largest;
          if (b.type == DataType::float32) {
            given.b[3 * 40 + i * 2] = values[i];
            if (i >= 5)
              for (std::size_t l = 0; l < 50; ++l) given.b[l * 40 + i * 2] = values[i];
          }
        }
        const Reference reference = reference_of(given);
        const std::vector<float> found = floats_of(run(product_of(given), given, 30), DataType::float32);
        for (std::size_t i = 0; i < found.size(); ++i) {
          ASSERT_EQ(std::isnan(found[i]), std::isnan(reference.results[i])) << describe(given) << " element " << i;
          if (activation == InnerProductActivation::identity && !std::isnan(found[i])) {
            ASSERT_EQ(found[i], static_cast<float>(reference.results[i])) << describe(given) << " element " << i;
          }
        }
      }
}

TEST(InnerProduct, RefusesWhatDoesNotFit) {
  const std::vector<float> a(6), b(12), wrong(5);
  std::vector<float> c(8);
  const auto expect = [](const auto& function, const std::vector<std::string>& words) {
    try {
      function();
      ADD_FAILURE() << "no error with " << words[0];
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      for (const std::string& word : words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what() << "\nlacks " << word;
    }
  };
  const auto make = [&](auto change) {
    InnerProductOptions options;
    InnerProductParameters parameters{b, {}, {}, {}};
    change(options, parameters);
    InnerProduct(2, 4, 3, options, parameters);
  };
  using O = InnerProductOptions&;
  using P = InnerProductParameters&;
  expect([&] { make([](O o, P) { o.a_type = DataType::int8; }); }, {"type of A is int8", "float or bfloat16"});
  expect([&] { make([](O o, P) { o.b_type = DataType::bfloat16; }); }, {"constant B is bfloat16", "float or int8"});
  expect([&] { make([](O o, P) { o.c_type = DataType::undefined; }); }, {"type of C", "float or bfloat16"});
  expect([&] { make([](O o, P) { o.constant_b = false, o.b_type = DataType::int8; }); }, {"not constant", "int8"});
  expect([&] { make([](O o, P) { o.activation = static_cast<InnerProductActivation>(11); }); }, {"activation is 11"});
  expect([&] { make([](O o, P) { o.threads = 0; }); }, {"'threads' is 0"});
  expect([&] { make([](O o, P) { o.backend = "gpu"; }); }, {"'backend' is 'gpu'"});
  expect([&] { make([&](O, P p) { p.weight = wrong; }); }, {"n=4", "weight has 5 elements", "expected 12"});
  expect([&] { make([&](O o, P) { o.constant_b = false; }); }, {"weight has 12 elements", "expected 0"});
  expect([&] { make([&](O o, P) { o.b_type = DataType::int8; }); }, {"weight has elements of float", "int8"});
  expect([&] { make([&](O o, P p) { o.bias = true, p.bias = wrong; }); }, {"bias has 5 elements", "expected 4"});
  expect([&] { make([&](O, P p) { p.bias = wrong; }); }, {"bias has 5 elements", "expected 0"});
  expect([&] { make([&](O o, P) { o.activation = InnerProductActivation::hswish; }); },
         {"activation has 0 elements", "expected 2"});
  expect([&] { InnerProduct(std::size_t{1} << 62, 4, 3); }, {"beyond 2^40"});
  expect([&] { InnerProduct(4, std::size_t{1} << 39, std::size_t{1} << 39); }, {"larger than any memory"});

  const InnerProduct product(2, 4, 3, {}, {b, {}, {}, {}});
  expect([&] { product.forward(wrong, c); }, {"A has 5 elements", "expected 6"});
  expect([&] { product.forward(a, b, c); }, {"B has 12 elements", "expected 0"});
  std::vector<std::uint16_t> halves(8);
  expect([&] { product.forward(a, halves); }, {"C has elements of bfloat16", "expected float"});
  std::vector<float> many(12);
  expect([&] { product.forward(a, many); }, {"C has 3 rows"});
  product.forward(a, c);
}

}  // namespace
}  // namespace octet::test
