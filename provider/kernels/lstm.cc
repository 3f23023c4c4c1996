// DynamicQuantizeLSTM. The formulas stand in provider/ops/lstm.cc and primitives/vector/lstm_kernels.hpp.
#include <algorithm>

#include "provider/core/cpu.hpp"
#include "provider/kernels/choose_product.hpp"
#include "provider/kernels/kernels.hpp"
#include "provider/kernels/lstm_plan.hpp"

namespace octet::core {
namespace {

/// Why accuracy=fast leaves this node as it is; empty where it does not.
std::string why_not_fast(const NodeContext& node) {
  if (!has_bf16()) return "the CPU, or OCTET_MAX_CPU_ISA, has no AVX512_BF16";
  if (node.options.backend != "auto" && node.options.backend != "vector") return "backend=" + node.options.backend;
  if (node.options.lstm_quantization == "per_tensor") return "lstm_quantization=per_tensor asks for 8-bit activations";
  for (const auto port : {LstmPorts::w, LstmPorts::w_zero_point, LstmPorts::r, LstmPorts::r_zero_point})
    if (!node.constant(port).present()) return "input '" + node.op.inputs[port].name + "' is not constant";
  return "";
}

/// Our own loop: the same bits for any number of rows, and never slower than oneDNN's where AVX-512 computes.
LstmProducts bfloat16_products(const LstmShape& shape) {
  LstmProducts products;
  products.bfloat16 = true;
  const std::int64_t few_rows_columns = cached_columns(shape.columns(), 2 * shape.hidden);
  products.piece = {48, shape.batch > 6 ? vector::kColumnBlock : few_rows_columns};
  products.multiplications_per_nanosecond = 50;
  return products;
}

/// The product with the state decides: it is where the time goes.
Decision decision_of(const Choice<Product>& state, const Choice<Product>& input) {
  Decision decision{state.decision.backend, state.chosen->implementation(), {}};
  for (const std::string& reason : state.decision.reasons) decision.reasons.push_back("R, " + reason);
  if (!input.chosen) return decision;
  for (const std::string& reason : input.decision.reasons) decision.reasons.push_back("W, " + reason);
  if (input.chosen->implementation() != decision.implementation)
    decision.implementation += ", W by " + input.chosen->implementation();
  return decision;
}

class LstmKernel final : public Kernel {
 public:
  explicit LstmKernel(const NodeContext& node) : node_(node) {
    const TensorView w = node.constant(LstmPorts::w), r = node.constant(LstmPorts::r);
    const bool asked_for_fast = node.options.accuracy == "fast";
    if (asked_for_fast) why_not_fast_ = why_not_fast(node);
    if (asked_for_fast && why_not_fast_.empty()) {
      const std::int64_t hidden = r.dims[1];
      constants_.rounded_w = pack_bfloat16_gate_weights(w, node.constant(LstmPorts::w_zero_point), w.dims[1], hidden);
      constants_.rounded_r = pack_bfloat16_gate_weights(r, node.constant(LstmPorts::r_zero_point), hidden, hidden);
    } else {
      if (w.present()) constants_.w = pack_gate_weights(w, w.dims[1], w.dims[2] / vector::kGates);
      if (r.present()) constants_.r = pack_gate_weights(r, r.dims[1], r.dims[1]);
    }
    if (r.present()) keep_parameters(node, r);
  }

  bool holds(std::size_t input) const noexcept override {
    if (input == LstmPorts::w) return constants_.w || constants_.rounded_w;
    if (input == LstmPorts::r) return constants_.r || constants_.rounded_r;
    return constants_.parameter_memory != nullptr && is_parameter(input);
  }

  std::unique_ptr<const Plan> plan(const PlanRequest& request) const override {
    const std::vector<std::int64_t>& x = request.inputs[LstmPorts::x].dims;
    const std::vector<std::int64_t>& r = request.inputs[LstmPorts::r].dims;
    const LstmShape shape{x[0], x[1], x[2], r[1], r[0]};
    LstmProducts products;
    Decision decision;
    if (shape.steps == 0) {
      decision = {"none", "no steps", {}};
    } else if (constants_.rounded_r) {
      products = bfloat16_products(shape);
      decision = {"vector", "product:avx512_core_bf16", {"fast: bfloat16 activations"}};
    } else {
      decision = choose_products(request, shape, products);
    }
    return std::make_unique<LstmPlan>(node_, request, shape, constants_, std::move(decision), std::move(products));
  }

 private:
  Decision choose_products(const PlanRequest& request, const LstmShape& shape, LstmProducts& products) const {
    Choice<Product> input;
    Choice<Product> state =
        choose_product(request.options, request.label, {shape.batch, shape.columns(), shape.hidden});
    if (shape.input > 0)
      input = choose_product(request.options, request.label, {shape.batch * shape.steps, shape.columns(), shape.input});
    Decision decision = decision_of(state, input);
    if (!why_not_fast_.empty()) decision.reasons.push_back("fast: " + why_not_fast_);
    products.piece = {state.chosen->row_block(), state.chosen->column_block()};
    products.multiplications_per_nanosecond = state.chosen->multiplications_per_nanosecond();
    products.input = std::move(input.chosen);
    products.state = std::move(state.chosen);
    return decision;
  }

  static bool is_parameter(std::size_t input) noexcept {
    return input == LstmPorts::b || input == LstmPorts::p ||
           (input >= LstmPorts::w_scale && input <= LstmPorts::r_zero_point);
  }

  /// Where all of them are constant.
  void keep_parameters(const NodeContext& node, const TensorView& r) {
    std::array<TensorView, LstmPorts::kInputs> inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (is_parameter(i)) inputs[i] = node.constant(i);
      if (is_parameter(i) && node.has_input(i) && !inputs[i].present()) return;
    }
    LstmShape shape;
    shape.directions = r.dims[0];
    shape.hidden = r.dims[1];
    AlignedArray<std::uint8_t> memory = aligned_array<std::uint8_t>(LstmParameterMemory::bytes(shape));
    LstmParameterMemory::fill(inputs.data(), shape, memory.get(), constants_.parameters.data());
    constants_.parameter_memory = std::move(memory);
  }

  LstmNode node_;
  LstmConstants constants_;
  std::string why_not_fast_;  ///< where fast was asked for
};

}  // namespace

std::unique_ptr<const Kernel> make_lstm_kernel(const NodeContext& node) { return std::make_unique<LstmKernel>(node); }

}  // namespace octet::core
