// The flat C interface: what works.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <thread>
#include <tuple>
#include <utility>

#include <octet/octet.hpp>

#include "product.hpp"

namespace {

std::string text_of(octet_status* (*function)(const octet_call*, char*, std::uint64_t*), const octet_call* call) {
  std::uint64_t size = 0;
  expect_ok(function(call, nullptr, &size));
  std::string text(size, '#');
  expect_ok(function(call, text.data(), &size));
  EXPECT_EQ(text.size(), size);
  EXPECT_EQ(text.back(), '\0');
  text.pop_back();
  return text;
}

// --- What works
// --------------------------------------------------------------------------------------------------------

TEST(CApi, TellsVersions) {
  EXPECT_EQ(octet_abi_version(), OCTET_ABI_VERSION);
  EXPECT_STREQ(octet_version(), OCTET_TEST_VERSION);
  EXPECT_EQ(std::string(octet_onednn_version()).rfind("3.", 0), 0U) << octet_onednn_version();
  ASSERT_NE(octet_cpu_isa(), nullptr) << octet_last_error();
  EXPECT_EQ(std::string(octet_cpu_isa()).rfind("avx", 0), 0U) << octet_cpu_isa();
}

TEST(CApi, ListsOperators) {
  std::uint64_t size = 0;
  expect_ok(octet_ops_json(nullptr, &size));
  ASSERT_GT(size, 1000U);
  std::vector<char> text(size + 1, '#');
  std::uint64_t written = size - 1;
  expect_error(octet_ops_json(text.data(), &written),
               {"octet_ops_json", std::to_string(size - 1), std::to_string(size)});
  EXPECT_EQ(written, size);
  EXPECT_EQ(text[0], '#') << "nothing is written where the text does not fit";
  expect_ok(octet_ops_json(text.data(), &written));
  EXPECT_EQ(written, size);
  EXPECT_EQ(std::strlen(text.data()), size - 1);
  EXPECT_EQ(text[size], '#');
  std::uint64_t names = 0;
  const std::string json = text.data();
  for (std::size_t at = json.find("\"since_version\""); at != std::string::npos;
       at = json.find("\"since_version\"", at + 1))
    ++names;
  EXPECT_EQ(names, octet_op_count());
  expect_error(octet_ops_json(text.data(), nullptr), {"octet_ops_json", "'size' is null"});
}

TEST(CApi, RunsIntoTheCallersMemory) {
  const Product product(5, 67, 33);
  for (const auto& [option, value] : std::vector<std::pair<const char*, const char*>>{
           {"backend", "auto"}, {"backend", "eigen"}, {"threads", "2"}, {"accuracy", "exact"}}) {
    octet_call* const call = product.call(option, value);
    std::vector<std::int32_t> y(product.expected().size() + 1, 42);
    expect_ok(octet_call_set_output(call, 0, OCTET_TYPE_INT32, product.y_dims.data(), 2, y.data(), (y.size() - 1) * 4));
    expect_ok(octet_call_run(call));
    EXPECT_EQ(y.back(), 42);
    y.pop_back();
    EXPECT_EQ(y, product.expected()) << option << '=' << value;
    expect_error(octet_call_copy_output(call, 0, y.data(), y.size() * 4), {"MatMulInteger 'product'", "'Y'"});
    octet_call_release(call);
  }
}

TEST(CApi, RunsIntoItsOwnMemory) {
  const Product product(3, 20, 9);
  octet_call* const call = product.call();
  std::vector<std::uint8_t> vanishing = product.a;
  expect_ok(
      octet_call_copy_input(call, 0, OCTET_TYPE_UINT8, product.a_dims.data(), 2, vanishing.data(), vanishing.size()));
  std::fill(vanishing.begin(), vanishing.end(), std::uint8_t{0});
  std::vector<std::int32_t> y(product.expected().size());
  expect_error(octet_call_copy_output(call, 0, y.data(), y.size() * 4), {"'Y'", "no run has succeeded"});
  expect_ok(octet_call_run(call));
  expect_error(octet_call_copy_output(call, 0, y.data(), y.size() * 4 - 1), {"'Y'", "107", "108"});
  expect_error(octet_call_copy_output(call, 0, nullptr, y.size() * 4), {"'Y'", "no data"});
  expect_error(octet_call_copy_output(call, 1, y.data(), y.size() * 4), {"there is no output 1"});
  expect_ok(octet_call_copy_output(call, 0, y.data(), y.size() * 4));
  EXPECT_EQ(y, product.expected());

  // After a run that failed, and after one into the caller's memory, there is nothing to copy.
  const Dims wrong{3, 19};
  expect_ok(octet_call_set_input(call, 0, OCTET_TYPE_UINT8, wrong.data(), 2, product.a.data(), product.a.size()));
  expect_error(octet_call_run(call), {"K=19"});
  expect_error(octet_call_copy_output(call, 0, y.data(), y.size() * 4), {"no run has succeeded"});
  expect_ok(
      octet_call_set_input(call, 0, OCTET_TYPE_UINT8, product.a_dims.data(), 2, product.a.data(), product.a.size()));
  expect_ok(octet_call_run(call));
  expect_ok(octet_call_copy_output(call, 0, y.data(), y.size() * 4));
  expect_ok(octet_call_set_output(call, 0, OCTET_TYPE_INT32, product.y_dims.data(), 2, y.data(), y.size() * 4));
  expect_ok(octet_call_run(call));
  expect_ok(octet_call_set_output(call, 0, OCTET_TYPE_ABSENT, nullptr, 0, nullptr, 0));
  expect_error(octet_call_copy_output(call, 0, y.data(), y.size() * 4), {"'Y'"});
  octet_call_release(call);
}

TEST(CApi, InfersOutputs) {
  const Product product(4, 8, 6);
  octet_call* const call = product.call();
  std::uint64_t count = 0;
  expect_error(octet_call_output_count(call, &count), {"octet_call_infer"});
  expect_ok(octet_call_infer(call));
  expect_ok(octet_call_output_count(call, &count));
  EXPECT_EQ(count, 1U);
  std::int32_t dtype = 0;
  std::int32_t rank = 0;
  std::uint64_t bytes = 0;
  expect_ok(octet_call_output_info(call, 0, &dtype, &rank, &bytes));
  EXPECT_EQ(dtype, OCTET_TYPE_INT32);
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(bytes, 96U);
  expect_ok(octet_call_output_info(call, 0, nullptr, nullptr, nullptr));
  Dims dims(3, -5);
  expect_error(octet_call_output_dims(call, 0, dims.data(), 1), {"'Y'", "rank 2", "capacity"});
  expect_error(octet_call_output_dims(call, 0, nullptr, 2), {"'dims' is null"});
  expect_ok(octet_call_output_dims(call, 0, dims.data(), 3));
  EXPECT_EQ(dims, (Dims{4, 6, -5}));
  expect_error(octet_call_output_info(call, 1, &dtype, &rank, &bytes), {"there is no output 1"});
  expect_error(octet_call_output_dims(call, 9, dims.data(), 3), {"there is no output 9"});

  // Other extents: what was inferred is no longer told.
  const Dims longer{7, 8};
  expect_ok(octet_call_set_input(call, 0, OCTET_TYPE_UINT8, longer.data(), 2, nullptr, 0));
  expect_error(octet_call_output_dims(call, 0, dims.data(), 3), {"octet_call_infer"});
  expect_ok(octet_call_infer(call));
  expect_ok(octet_call_output_dims(call, 0, dims.data(), 3));
  EXPECT_EQ(dims.front(), 7);
  octet_call_release(call);
}

TEST(CApi, ExplainsWithoutData) {
  const Product product(4, 8, 6);
  octet_call* const call = product.call("backend", "eigen");
  const std::string text = text_of(octet_call_explain, call);
  EXPECT_NE(text.find("\"backend\":\"eigen\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"reasons\":["), std::string::npos) << text;
  octet_call_release(call);
}

TEST(CApi, RunsEmptyAndInnerlessProducts) {
  for (const auto& [m, k, n] : std::vector<std::tuple<int, int, int>>{{0, 4, 3}, {2, 4, 0}, {2, 0, 3}}) {
    const Product product(m, k, n);
    octet_call* const call = product.call();
    expect_ok(octet_call_run(call));
    std::vector<std::int32_t> y(product.expected().size(), 1);
    expect_ok(octet_call_copy_output(call, 0, y.data(), y.size() * 4));
    EXPECT_EQ(y, product.expected());
    octet_call_release(call);
  }
}

TEST(CApi, SetsEveryKindOfAttribute) {
  octet_node* const node = octet_node_create("com.microsoft", "QGemm", 1, nullptr);
  const std::int64_t ints[] = {1, 2};
  const float floats[] = {0.5F};
  const char* const strings[] = {"Sigmoid", "Tanh"};
  expect_ok(octet_node_set_int(node, "i", 3));
  expect_ok(octet_node_set_float(node, "f", 0.25F));
  expect_ok(octet_node_set_string(node, "s", "forward"));
  expect_ok(octet_node_set_ints(node, "is", ints, 2));
  expect_ok(octet_node_set_ints(node, "none", nullptr, 0));
  expect_ok(octet_node_set_floats(node, "fs", floats, 1));
  expect_ok(octet_node_set_strings(node, "ss", strings, 2));
  EXPECT_EQ(octet_operator_create(node), nullptr) << "QGemm has none of them";
  octet_node_release(node);
}

TEST(CApi, SharesAnOperatorBetweenThreads) {
  const Product product(8, 64, 32);
  octet_node* const node = product.node();
  octet_operator* const op = octet_operator_create(node);
  octet_node_release(node);
  ASSERT_NE(op, nullptr) << octet_last_error();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, -1);
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      octet_call* const call = octet_call_create(op);
      wrong[t] = 0;
      for (std::int64_t rows = 1; rows <= product.m; ++rows) {
        const Dims dims{rows, product.k};
        std::vector<std::int32_t> y(static_cast<std::size_t>(rows * product.n));
        wrong[t] += Result(octet_call_set_input(call, 0, OCTET_TYPE_UINT8, dims.data(), 2, product.a.data(),
                                                static_cast<std::uint64_t>(rows * product.k)))
                        .code != OCTET_OK;
        wrong[t] += Result(octet_call_run(call)).code != OCTET_OK;
        wrong[t] += Result(octet_call_copy_output(call, 0, y.data(), y.size() * 4)).code != OCTET_OK;
        const auto expected = product.expected();
        wrong[t] += !std::equal(y.begin(), y.end(), expected.begin());
      }
      octet_call_release(call);
    });
  for (auto& thread : threads) thread.join();
  octet_operator_release(op);
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(CApi, ElementTypesAreThoseOfTheCxxInterface) {
  const std::pair<int, const char*> types[] = {{OCTET_TYPE_FLOAT, "float"},
                                               {OCTET_TYPE_UINT8, "uint8"},
                                               {OCTET_TYPE_INT8, "int8"},
                                               {OCTET_TYPE_UINT16, "uint16"},
                                               {OCTET_TYPE_INT16, "int16"},
                                               {OCTET_TYPE_INT32, "int32"},
                                               {OCTET_TYPE_INT64, "int64"},
                                               {OCTET_TYPE_STRING, "string"},
                                               {OCTET_TYPE_BOOL, "bool"},
                                               {OCTET_TYPE_FLOAT16, "float16"},
                                               {OCTET_TYPE_DOUBLE, "double"},
                                               {OCTET_TYPE_UINT32, "uint32"},
                                               {OCTET_TYPE_UINT64, "uint64"},
                                               {OCTET_TYPE_BFLOAT16, "bfloat16"},
                                               {OCTET_TYPE_FLOAT8E4M3FN, "float8e4m3fn"},
                                               {OCTET_TYPE_FLOAT8E4M3FNUZ, "float8e4m3fnuz"},
                                               {OCTET_TYPE_FLOAT8E5M2, "float8e5m2"},
                                               {OCTET_TYPE_FLOAT8E5M2FNUZ, "float8e5m2fnuz"},
                                               {OCTET_TYPE_UINT4, "uint4"},
                                               {OCTET_TYPE_INT4, "int4"},
                                               {OCTET_TYPE_FLOAT4E2M1, "float4e2m1"},
                                               {OCTET_TYPE_FLOAT8E8M0, "float8e8m0"},
                                               {OCTET_TYPE_UINT2, "uint2"},
                                               {OCTET_TYPE_INT2, "int2"},
                                               {OCTET_TYPE_FLOAT6E2M3, "float6e2m3"},
                                               {OCTET_TYPE_FLOAT6E3M2, "float6e3m2"}};
  for (const auto& [number, name] : types)
    EXPECT_STREQ(octet::data_type_name(static_cast<octet::DataType>(number)), name);
  EXPECT_EQ(std::size(types), 26U) << "28 numbers without the two complex types";
}

}  // namespace
