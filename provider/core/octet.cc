// The public C++ classes, thin over provider/core.
#include <octet/version.h>
#include <octet/octet.hpp>

#include "provider/core/guarded.hpp"
#include "provider/core/operator_state.hpp"
#include "provider/core/parallel.hpp"

namespace octet {

using core::guarded;

Operator::Operator(const Node& node, const Options& options)
    : state_(guarded([&] { return std::make_unique<core::OperatorState>(node, options); })) {}
Operator::~Operator() = default;
Operator::Operator(Operator&&) noexcept = default;
Operator& Operator::operator=(Operator&&) noexcept = default;

std::vector<ValueInfo> Operator::infer(const std::vector<TensorView>& inputs) const {
  return guarded([&] {
    std::vector<ValueInfo> result;
    for (const core::TensorInfo& info : state().plan(inputs.data(), inputs.size())->outputs) {
      ValueInfo value{info.dtype};
      if (info.present()) value.dims = info.dims;
      result.push_back(std::move(value));
    }
    return result;
  });
}

void Operator::run(const TensorView* inputs, std::size_t num_inputs, const TensorView* outputs, std::size_t num_outputs,
                   const Call& call) const {
  guarded([&] {
    const core::OperatorState& op = state();
    const auto entry = op.plan(inputs, num_inputs);
    op.check_outputs(*entry, outputs, num_outputs);
    op.run(*entry, inputs, num_inputs, outputs, core::with_own_threads(call, op.options().threads));
  });
}

void Operator::run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
                   const Call& call) const {
  run(inputs.data(), inputs.size(), outputs.data(), outputs.size(), call);
}

Decision Operator::explain(const std::vector<TensorView>& inputs) const {
  return guarded([&] { return state().plan(inputs.data(), inputs.size())->plan->decision(); });
}

const core::OperatorState& Operator::state() const {
  if (state_ == nullptr) throw Error(ErrorCode::invalid_argument, "operator: it was moved to another object");
  return *state_;
}

const char* version() noexcept { return OCTET_VERSION; }

}  // namespace octet
