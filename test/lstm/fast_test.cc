// DynamicQuantizeLSTM with accuracy=fast: how near it is to the LSTM in float64 with dequantized weights, and where it
// stays exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "provider/core/cpu.hpp"
#include "test/reference/reference.hpp"
#include "test/support/cases.hpp"
#include "test/support/threads.hpp"

namespace octet::test {
namespace {

Options fast_options() {
  Options options;
  options.accuracy = "fast";
  return options;
}

std::vector<Case> table() { return load_table(case_folder() / "com.microsoft.DynamicQuantizeLSTM.json"); }

std::vector<Tensor> run(const Case& test_case, const std::vector<Tensor>& inputs, const Operator& op,
                        const Call& call = {}) {
  std::vector<Tensor> outputs = make_outputs(test_case);
  op.run(views(inputs), views(outputs), call);
  return outputs;
}

std::vector<Tensor> in_float64(const Case& test_case, const std::vector<Tensor>& inputs, Node node) {
  node.attributes["lstm_quantization"] = std::string("none");
  std::vector<Tensor> outputs = make_outputs(test_case);
  reference::run(node, views(inputs), views(outputs));
  return outputs;
}

/// Of finite numbers, by the size of the largest of them where that is more than 1.
struct Error {
  double largest = 0;
  double squares = 0;
  std::int64_t count = 0;

  void add(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
    double size = 1;
    for (const Tensor& tensor : expected)
      for (const float value : floats(tensor))
        if (std::isfinite(value)) size = std::max(size, std::fabs(static_cast<double>(value)));
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::vector<float> ours = floats(found[i]), theirs = floats(expected[i]);
      for (std::size_t j = 0; j < ours.size(); ++j) {
        if (!std::isfinite(theirs[j])) continue;
        const double error = std::fabs(static_cast<double>(ours[j]) - static_cast<double>(theirs[j])) / size;
        largest = std::isnan(error) ? error : std::max(largest, error);
        squares += error * error;
        ++count;
      }
    }
  }
  double root_mean_square() const { return std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(count, 1))); }

  static std::vector<float> floats(const Tensor& tensor) {
    if (!tensor.present()) return {};
    const auto* begin = reinterpret_cast<const float*>(tensor.data());
    return {begin, begin + tensor.elements()};
  }
};

/// Gates here are of any size, so that any rounding of X may turn them over.
const std::set<std::string> kUnusual = {"values_of_x", "values_of_scales"};
constexpr double kBound = 0.02;
/// Other functions let errors grow from step to step.
const std::set<std::string> kBounded = {"sigmoid", "tanh", "hardsigmoid", "softsign"};
constexpr double kBoundOfUnbounded = 0.25;

bool is_bounded(const Case& test_case) {
  const auto given = test_case.attributes.find("activations");
  if (given == test_case.attributes.end()) return true;
  const auto names = std::get<std::vector<std::string>>(given->second);
  return std::all_of(names.begin(), names.end(), [](std::string name) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return kBounded.count(name) == 1;
  });
}

TEST(Fast, IsNearTheLstmInFloat64) {
  if (!core::has_bf16()) GTEST_SKIP() << "no AVX512_BF16";
  std::map<std::string, std::array<Error, 2>> groups;
  for (const Case& test_case : table()) {
    const std::vector<Tensor> inputs = make_inputs(test_case);
    const Node node = make_node(test_case, inputs, true);
    const std::vector<Tensor> expected = in_float64(test_case, inputs, node);
    const bool bounded = is_bounded(test_case);
    auto& [fast, exact] = groups[bounded ? test_case.group : "unbounded functions"];
    Error error;
    const auto found = run(test_case, inputs, Operator(node, fast_options()), lend_threads(2));
    error.add(found, expected);
    fast.add(found, expected);
    exact.add(run(test_case, inputs, Operator(node)), expected);
    if (kUnusual.count(test_case.group) == 0) {
      EXPECT_LE(error.largest, bounded ? kBound : kBoundOfUnbounded) << test_case.name;
    }
  }
  for (const auto& [name, errors] : groups) {
    const auto& [fast, exact] = errors;
    std::printf("%-24s root mean square error: fast %.3g, exact %.3g; largest: %.3g, %.3g\n", name.c_str(),
                fast.root_mean_square(), exact.root_mean_square(), fast.largest, exact.largest);
    if (kUnusual.count(name) == 0 && name != "unbounded functions") {
      EXPECT_LE(fast.root_mean_square(), exact.root_mean_square()) << name;
    }
  }
}

bool mentions(const Decision& decision, const std::string& text) {
  return std::any_of(decision.reasons.begin(), decision.reasons.end(),
                     [&](const std::string& reason) { return reason.find(text) != std::string::npos; });
}

struct Setting {
  const char* name;
  const char* backend;
  const char* quantization;
  bool constants;
  const char* reason;
};

class StaysExact : public testing::TestWithParam<Setting> {};

/// And says so: the same bits as without the option.
TEST_P(StaysExact, InEveryCase) {
  const Setting& setting = GetParam();
  Options options;
  options.backend = setting.backend;
  options.lstm_quantization = setting.quantization;
  const std::string reason = core::has_bf16() ? setting.reason : "no AVX512_BF16";
  for (const Case& test_case : table()) {
    if (!test_case.fixed) continue;
    const std::vector<Tensor> inputs = make_inputs(test_case);
    const Node node = make_node(test_case, inputs, setting.constants);
    options.accuracy = "exact";
    const Operator exact(node, options);
    options.accuracy = "fast";
    const Operator fast(node, options);
    const Decision decision = fast.explain(views(inputs));
    if (decision.backend != "none") {
      EXPECT_TRUE(mentions(decision, "fast: ")) << test_case.name;
      EXPECT_TRUE(mentions(decision, reason)) << test_case.name;
      EXPECT_FALSE(mentions(exact.explain(views(inputs)), "fast")) << test_case.name;
    }
    const std::vector<Tensor> found = run(test_case, inputs, fast), expected = run(test_case, inputs, exact);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i].present()) {
        EXPECT_EQ(difference(found[i], expected[i]), "") << test_case.name;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Where, StaysExact,
                         testing::Values(Setting{"backend", "eigen", "per_row", true, "backend=eigen"},
                                         Setting{"quantization", "auto", "per_tensor", true,
                                                 "lstm_quantization=per_tensor"},
                                         Setting{"weights", "auto", "per_row", false, "input 'W' is not constant"}),
                         [](const auto& setting) { return std::string(setting.param.name); });

TEST(Fast, SaysWhatComputes) {
  const Case test_case = table().front();
  const std::vector<Tensor> inputs = make_inputs(test_case);
  const Decision decision = Operator(make_node(test_case, inputs, true), fast_options()).explain(views(inputs));
  if (core::has_bf16()) {
    EXPECT_EQ(decision.backend, "vector");
    EXPECT_EQ(decision.implementation, "product:avx512_core_bf16");
  } else {
    EXPECT_TRUE(mentions(decision, "fast: the CPU, or OCTET_MAX_CPU_ISA, has no AVX512_BF16"));
  }
}

}  // namespace
}  // namespace octet::test
