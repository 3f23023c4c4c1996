// DynamicQuantizeLSTM. The formulas stand in provider/ops/lstm.cc and primitives/vector/lstm_kernels.hpp.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "provider/core/cpu.hpp"
#include "provider/kernels/kernels.hpp"
#include "provider/kernels/lstm_plan.hpp"

namespace octet::core {
namespace {

Choice<Product> choose_product(const PlanRequest& request, std::int64_t m, std::int64_t n, std::int64_t k) {
  const ProductRequest product{m, n, k};
  const Candidate<Product> onednn{"onednn", [=] { return offer_onednn_product(product); }};
  const Candidate<Product> vector{"vector", [=] { return offer_vector_product(product); }};
  const Candidate<Product> eigen{"eigen", [=] { return offer_eigen_product(product); }};
  // As for single products: see provider/kernels/matmul.cc.
  if (cpu_isa_level() == Isa::avx512_core_amx)
    return dispatch<Product>(request.options, request.label, {onednn, vector, eigen});
  return dispatch<Product>(request.options, request.label, {vector, onednn, eigen});
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
    if (w.present()) constants_.w = pack_gate_weights(w, w.dims[1], w.dims[2] / vector::kGates);
    if (!r.present()) return;
    constants_.r = pack_gate_weights(r, r.dims[1], r.dims[1]);
    keep_parameters(node, r);
  }

  bool holds(std::size_t input) const noexcept override {
    if (input == LstmPorts::w) return constants_.w != nullptr;
    if (input == LstmPorts::r) return constants_.r != nullptr;
    return constants_.parameter_memory != nullptr && is_parameter(input);
  }

  std::unique_ptr<const Plan> plan(const PlanRequest& request) const override {
    const std::vector<std::int64_t>& x = request.inputs[LstmPorts::x].dims;
    const std::vector<std::int64_t>& r = request.inputs[LstmPorts::r].dims;
    const LstmShape shape{x[0], x[1], x[2], r[1], r[0]};
    Choice<Product> state, input;
    if (x[1] == 0 || r[1] == 0 || x[0] == 0)
      return make_plan(request, shape, {"none", "no steps", {}}, nullptr, nullptr);
    state = choose_product(request, shape.batch, shape.columns(), shape.hidden);
    if (shape.input > 0) input = choose_product(request, shape.batch * shape.steps, shape.columns(), shape.input);
    Decision decision = decision_of(state, input);
    return make_plan(request, shape, std::move(decision), std::move(input.chosen), std::move(state.chosen));
  }

 private:
  std::unique_ptr<const Plan> make_plan(const PlanRequest& request, const LstmShape& shape, Decision decision,
                                        std::unique_ptr<Product> input, std::unique_ptr<Product> state) const {
    return std::make_unique<LstmPlan>(node_, request, shape, constants_, std::move(decision), std::move(input),
                                      std::move(state));
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
    const std::size_t bytes = std::max<std::size_t>((LstmParameterMemory::bytes(shape) + 63) / 64 * 64, 64);
    auto* memory = static_cast<std::uint8_t*>(std::aligned_alloc(64, bytes));
    if (memory == nullptr) throw std::bad_alloc();
    constants_.parameter_memory = std::shared_ptr<const std::uint8_t>(
        memory, [](const std::uint8_t* p) { std::free(const_cast<std::uint8_t*>(p)); });
    LstmParameterMemory::fill(inputs.data(), shape, memory, constants_.parameters.data());
  }

  LstmNode node_;
  LstmConstants constants_;
};

}  // namespace

std::unique_ptr<const Kernel> make_lstm_kernel(const NodeContext& node) { return std::make_unique<LstmKernel>(node); }

}  // namespace octet::core
