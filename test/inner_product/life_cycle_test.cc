// octet::DynamicQuantizedInnerProduct: order of calls, buffers, threads, wrong use.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <thread>

#include "provider/kernels/inner_product.hpp"
#include "test/inner_product/reference.hpp"
#include "test/kernels/elementwise_support.hpp"

namespace octet::test {
namespace {

using Activation = InnerProductActivation;
using Bytes = std::vector<std::uint8_t>;

/// A copy of bytes beside a page that must not be touched.
class Guarded : public GuardedBytes {
 public:
  Guarded(const Bytes& bytes, Side side) : GuardedBytes(bytes.size(), side), bytes_(bytes.size()) {
    if (!bytes.empty()) std::memcpy(data(), bytes.data(), bytes.size());
  }
  Bytes copy() const { return {data(), data() + bytes_}; }

 private:
  std::size_t bytes_;
};

void init(DynamicQuantizedInnerProduct& product, const InnerProductCase& given) {
  const InnerProductOptions& o = given.options;
  product.Init(static_cast<std::size_t>(given.m), static_cast<std::size_t>(given.n), static_cast<std::size_t>(given.k),
               o.a_type, o.b_type, o.c_type, o.constant_b, o.bias, o.activation, o.avoid_overflow);
}

void set_params(DynamicQuantizedInnerProduct& product, const InnerProductCase& given, const void* weight) {
  product.SetParams(weight, given.scale.data(), given.bias.data(), given.parameters.data());
}

std::size_t c_bytes(const InnerProductCase& given) {
  return static_cast<std::size_t>(given.m * given.n * (given.options.c_type == DataType::float32 ? 4 : 2));
}

InnerProductOptions options_of(DataType a, DataType b, DataType c, bool constant) {
  InnerProductOptions options;
  options.a_type = a;
  options.b_type = b;
  options.c_type = c;
  options.constant_b = constant;
  return options;
}

std::vector<InnerProductCase> cases() {
  std::vector<InnerProductCase> cases;
  std::uint32_t seed = 0;
  for (const DataType a : {DataType::float32, DataType::bfloat16})
    for (const auto& [b, constant] : {std::pair{DataType::float32, true}, std::pair{DataType::int8, true},
                                      std::pair{DataType::float32, false}, std::pair{DataType::bfloat16, false}})
      for (const DataType c : {DataType::float32, DataType::bfloat16})
        for (const auto& [m, n, k] : {std::array{1, 1, 1},
                                      {3, 17, 63},
                                      {65, 70, 33},
                                      {50, 129, 130},
                                      {1, 300, 70},
                                      {2, 96, 70},
                                      {9, 128, 41},
                                      {70, 64, 30}}) {
          InnerProductOptions options = options_of(a, b, c, constant);
          options.bias = seed % 2 == 0;
          options.activation = seed % 3 == 0 ? Activation::prelu : Activation::identity;
          cases.emplace_back(m, n, k, options, ++seed);
        }
  return cases;
}

/// C by definition, in its own type.
Bytes expected_of(const InnerProductCase& given) {
  Bytes expected;
  for (const double result : reference_of(given).results) {
    const auto value = static_cast<float>(result);
    const std::uint16_t half = to_bfloat16(value);
    const bool is_float = given.options.c_type == DataType::float32;
    const auto* first =
        is_float ? reinterpret_cast<const std::uint8_t*>(&value) : reinterpret_cast<const std::uint8_t*>(&half);
    expected.insert(expected.end(), first, first + (is_float ? 4 : 2));
  }
  return expected;
}

// Every operand, and a buffer of just the size reported, beside pages that may not be touched.
TEST(LifeCycle, TouchesNothingOutsideItsMemory) {
  for (const InnerProductCase& given : cases())
    for (const auto side : {GuardedBytes::Side::front, GuardedBytes::Side::back}) {
      DynamicQuantizedInnerProduct product;
      init(product, given);
      ASSERT_TRUE(product.Enable()) << product.Refusal();
      const Guarded a(given.a_bytes(), side), b(given.b_bytes(), side);
      const Guarded c(Bytes(c_bytes(given)), side);
      const GuardedBytes buffer(product.ExternalBufferSize(), side);
      const bool constant = given.options.constant_b;
      set_params(product, given, constant ? b.data() : nullptr);
      product.Forward(a.data(), constant ? nullptr : b.data(), buffer.data(), c.data());
      ASSERT_EQ(c.copy(), expected_of(given));
    }
}

TEST(LifeCycle, ThreadsStayInsideTheReportedBuffer) {
  const DataType f = DataType::float32, h = DataType::bfloat16;
  for (const auto& options : {options_of(f, f, f, true), options_of(h, f, f, true), options_of(f, h, f, false)})
    for (const std::int64_t m : {3, 200})
      for (const std::int64_t threads : {2, 1024})
        for (const auto side : {GuardedBytes::Side::front, GuardedBytes::Side::back}) {
          const InnerProductCase given(m, 300, 500, options, 3);
          core::InnerProductContext context({given.m, given.n, given.k, given.options});
          context.set_option("threads", threads);
          const std::vector<std::uint8_t> a = given.a_bytes(), b = given.b_bytes();
          context.set_parameters(options.constant_b ? b.data() : nullptr, nullptr, nullptr, nullptr);
          const GuardedBytes buffer(context.external_bytes(), side);
          Bytes c(c_bytes(given));
          context.forward(m, a.data(), b.data(), buffer.data(), c.data());
          ASSERT_EQ(c, expected_of(given)) << m << " rows, " << threads;
        }
}

TEST(LifeCycle, TakesAnyAlignment) {
  for (const InnerProductCase& given : cases())
    for (const std::size_t shift : {1, 2, 3, 4, 7, 38}) {
      const auto shifted = [&](const Bytes& bytes) {
        Bytes result(shift + 64);
        result.insert(result.end(), bytes.begin(), bytes.end());
        return result;
      };
      const Bytes a = shifted(given.a_bytes()), b = shifted(given.b_bytes());
      const auto floats = [&](const std::vector<float>& values) {
        const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
        return shifted({first, first + values.size() * sizeof(float)});
      };
      const Bytes scale = floats(given.scale), bias = floats(given.bias), params = floats(given.parameters);
      const auto pointer = [&](const Bytes& bytes) {
        return reinterpret_cast<const float*>(bytes.data() + shift + 64);
      };
      Bytes c(shift + c_bytes(given)), buffer(shift);
      DynamicQuantizedInnerProduct product;
      init(product, given);
      buffer.resize(shift + product.ExternalBufferSize());
      const bool constant = given.options.constant_b;
      product.SetParams(constant ? pointer(b) : nullptr, pointer(scale), pointer(bias), pointer(params));
      product.Forward(pointer(a), constant ? nullptr : pointer(b), buffer.data() + shift, c.data() + shift);
      c.erase(c.begin(), c.begin() + static_cast<std::ptrdiff_t>(shift));
      ASSERT_EQ(c, expected_of(given));
    }
}

TEST(LifeCycle, ThreadsRunWithBuffersOfTheirOwn) {
  InnerProductOptions options = options_of(DataType::float32, DataType::float32, DataType::float32, true);
  const InnerProductCase given(40, 130, 200, options, 1);
  DynamicQuantizedInnerProduct product;
  init(product, given);
  set_params(product, given, given.b.data());
  const Bytes expected = expected_of(given);
  std::vector<std::thread> threads;
  std::vector<Bytes> found(4, Bytes(c_bytes(given)));
  for (Bytes& c : found)
    threads.emplace_back([&] {
      Bytes buffer(product.ExternalBufferSize());
      for (int i = 0; i < 20; ++i) product.Forward(given.a.data(), nullptr, buffer.data(), c.data());
    });
  for (std::thread& thread : threads) thread.join();
  for (const Bytes& c : found) EXPECT_EQ(c, expected);
}

TEST(LifeCycle, InitAgain) {
  const InnerProductCase given(3, 5, 7, options_of(DataType::float32, DataType::float32, DataType::float32, true), 1);
  DynamicQuantizedInnerProduct product;
  init(product, given);
  set_params(product, given, given.b.data());
  Bytes c(c_bytes(given));
  init(product, given);  // nothing changed: parameters stay
  product.Forward(given.a.data(), nullptr, nullptr, c.data());
  EXPECT_EQ(c, expected_of(given));

  // Each of Init's arguments, changed and changed back, takes them away.
  const auto forgets = [&](const std::function<void()>& change) {
    init(product, given);
    set_params(product, given, given.b.data());
    change();
    ASSERT_TRUE(product.Enable()) << product.Refusal();
    init(product, given);
    EXPECT_THROW(product.Forward(given.a.data(), nullptr, nullptr, c.data()), Error);
  };
  const DataType f = DataType::float32, h = DataType::bfloat16;
  forgets([&] { product.Init(4, 5, 7, f, f, f, true, false, Activation::identity, false); });
  forgets([&] { product.Init(3, 4, 7, f, f, f, true, false, Activation::identity, false); });
  forgets([&] { product.Init(3, 5, 8, f, f, f, true, false, Activation::identity, false); });
  forgets([&] { product.Init(3, 5, 7, h, f, f, true, false, Activation::identity, false); });
  forgets([&] { product.Init(3, 5, 7, f, DataType::int8, f, true, false, Activation::identity, false); });
  forgets([&] { product.Init(3, 5, 7, f, f, h, true, false, Activation::identity, false); });
  forgets([&] { product.Init(3, 5, 7, f, f, f, false, false, Activation::identity, false); });
  forgets([&] { product.Init(3, 5, 7, f, f, f, true, true, Activation::identity, false); });
  forgets([&] { product.Init(3, 5, 7, f, f, f, true, false, Activation::relu, false); });
  forgets([&] { product.Init(3, 5, 7, f, f, f, true, false, Activation::identity, true); });
}

TEST(LifeCycle, ParametersOfWeightsThatComeWithTheRun) {
  InnerProductOptions options = options_of(DataType::float32, DataType::float32, DataType::float32, false);
  options.bias = true;
  InnerProductCase given(3, 5, 7, options, 1);
  DynamicQuantizedInnerProduct product;
  init(product, given);
  Bytes c(c_bytes(given));
  product.SetParams(nullptr, nullptr, given.bias.data(), nullptr);
  product.Forward(given.a.data(), given.b.data(), nullptr, c.data());
  EXPECT_EQ(c, expected_of(given));
  product.SetParams(nullptr, nullptr, nullptr, nullptr);  // null means zeros
  product.Forward(given.a.data(), given.b.data(), nullptr, c.data());
  std::fill(given.bias.begin(), given.bias.end(), 0.0F);
  EXPECT_EQ(c, expected_of(given));
  DynamicQuantizedInnerProduct without;
  init(without, given);
  without.Forward(given.a.data(), given.b.data(), nullptr, c.data());
  EXPECT_EQ(c, expected_of(given));
  without.Init(3, 5, 7, DataType::float32, DataType::float32, DataType::float32, false, false, Activation::elu, false);
  EXPECT_THROW(without.Forward(given.a.data(), given.b.data(), nullptr, c.data()), Error);
  options.bias = false;  // then the pointer is ignored
  const InnerProductCase plain(3, 5, 7, options, 1);
  init(without, plain);
  without.SetParams(nullptr, nullptr, given.a.data(), nullptr);
  without.Forward(plain.a.data(), plain.b.data(), nullptr, c.data());
  EXPECT_EQ(c, expected_of(plain));
}

TEST(LifeCycle, ReportsWhatItHolds) {
  DynamicQuantizedInnerProduct product;
  EXPECT_EQ(product.InternalBufferSize(), 0U);
  EXPECT_EQ(product.ExternalBufferSize(), 0U);
  EXPECT_EQ(product.Info(), nullptr);
  const InnerProductCase given(8, 64, 128, options_of(DataType::float32, DataType::float32, DataType::float32, true),
                               1);
  init(product, given);
  EXPECT_EQ(product.InternalBufferSize(), 0U);
  EXPECT_GE(product.ExternalBufferSize(), 8U * 128);
  EXPECT_NE(std::string(product.Info()).find(":"), std::string::npos) << product.Info();
  set_params(product, given, given.b.data());
  const std::size_t held = product.InternalBufferSize();
  EXPECT_GE(held, 64U * (128 + 4 + 4));
  Bytes c(c_bytes(given)), buffer(product.ExternalBufferSize());
  product.Forward(given.a.data(), nullptr, buffer.data(), c.data());
  EXPECT_EQ(product.InternalBufferSize(), held);
  product.Forward(given.a.data(), nullptr, nullptr, c.data());
  EXPECT_EQ(product.InternalBufferSize(), held + product.ExternalBufferSize());
  DynamicQuantizedInnerProduct moved = std::move(product);
  moved.Forward(given.a.data(), nullptr, nullptr, c.data());
  EXPECT_EQ(c, expected_of(given));
  moved.Clear();
  EXPECT_FALSE(moved.Enable());
  EXPECT_EQ(moved.InternalBufferSize(), 0U);
  EXPECT_EQ(moved.Info(), nullptr);
}

TEST(LifeCycle, WrongUseIsAnError) {
  DynamicQuantizedInnerProduct product;
  const auto expect = [](const std::function<void()>& function, const std::string& word) {
    try {
      function();
      ADD_FAILURE() << "no error with " << word;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what() << "\nlacks " << word;
    }
  };
  float x[12] = {};
  expect([&] { product.SetParams(x, x, x, x); }, "Init() comes first");
  expect([&] { product.Forward(x, x, nullptr, x); }, "Init() comes first");
  const DataType f = DataType::float32;
  product.Init(2, 3, 4, f, DataType::int8, f, false, false, Activation::identity, false);
  EXPECT_FALSE(product.Enable());
  EXPECT_NE(product.Refusal().find("expected float or bfloat16"), std::string::npos);
  expect([&] { product.Forward(x, x, nullptr, x); }, "expected float or bfloat16");
  product.Init(static_cast<std::size_t>(-1), 3, 4, f, f, f, true, false, Activation::identity, false);
  EXPECT_FALSE(product.Enable());
  product.Init(2, 3, 4, f, f, f, true, false, static_cast<Activation>(-1), false);
  EXPECT_NE(product.Refusal().find("activation is -1"), std::string::npos);
  product.Init(2, 3, 4, f, DataType::int8, f, true, false, Activation::swish, false);
  EXPECT_TRUE(product.Enable());
  EXPECT_EQ(product.Refusal(), "");
  expect([&] { product.SetParams(nullptr, x, x, x); }, "weight is null");
  expect([&] { product.SetParams(x, nullptr, x, x); }, "scale is null");
  expect([&] { product.SetParams(x, x, x, nullptr); }, "swish");
  expect([&] { product.Forward(x, nullptr, nullptr, x); }, "no parameters are set");
  EXPECT_EQ(product.InternalBufferSize(), 0U) << "wrong use changes nothing";
  product.SetParams(x, x, nullptr, x);
  expect([&] { product.Forward(nullptr, nullptr, nullptr, x); }, "A is null");
  expect([&] { product.Forward(x, nullptr, nullptr, nullptr); }, "C is null");
  product.Init(2, 3, 4, f, f, f, false, false, Activation::identity, false);
  expect([&] { product.Forward(x, nullptr, nullptr, x); }, "B is not constant, but null");
  product.Init(2, 3, 4, f, f, static_cast<DataType>(99), true, false, Activation::identity, false);
  EXPECT_NE(product.Refusal().find("type of C is 99"), std::string::npos) << product.Refusal();
  product.Clear();
  expect([&] { product.Forward(x, nullptr, nullptr, x); }, "Init() comes first");
}

TEST(LifeCycle, UseAfterAMoveIsAnError) {
  std::vector<float> x(4, 1.0F), c(1);
  InnerProduct product(1, 1, 4, {}, {x});
  const InnerProduct moved = std::move(product);
  // NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move): what is tested
  EXPECT_THROW(product.forward(x, c), Error);
  EXPECT_THROW(static_cast<void>(product.decision()), Error);
  EXPECT_EQ(product.held_bytes(), 0U);
  // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
  moved.forward(x, c);
  EXPECT_EQ(c[0], 4.0F);
}

#ifndef __SANITIZE_ADDRESS__  // which ends the process where memory is asked for in vain
TEST(LifeCycle, MemoryThatIsNotThereIsAnError) {
  constexpr std::size_t kMany = std::size_t{1} << 40;
  const DataType f = DataType::float32;
  const auto expect = [](const std::function<void()>& function, ErrorCode code) {
    try {
      function();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
    }
  };
  float x[64] = {};
  InnerProductOptions options = options_of(f, f, f, false);
  options.bias = true;
  expect([&] { InnerProduct(1, kMany, 1, options); }, ErrorCode::out_of_memory);
  DynamicQuantizedInnerProduct product;
  product.Init(1, 64, kMany, f, f, f, true, false, Activation::identity, false);
  expect([&] { product.SetParams(x, nullptr, nullptr, nullptr); }, ErrorCode::out_of_memory);
  product.Init(kMany, 4, 4096, f, f, f, true, false, Activation::identity, false);
  expect([&] { product.Forward(x, nullptr, nullptr, x); }, ErrorCode::invalid_argument);  // it has no parameters
  product.Init(1, kMany, 1, f, f, f, false, true, Activation::identity, false);
  EXPECT_NE(product.Refusal().find("out of memory"), std::string::npos) << product.Refusal();
}
#endif

}  // namespace
}  // namespace octet::test
