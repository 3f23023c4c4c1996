// DynamicQuantizeLSTM by the flat C interface: its options.
#include <cmath>
#include <cstring>

#include "product.hpp"

namespace {

using Floats = std::vector<float>;

constexpr std::int64_t kSteps = 6, kBatch = 3, kInput = 9, kHidden = 20, kGates = 4 * kHidden;

struct Lstm {
  Lstm() : x(kSteps * kBatch * kInput), w(kInput * kGates), r(kHidden * kGates) {
    std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same data in every run
    for (float& value : x) value = static_cast<float>(random() % 4001) / 1000 - 2;
    for (auto* weights : {&w, &r})
      for (auto& value : *weights) value = static_cast<std::uint8_t>(random());
  }

  octet_node* node() const {
    octet_node* const node = octet_node_create("com.microsoft", "DynamicQuantizeLSTM", 1, "lstm");
    EXPECT_NE(node, nullptr) << octet_last_error();
    const auto weights = [&](std::uint64_t index, const std::vector<std::uint8_t>& values, std::int64_t k) {
      const Dims dims{1, k, kGates}, one{1};
      expect_ok(octet_node_set_constant(node, index, OCTET_TYPE_UINT8, dims.data(), 3, values.data(), values.size()));
      const std::uint64_t scale_index = index == 1 ? 8 : 10;
      expect_ok(octet_node_set_constant(node, scale_index, OCTET_TYPE_FLOAT, one.data(), 1, &scale, sizeof scale));
      expect_ok(octet_node_set_constant(node, scale_index + 1, OCTET_TYPE_UINT8, one.data(), 1, &zero_point, 1));
    };
    expect_ok(octet_node_set_input(node, 0, OCTET_TYPE_FLOAT, x_dims.data(), 3));
    weights(1, w, kInput);
    weights(2, r, kHidden);
    expect_ok(octet_node_set_output(node, 0, OCTET_TYPE_FLOAT));
    return node;
  }

  /// Y with an option, and what is said of how it was computed.
  Floats run(const char* option, const char* value, std::string& decision) const {
    octet_node* const made = node();
    expect_ok(octet_node_set_option(made, option, value));
    octet_operator* const op = octet_operator_create(made);
    EXPECT_NE(op, nullptr) << octet_last_error();
    octet_node_release(made);
    octet_call* const call = octet_call_create(op);
    octet_operator_release(op);
    expect_ok(octet_call_set_input(call, 0, OCTET_TYPE_FLOAT, x_dims.data(), 3, x.data(), x.size() * sizeof(float)));
    Floats y(kSteps * kBatch * kHidden);
    expect_ok(octet_call_set_output(call, 0, OCTET_TYPE_FLOAT, y_dims.data(), 4, y.data(), y.size() * sizeof(float)));
    std::uint64_t size = 0;
    expect_ok(octet_call_explain(call, nullptr, &size));
    decision.resize(size);
    expect_ok(octet_call_explain(call, decision.data(), &size));
    expect_ok(octet_call_run(call));
    octet_call_release(call);
    return y;
  }

  Dims x_dims{kSteps, kBatch, kInput}, y_dims{kSteps, 1, kBatch, kHidden};
  Floats x;
  std::vector<std::uint8_t> w, r;
  float scale = 0.008F;
  std::uint8_t zero_point = 121;
};

TEST(CApiLstm, TakesTheOptionAccuracy) {
  const Lstm lstm;
  std::string decision, fast_decision;
  const Floats exact = lstm.run("accuracy", "exact", decision), fast = lstm.run("accuracy", "fast", fast_decision);
  EXPECT_EQ(decision.find("fast"), std::string::npos) << decision;
  EXPECT_NE(fast_decision.find("fast: "), std::string::npos) << fast_decision;
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(fast[i], exact[i], 0.02) << i;
  const bool is_bfloat16 = fast_decision.find("avx512_core_bf16") != std::string::npos;
  EXPECT_NE(is_bfloat16, exact == fast) << fast_decision;
}

TEST(CApiLstm, TakesTheOptionLstmQuantization) {
  const Lstm lstm;
  std::string decision;
  const Floats rows = lstm.run("lstm_quantization", "per_row", decision);
  const Floats tensors = lstm.run("lstm_quantization", "per_tensor", decision);
  EXPECT_NE(rows, tensors);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(tensors[i], rows[i], 0.05) << i;
}

}  // namespace
