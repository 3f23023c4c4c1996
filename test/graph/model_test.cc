// Model: what the plugin's tests (test/plugin/test_run.py) do not see from outside: memory, threads, loading.
#include <octet/model.hpp>

#include <onnx/defs/parser.h>

#include <cstring>
#include <thread>

#include "test/graph/graph_support.hpp"

namespace octet::test {
namespace {

std::string bytes_of(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(
      model, R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1, "local" : 1]> )" + text);
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model.SerializeAsString();
}

Model loaded(const std::string& text) {
  const std::string bytes = bytes_of(text);
  return Model::from_bytes(bytes.data(), bytes.size());
}

std::vector<std::uint8_t> numbers(std::size_t count, int seed) {
  std::vector<std::uint8_t> result(count);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = static_cast<std::uint8_t>(i * 31 + static_cast<std::size_t>(seed));
  return result;
}

/// A chain of layout operators, each of whose results dies with the next: x is its result turned 8 times.
std::string chain(int length) {
  std::string text = "g (uint8[N,M] v0) => (uint8[A,B] v" + std::to_string(length) + ") {\n";
  for (int i = 0; i < length; ++i) text += "v" + std::to_string(i + 1) + " = Transpose (v" + std::to_string(i) + ")\n";
  return text + "}";
}

TEST(Model, MemoryOfIntermediateValuesIsUsedAgain) {
  const Model model = loaded(chain(8));
  const auto x = numbers(100 * 300, 1);
  for (int run = 0; run < 3; ++run) {
    const auto outputs = model.run({{x.data(), DataType::uint8, {100, 300}}});
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(outputs[0].dims, (std::vector<std::int64_t>{100, 300}));
    EXPECT_EQ(std::memcmp(outputs[0].data.data(), x.data(), x.size()), 0);
    EXPECT_EQ(model.memory(), 2 * x.size()) << "eight values, two at a time";
  }
  model.run({{x.data(), DataType::uint8, {10, 10}}});
  EXPECT_EQ(model.memory(), 2 * x.size());
}

TEST(Model, ViewsTakeNoMemory) {
  const Model model = loaded(R"(g (uint8[2,3] x) => (uint8[3,2] r, uint8[1,2,3] u)
<int64[2] shape = {3, 2}, int64[1] axes = {0}>
{ r = Reshape (x, shape)  u = Unsqueeze (x, axes) })");
  const auto x = numbers(6, 1);
  const auto outputs = model.run({{x.data(), DataType::uint8, {2, 3}}});
  EXPECT_EQ(std::memcmp(outputs[1].data.data(), x.data(), 6), 0);
  EXPECT_EQ(model.memory(), 0U);
}

TEST(Model, AValueStaysAsLongAsAViewOfIt) {
  const Model model = loaded(R"(g (uint8[2,3] x) => (uint8[6] view, uint8[2,3] back)
<int64[1] flat = {6}>
{
  turned = Transpose (x)
  view = Reshape (turned, flat)
  back = Transpose (turned)
  other = Transpose (back)
})");
  const std::uint8_t x[] = {0, 1, 2, 3, 4, 5};
  const auto outputs = model.run({{x, DataType::uint8, {2, 3}}});
  EXPECT_EQ(outputs[0].data, (std::vector<unsigned char>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(outputs[1].data, (std::vector<unsigned char>{0, 1, 2, 3, 4, 5}));
}

TEST(Model, ManyThreadsRunOneModel) {
  const Model model = loaded(chain(5));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int run = 0; run < 50; ++run) {
        const std::int64_t rows = 1 + (t * 7 + run) % 13;
        const auto x = numbers(static_cast<std::size_t>(rows) * 20, t + run);
        const auto outputs = model.run({{x.data(), DataType::uint8, {rows, 20}}});
        ASSERT_EQ(outputs[0].dims, (std::vector<std::int64_t>{20, rows}));
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < 20; ++c) ASSERT_EQ(outputs[0].data[c * rows + r], x[r * 20 + c]);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Model, RunsWhatTheBuilderMade) {
  SigmoidGraph made;
  made.graph.add_output(made.y, "y");
  made.graph.add_output(made.x, "copy");
  const std::string bytes = made.graph.serialize();
  const Model model = Model::from_bytes(bytes.data(), bytes.size());
  ASSERT_EQ(model.inputs().size(), 1U);
  EXPECT_EQ(describe(model.inputs()[0]), "uint8[N,4]");
  EXPECT_EQ(model.outputs()[1].name, "copy");
  const std::uint8_t x[] = {0, 3, 100, 255};
  const auto outputs = model.run({{x, DataType::uint8, {1, 4}}});
  // sigmoid(0.1 * (x - 3)) / 0.1 + 3
  EXPECT_EQ(outputs[0].data, (std::vector<unsigned char>{7, 8, 13, 13}));
  EXPECT_EQ(outputs[1].data, std::vector<unsigned char>(x, x + 4));
}

TEST(Model, AnInputWithAnInitializerMayBeAbsent) {
  const Model model = loaded(
      "g (int64[2] x, int64[2] y) => (int64[4] z)\n<int64[2] y = {3, 4}>\n"
      "{ z = Concat <axis = 0> (x, y) }");
  const std::int64_t x[] = {1, 2};
  const std::vector<std::int64_t> dims{2};
  const std::vector<TensorView> one{{x, DataType::int64, dims}};
  EXPECT_EQ(model.run(one)[0].as<std::int64_t>()[3], 4);
  EXPECT_EQ(model.run({one[0], one[0]})[0].as<std::int64_t>()[3], 2);
  EXPECT_EQ(error_of([&] { model.run({}); }), "input 'x' is missing");
  EXPECT_EQ(error_of([&] { model.run({one[0], one[0], one[0]}); }), "there are 3 inputs, expected 2");
  EXPECT_EQ(error_of([&] { model.run({{nullptr, DataType::int64, {2}}}); }), "input 'x' has no data");
  EXPECT_EQ(error_of([&] { model.run({{x, DataType::int64, {-2}}}); }), "input 'x' has the negative extent -2");
}

TEST(Model, ConstantsAreReadFromTheFieldsOfTheirTypes) {
  const auto second = [](const std::string& type, const std::string& numbers) {
    const Model model = loaded("g (" + type + "[1] x) => (" + type + "[3] z)\n<" + type + "[2] w = {" + numbers +
                               "}>\n{ z = Concat <axis = 0> (w, x) }");
    const double x = 0;
    const DataType dtype = model.inputs()[0].dtype;
    return model.run({{&x, dtype, {1}}})[0];
  };
  EXPECT_EQ(second("uint64", "1, 300").as<std::uint64_t>()[1], 300U);
  EXPECT_EQ(second("uint32", "1, 300").as<std::uint32_t>()[1], 300U);
  EXPECT_EQ(second("int64", "1, -300").as<std::int64_t>()[1], -300);
  EXPECT_EQ(second("int8", "1, -3").as<std::int8_t>()[1], -3);
  EXPECT_EQ(second("double", "1.0, 2.5").as<double>()[1], 2.5);
}

TEST(Model, WhatCannotRunIsNamed) {
  const auto error = [](const std::string& text) {
    try {
      loaded(text);
    } catch (const Error& caught) {
      return std::to_string(static_cast<int>(caught.code())) + " " + caught.what();
    }
    return std::string("no error");
  };
  EXPECT_EQ(error("g (float[2] x) => (float[2] y) { [a] t = Relu (x)  u = local.Identity (t)  y = Identity (u) }"),
            "2 the model has 2 nodes that Octet does not run: Relu 'a', local.Identity");
  EXPECT_EQ(
      error("g (uint8[2] x, float s) => (float[2] y) { [q] y = com.microsoft.QLinearSigmoid (x, s) }").substr(0, 2),
      "1 ");
}

/// Extents of every kind in every place, through every operator of layout: a result or an Error, at once.
TEST(Model, ExtentsAreCheckedBeforeTheyAreMultiplied) {
  const char* const nodes[] = {"y = Transpose (x)",
                               "y = Slice (x, zero, zero)",
                               "y = Slice (x, zero, one, zero, back)",
                               "y = Gather <axis = 1> (x, zero)",
                               "y = Gather <axis = 0> (x, none)",
                               "y = Concat <axis = 0> (x, x)",
                               "y = Concat <axis = 1> (x, x)",
                               "y = Cast <to = 6> (x)",
                               "y = Shape (x)",
                               "y = Squeeze (x)",
                               "y = Unsqueeze (x, zero)",
                               "y = Reshape (x, huge)",
                               "y = Reshape (x, flat)"};
  std::vector<std::int64_t> extents{
      0, 1, 3, std::int64_t{1} << 31, std::int64_t{1} << 56, std::int64_t{1} << 62, INT64_MAX, -1, INT64_MIN};
  const std::uint8_t x[27] = {};
  for (const std::string node : nodes) {
    const Model model = loaded(
        "g (uint8[A,B,C] x) => (int32[D] y)\n<int64[1] zero = {0}, int64[1] one = {1}, "
        "int64[1] back = {-1}, int64[0] none = {}, int64[1] flat = {-1}, "
        "int64[3] huge = {0, 4611686018427387904, 4}>\n{ " +
        node + " }");
    for (const std::int64_t a : extents)
      for (const std::int64_t b : extents)
        for (const std::int64_t c : extents) {
          const std::vector<std::int64_t> dims{a, b, c};
          double product = 1;
          for (const std::int64_t dim : dims) product *= static_cast<double>(std::max<std::int64_t>(dim, 1));
          const bool possible = a >= 0 && b >= 0 && c >= 0 && product < 0x1p57;
          if (possible && a * b * c > 27) continue;  // there is no such memory here
          bool refused = false;
          try {
            model.run({{x, DataType::uint8, dims}});
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            refused = true;
          }
          EXPECT_TRUE(possible || refused) << node << " of " << a << "," << b << "," << c;
        }
  }
}

TEST(Model, EmptyTensorsRun) {
  const Model model = loaded(chain(3));
  const auto outputs = model.run({{nullptr, DataType::uint8, {0, 5}}});
  EXPECT_EQ(outputs[0].dims, (std::vector<std::int64_t>{5, 0}));
  EXPECT_TRUE(outputs[0].data.empty());
}

}  // namespace
}  // namespace octet::test
