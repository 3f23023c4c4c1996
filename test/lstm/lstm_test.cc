// What DynamicQuantizeLSTM promises beyond its case table: a sequence's numbers do not depend on its batch, padding or
// threads; per_tensor is its own definition; bad lengths and parameters are errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <tuple>

#include "provider/kernels/lstm_weights.hpp"
#include "test/reference/reference.hpp"
#include "test/support/cases.hpp"
#include "test/support/threads.hpp"

namespace octet::test {
namespace {

struct Shape {
  std::int64_t steps, batch, input, hidden, directions;
};

/// A node with lengths and first states, weights constant; everything filled from the shape.
struct Lstm {
  explicit Lstm(const Shape& given, std::vector<std::int32_t> lengths) : shape(given) {
    test_case.domain = "com.microsoft";
    test_case.op_type = "DynamicQuantizeLSTM";
    test_case.name = "special";
    test_case.attributes["direction"] = std::string(shape.directions == 2 ? "bidirectional" : "reverse");
    const std::int64_t d = shape.directions, gates = 4 * shape.hidden;
    const Dims states{d, shape.batch, shape.hidden};
    const nlohmann::json unit = {{"uniform", {-1, 1}}}, scale = {{"uniform", {0.002, 0.012}}};
    const PortSpec parameter{DataType::float32, {d, gates}, true, scale}, zero{DataType::uint8, {d, gates}, true, {}};
    test_case.inputs = {{DataType::float32, {shape.steps, shape.batch, shape.input}, false, {{"uniform", {-2, 2}}}},
                        {DataType::uint8, {d, shape.input, gates}, true, {}},
                        {DataType::uint8, {d, shape.hidden, gates}, true, {}},
                        {DataType::float32, {d, 2 * gates}, true, unit},
                        {DataType::int32, {shape.batch}, false, {{"values", lengths}}},
                        {DataType::float32, states, false, unit},
                        {DataType::float32, states, false, unit},
                        {},
                        parameter,
                        zero,
                        parameter,
                        zero};
    test_case.outputs = {{DataType::float32, {shape.steps, d, shape.batch, shape.hidden}, false, {}},
                         {DataType::float32, states, false, {}},
                         {DataType::float32, states, false, {}}};
    inputs = make_inputs(test_case);
  }

  std::vector<Tensor> run(const Call& call = {}) const {
    const Operator op(make_node(test_case, inputs, true), options);
    return run(op, call);
  }
  std::vector<Tensor> run(const Operator& op, const Call& call) const {
    std::vector<Tensor> outputs = make_outputs(test_case);
    for (Tensor& output : outputs) std::fill_n(output.data(), output.bytes(), static_cast<unsigned char>(0xCD));
    op.run(views(inputs), views(outputs), call);
    return outputs;
  }

  Shape shape;
  Case test_case;
  std::vector<Tensor> inputs;
  Options options;
};

enum Port { kX = 0, kLens = 4, kInitialH = 5, kInitialC = 6 };

float* floats(Tensor& tensor) { return reinterpret_cast<float*>(tensor.data()); }
const float* floats(const Tensor& tensor) { return reinterpret_cast<const float*>(tensor.data()); }
std::int32_t length(const Lstm& lstm, std::int64_t n) {
  return reinterpret_cast<const std::int32_t*>(lstm.inputs[kLens].data())[n];
}

void expect_same(const std::vector<Tensor>& found, const std::vector<Tensor>& expected, const std::string& what) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string text = difference(found[i], expected[i]);
    EXPECT_TRUE(text.empty()) << what << ", output " << i << ": " << text;
  }
}

/// Copies sequence `from` of a tensor [outer, batch, width] to sequence `to` of another; the first `outer` of it.
void copy_sequence(const Tensor& source, std::int64_t from, Tensor& target, std::int64_t to) {
  const Dims &s = source.dims(), &t = target.dims();
  const std::int64_t width = s.back(), batch = s[s.size() - 2], target_batch = t[t.size() - 2];
  const std::int64_t outer = std::min(source.elements() / (batch * width), target.elements() / (target_batch * width));
  for (std::int64_t i = 0; i < outer; ++i)
    std::copy_n(floats(source) + (i * batch + from) * width, width, floats(target) + (i * target_batch + to) * width);
}

/// `lstm` with sequence order[i] in place i; as many sequences as `order` names.
Lstm rearranged(const Lstm& lstm, const std::vector<std::int64_t>& order, std::int64_t steps) {
  std::vector<std::int32_t> lengths;
  for (const std::int64_t n : order) lengths.push_back(length(lstm, n));
  Shape shape = lstm.shape;
  shape.steps = steps;
  shape.batch = static_cast<std::int64_t>(order.size());
  Lstm result(shape, lengths);
  result.options = lstm.options;
  for (std::size_t i = 0; i < lstm.inputs.size(); ++i) {
    const bool by_sequence = i == kX || i == kInitialH || i == kInitialC;
    if (!by_sequence && i != kLens) result.inputs[i] = lstm.inputs[i];
    for (std::size_t k = 0; by_sequence && k < order.size(); ++k)
      copy_sequence(lstm.inputs[i], order[k], result.inputs[i], static_cast<std::int64_t>(k));
  }
  return result;
}

const std::vector<std::int32_t> kLengths = {3, 7, 1, 7, 0, 5, 2, 7, 6, 4, 7};
const Shape kShapes[] = {{7, 11, 13, 20, 1}, {7, 11, 70, 65, 2}, {7, 11, 24, 128, 2}};

class Independence : public testing::TestWithParam<std::tuple<Shape, const char*>> {
 protected:
  static Lstm made() {
    Lstm lstm(std::get<Shape>(GetParam()), kLengths);
    lstm.options.accuracy = std::get<const char*>(GetParam());
    return lstm;
  }
};

TEST_P(Independence, OfTheOrderOfTheBatch) {
  const Lstm lstm = made();
  const std::vector<Tensor> whole = lstm.run();
  const std::vector<std::int64_t> order = {10, 3, 4, 0, 7, 1, 9, 8, 2, 6, 5};
  const std::vector<Tensor> moved = rearranged(lstm, order, 7).run();
  std::vector<Tensor> expected = make_outputs(lstm.test_case);
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t k = 0; k < order.size(); ++k)
      copy_sequence(whole[i], order[k], expected[i], static_cast<std::int64_t>(k));
  expect_same(moved, expected, "permuted");
}

TEST_P(Independence, OfOtherSequences) {
  const Lstm lstm = made();
  const std::vector<Tensor> whole = lstm.run();
  for (std::int64_t n = 0; n < lstm.shape.batch; ++n) {
    const Lstm alone = rearranged(lstm, {n}, std::max(1, length(lstm, n)));  // without its padding, too
    std::vector<Tensor> expected = make_outputs(alone.test_case);
    for (std::size_t i = 0; i < expected.size(); ++i) copy_sequence(whole[i], n, expected[i], 0);
    expect_same(alone.run(), expected, "sequence " + std::to_string(n) + " alone");
  }
}

TEST_P(Independence, OfPadding) {
  Lstm lstm = made();
  const std::vector<Tensor> expected = lstm.run();
  for (const float padding : {0.0f, 1e4f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    for (std::int64_t n = 0; n < lstm.shape.batch; ++n)
      for (std::int64_t t = length(lstm, n); t < lstm.shape.steps; ++t)
        std::fill_n(floats(lstm.inputs[kX]) + (t * lstm.shape.batch + n) * lstm.shape.input, lstm.shape.input, padding);
    expect_same(lstm.run(), expected, "padding " + std::to_string(padding));
  }
}

TEST_P(Independence, NotANumberStaysInItsSequence) {
  Lstm lstm = made();
  const std::vector<Tensor> expected = lstm.run();
  const std::int64_t bad = 5;  // of length 5
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    floats(lstm.inputs[kX])[(2 * lstm.shape.batch + bad) * lstm.shape.input + 1] = value;
    std::vector<Tensor> found = lstm.run();
    EXPECT_TRUE(std::isnan(floats(found[1])[bad * lstm.shape.hidden])) << "it does not flow on";
    for (std::size_t i = 0; i < found.size(); ++i) copy_sequence(expected[i], bad, found[i], bad);
    expect_same(found, expected, "other sequences");
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Independence,
                         testing::Combine(testing::ValuesIn(kShapes), testing::Values("exact", "fast")));

/// Counts the tasks that a run asks for, and runs them by plain threads.
struct CountingThreads {
  explicit CountingThreads(int number) : threads(lend_threads(number)) {}
  Call call() { return {parallel_for, this, threads.threads}; }
  static void parallel_for(void* self, std::size_t count, Call::Task task, void* argument) {
    auto& counting = *static_cast<CountingThreads*>(self);
    counting.most_tasks = std::max(counting.most_tasks, count);
    counting.threads.parallel_for(counting.threads.context, count, task, argument);
  }
  Call threads;
  std::size_t most_tasks = 0;
};

struct Cut {
  Shape shape;
  const char* quantization;
  const char* accuracy;
  std::size_t tasks_of_three;  ///< that three threads are given
};

class ThreadCuts : public testing::TestWithParam<Cut> {};

TEST_P(ThreadCuts, DoNotChangeAnything) {
  const auto [shape, quantization, accuracy, tasks_of_three] = GetParam();
  std::vector<std::int32_t> lengths;
  for (std::int64_t n = 0; n < shape.batch; ++n) lengths.push_back(static_cast<std::int32_t>(shape.steps - n % 3));
  Lstm lstm(shape, lengths);
  lstm.options.lstm_quantization = quantization;
  lstm.options.accuracy = accuracy;
  const Operator op(make_node(lstm.test_case, lstm.inputs, true), lstm.options);
  const std::vector<Tensor> expected = lstm.run(op, {});
  for (const int threads : {1, 2, 3, 5}) {
    CountingThreads counting(threads);
    for (int repetition = 0; repetition < 3; ++repetition)
      expect_same(lstm.run(op, counting.call()), expected, std::to_string(threads) + " threads");
    if (threads == 3) {
      EXPECT_EQ(counting.most_tasks, tasks_of_three);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ThreadCuts,
                         testing::Values(Cut{{24, 16, 64, 128, 1}, "per_row", "exact", 3},  // sequences dealt out
                                         Cut{{24, 16, 64, 128, 1}, "per_row", "fast", 3},
                                         Cut{{24, 16, 64, 128, 2}, "per_row", "exact", 2},  // a direction each
                                         Cut{{6, 1, 64, 768, 1}, "per_row", "exact", 3},    // columns of one step
                                         Cut{{6, 1, 64, 768, 1}, "per_row", "fast", 3},
                                         Cut{{6, 3, 64, 768, 1}, "per_tensor", "exact", 3}));  // with one scale

// Tasks that all run on one thread, one after the other: nobody waits for a thread that never comes.
TEST(ThreadCuts, WorkOnOneThread) {
  const Lstm lstm({5, 1, 64, 768, 1}, {5});
  const auto one_by_one = [](void*, std::size_t count, Call::Task task, void* argument) {
    for (std::size_t i = count; i-- > 0;) task(argument, i);
  };
  expect_same(lstm.run({one_by_one, nullptr, 4}), lstm.run(), "one by one");
}

/// Every case of the table once more with the other quantization.
TEST(PerTensor, IsWhatTheReferenceSays) {
  const auto file = case_folder() / "com.microsoft.DynamicQuantizeLSTM.json";
  int number = 0;
  for (const Case& test_case : load_table(file)) {
    const std::vector<Tensor> inputs = make_inputs(test_case);
    std::vector<Tensor> expected = make_outputs(test_case);
    Node node = make_node(test_case, inputs, number % 2 == 0);
    Node reference_node = node;
    reference_node.attributes["lstm_quantization"] = std::string("per_tensor");
    reference::run(reference_node, views(inputs), views(expected));
    Options options;
    options.lstm_quantization = "per_tensor";
    const Operator op(node, options);
    std::vector<Tensor> outputs = make_outputs(test_case);
    op.run(views(inputs), views(outputs), lend_threads(number % 4));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].present()) continue;
      const std::string text = difference(outputs[i], expected[i]);
      ASSERT_TRUE(text.empty()) << test_case.name << ", output " << i << ": " << text;
    }
    ++number;
  }
  EXPECT_GE(number, 600);
}

std::string error_of(const Lstm& lstm) {
  try {
    lstm.run();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(BadValues, LengthsOutOfRange) {
  Lstm lstm({4, 3, 5, 8, 1}, {4, 5, 1});
  EXPECT_EQ(error_of(lstm),
            "DynamicQuantizeLSTM 'node': input 'sequence_lens' has 5 at index 1, expected 0 to seq_length=4");
  reinterpret_cast<std::int32_t*>(lstm.inputs[kLens].data())[1] = -1;
  EXPECT_NE(error_of(lstm).find("has -1 at index 1"), std::string::npos);
}

TEST(BadValues, ParametersOfActivations) {
  Lstm lstm({4, 3, 5, 8, 1}, {4, 4, 1});
  lstm.test_case.attributes["activations"] = std::vector<std::string>{"Sigmoid", "LeakyRelu", "Tanh"};
  lstm.test_case.attributes["activation_alpha"] = std::vector<float>{0.1f, 0.2f};
  EXPECT_EQ(
      error_of(lstm),
      "DynamicQuantizeLSTM 'node': attribute 'activation_alpha' has 2 values, but the activation functions take 1");
  lstm.test_case.attributes.erase("activation_alpha");
  lstm.test_case.attributes["activation_beta"] = std::vector<float>{0.1f};
  EXPECT_NE(error_of(lstm).find("'activation_beta' has 1 values"), std::string::npos);
}

TEST(BadValues, Clip) {
  Lstm lstm({4, 3, 5, 8, 1}, {4, 4, 1});
  for (const float clip : {-0.5f, std::nanf("")}) {
    lstm.test_case.attributes["clip"] = clip;
    EXPECT_NE(error_of(lstm).find("attribute 'clip'"), std::string::npos);
  }
}

// R may have no units, where no attribute says how many there are.
TEST(BadValues, NoUnits) {
  const Lstm lstm({4, 3, 5, 0, 2}, {4, 4, 1});
  EXPECT_EQ(lstm.run()[0].elements(), 0);
  EXPECT_EQ(error_of(lstm), "");
}

// Weights are held once in the process, in little more than their own size.
TEST(Weights, AreSharedAndSmall) {
  const std::int64_t k = 512, hidden = 512;
  Tensor weights(DataType::uint8, {2, k, 4 * hidden});
  fill(weights, "any", 7);
  const auto first = core::pack_gate_weights(weights.view(), k, hidden);
  Tensor same = weights;
  EXPECT_EQ(first, core::pack_gate_weights(same.view(), k, hidden));
  same.data()[5] ^= 1;
  EXPECT_NE(first, core::pack_gate_weights(same.view(), k, hidden));
  EXPECT_EQ(first->bytes(), weights.bytes());

  const Tensor zero_point(DataType::uint8, {2});
  const auto rounded = core::pack_bfloat16_gate_weights(weights.view(), zero_point.view(), k, hidden);
  EXPECT_EQ(rounded, core::pack_bfloat16_gate_weights(weights.view(), zero_point.view(), k, hidden));
  EXPECT_NE(rounded, core::pack_bfloat16_gate_weights(same.view(), zero_point.view(), k, hidden));
  EXPECT_EQ(rounded->bytes(), 2 * weights.bytes());

  core::LstmShape shape;
  shape.hidden = hidden;
  shape.directions = 2;
  const std::size_t scales = 2 * 4 * hidden * sizeof(float);
  EXPECT_LE(core::LstmParameterMemory::bytes(shape), weights.bytes() / 10 + scales);
}

}  // namespace
}  // namespace octet::test
