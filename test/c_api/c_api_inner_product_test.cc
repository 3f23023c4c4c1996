// octet_dqip: the inner product in C, rightly and wrongly used.
#include <cmath>
#include <limits>
#include <memory>

#include "product.hpp"

namespace {

struct Release {
  void operator()(octet_dqip* product) const { octet_dqip_release(product); }
};
using InnerProduct = std::unique_ptr<octet_dqip, Release>;

constexpr std::int32_t kFloat = OCTET_TYPE_FLOAT, kHalf = OCTET_TYPE_BFLOAT16, kInt8 = OCTET_TYPE_INT8;

InnerProduct init(std::uint64_t m, std::uint64_t n, std::uint64_t k, std::int32_t b = kFloat, std::int32_t constant = 1,
                  std::int32_t activation = 0) {
  return InnerProduct(octet_dqip_init(m, n, k, kFloat, b, kFloat, constant, 1, activation, 0));
}

// Small integers times powers of two are exact: rows have a range of 255 steps, columns of 127.
struct Exact {
  float a[2][3] = {{255, 1, 7}, {-100, 155, 3}};
  float b[3][2] = {{127, 3}, {2, -127}, {-5, 9}};
  float bias[2] = {0.5F, -2};
  float c[2][2] = {};

  void expect_row(int i, float slope) const {
    for (int j = 0; j < 2; ++j) {
      float sum = bias[j];
      for (int l = 0; l < 3; ++l) sum += a[i][l] * b[l][j];
      EXPECT_EQ(c[i][j], sum < 0 ? slope * sum : sum) << i << " " << j;
    }
  }
};

TEST(CApiInnerProduct, Computes) {
  Exact x;
  const InnerProduct product = init(2, 2, 3, kFloat, 1, 2);
  ASSERT_NE(product, nullptr) << octet_last_error();
  const float slope = 0.25F;
  expect_ok(octet_dqip_set_params(product.get(), x.b, nullptr, x.bias, &slope));
  std::vector<std::uint8_t> buffer(octet_dqip_external_buffer_size(product.get()));
  expect_ok(octet_dqip_forward(product.get(), x.a, nullptr, buffer.data(), x.c));
  x.expect_row(0, slope);
  x.expect_row(1, slope);
  EXPECT_GT(octet_dqip_internal_buffer_size(product.get()), 0U);
  EXPECT_NE(std::string(octet_dqip_info(product.get())), "");
}

TEST(CApiInnerProduct, SomeRowsAndTransposedWeights) {
  Exact x;
  const InnerProduct product = init(2, 2, 3);
  expect_ok(octet_dqip_set_option(product.get(), "trans_b", 1));
  expect_ok(octet_dqip_set_option(product.get(), "threads", 2));
  const float b[2][3] = {{x.b[0][0], x.b[1][0], x.b[2][0]}, {x.b[0][1], x.b[1][1], x.b[2][1]}};
  expect_ok(octet_dqip_set_params(product.get(), b, nullptr, x.bias, nullptr));
  expect_ok(octet_dqip_forward_rows(product.get(), 1, x.a, nullptr, nullptr, x.c));
  x.expect_row(0, 1);
  EXPECT_EQ(x.c[1][0], 0.0F);
  expect_ok(octet_dqip_forward_rows(product.get(), 0, nullptr, nullptr, nullptr, nullptr));
  expect_ok(octet_dqip_forward_rows(product.get(), 2, x.a, nullptr, nullptr, x.c));
  x.expect_row(1, 1);
}

TEST(CApiInnerProduct, WeightsOfTheRun) {
  Exact x;
  const InnerProduct product = init(2, 2, 3, kFloat, 0);
  expect_ok(octet_dqip_set_params(product.get(), nullptr, nullptr, x.bias, nullptr));
  expect_ok(octet_dqip_forward(product.get(), x.a, x.b, nullptr, x.c));
  x.expect_row(0, 1);
  x.expect_row(1, 1);
}

TEST(CApiInnerProduct, RefusesWrongNumbers) {
  const auto expect_refused = [](octet_dqip* product, const std::vector<std::string>& parts) {
    EXPECT_EQ(product, nullptr);
    expect_last_error(parts);
    octet_dqip_release(product);
  };
  const auto most = std::numeric_limits<std::uint64_t>::max();
  expect_refused(octet_dqip_init(2, 2, 3, kInt8, kFloat, kFloat, 1, 0, 0, 0), {"type of A is int8"});
  expect_refused(octet_dqip_init(2, 2, 3, kFloat, kHalf, kFloat, 1, 0, 0, 0), {"constant B is bfloat16"});
  expect_refused(octet_dqip_init(2, 2, 3, kFloat, kInt8, kFloat, 0, 0, 0, 0), {"not constant", "int8"});
  expect_refused(octet_dqip_init(2, 2, 3, kFloat, kFloat, 99, 1, 0, 0, 0), {"type of C"});
  expect_refused(octet_dqip_init(2, 2, 3, kFloat, kFloat, -1, 1, 0, 0, 0), {"type of C"});
  expect_refused(octet_dqip_init(2, 2, 3, kFloat, kFloat, kFloat, 2, 0, 0, 0), {"'const_b' is 2"});
  expect_refused(octet_dqip_init(2, 2, 3, kFloat, kFloat, kFloat, 1, -1, 0, 0), {"'bias' is -1"});
  expect_refused(octet_dqip_init(2, 2, 3, kFloat, kFloat, kFloat, 1, 0, 0, 7), {"'avoid_overflow' is 7"});
  expect_refused(octet_dqip_init(2, 2, 3, kFloat, kFloat, kFloat, 1, 0, 11, 0), {"activation is 11"});
  expect_refused(octet_dqip_init(2, 2, 3, kFloat, kFloat, kFloat, 1, 0, -1, 0), {"activation is -1"});
  expect_refused(octet_dqip_init(most, 2, 3, kFloat, kFloat, kFloat, 1, 0, 0, 0), {"m is", "memory"});
  expect_refused(octet_dqip_init(2, 2, most / 2, kFloat, kFloat, kFloat, 1, 0, 0, 0), {"beyond 2^40"});
  const std::uint64_t huge = std::uint64_t{1} << 39;
  expect_refused(octet_dqip_init(2, huge, huge, kFloat, kFloat, kFloat, 1, 0, 0, 0), {"larger than any memory"});
}

TEST(CApiInnerProduct, RefusesWrongUse) {
  Exact x;
  float scale[2] = {1, 1};
  octet_dqip_release(nullptr);
  EXPECT_EQ(octet_dqip_info(nullptr), nullptr);
  expect_last_error({"octet_dqip_info", "'product' is null"});
  EXPECT_EQ(octet_dqip_internal_buffer_size(nullptr), 0U);
  EXPECT_EQ(octet_dqip_external_buffer_size(nullptr), 0U);
  expect_error(octet_dqip_set_option(nullptr, "threads", 1), {"octet_dqip_set_option", "'product' is null"});
  expect_error(octet_dqip_set_params(nullptr, x.b, scale, x.bias, nullptr), {"'product' is null"});
  expect_error(octet_dqip_forward(nullptr, x.a, x.b, nullptr, x.c), {"'product' is null"});
  expect_error(octet_dqip_forward_rows(nullptr, 1, x.a, x.b, nullptr, x.c), {"'product' is null"});

  const InnerProduct product = init(2, 2, 3, kInt8, 1, 6);
  const float two[2] = {3, 1};
  expect_error(octet_dqip_forward(product.get(), x.a, nullptr, nullptr, x.c), {"m=2", "no parameters are set"});
  expect_error(octet_dqip_set_params(product.get(), nullptr, scale, x.bias, two), {"weight is null"});
  expect_error(octet_dqip_set_params(product.get(), x.b, nullptr, x.bias, two), {"scale is null"});
  expect_error(octet_dqip_set_params(product.get(), x.b, scale, x.bias, nullptr), {"hswish", "null"});
  expect_error(octet_dqip_set_option(product.get(), nullptr, 1), {"'key' is null"});
  expect_error(octet_dqip_set_option(product.get(), "speed", 1), {"'speed'", "trans_b or threads"});
  expect_error(octet_dqip_set_option(product.get(), "trans_b", 2), {"'trans_b' is 2"});
  expect_error(octet_dqip_set_option(product.get(), "threads", 0), {"'threads' is 0"});
  expect_error(octet_dqip_set_option(product.get(), "threads", std::int64_t{1} << 40), {"'threads'"});
  expect_ok(octet_dqip_set_params(product.get(), x.b, scale, nullptr, two));
  expect_error(octet_dqip_set_option(product.get(), "threads", 2), {"'threads'", "after the parameters"});
  expect_error(octet_dqip_forward(product.get(), nullptr, nullptr, nullptr, x.c), {"A is null"});
  expect_error(octet_dqip_forward(product.get(), x.a, nullptr, nullptr, nullptr), {"C is null"});
  expect_error(octet_dqip_forward_rows(product.get(), 3, x.a, nullptr, nullptr, x.c), {"3 rows", "at most m"});
  expect_error(
      octet_dqip_forward_rows(product.get(), std::numeric_limits<std::uint64_t>::max(), x.a, nullptr, nullptr, x.c),
      {"m is"});

  const InnerProduct elu = init(2, 2, 3, kFloat, 0, 5);
  expect_error(octet_dqip_forward(elu.get(), x.a, x.b, nullptr, x.c), {"parameters", "none are set"});
  expect_ok(octet_dqip_set_params(elu.get(), nullptr, nullptr, nullptr, two));
  expect_error(octet_dqip_forward(elu.get(), x.a, nullptr, nullptr, x.c), {"not constant, but null"});
}

#ifndef __SANITIZE_ADDRESS__  // which ends the process where memory is asked for in vain
TEST(CApiInnerProduct, WeightsBeyondMemoryAreAnError) {
  const InnerProduct product(octet_dqip_init(1, 64, std::uint64_t{1} << 40, kFloat, kInt8, kFloat, 1, 0, 0, 0));
  ASSERT_NE(product, nullptr) << octet_last_error();
  const float one[64] = {};
  expect_error(octet_dqip_set_params(product.get(), one, one, nullptr, nullptr), {""}, OCTET_OUT_OF_MEMORY);
}
#endif

}  // namespace
