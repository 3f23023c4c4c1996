// The public C++ classes, thin over provider/core.
#include <octet/version.h>
#include <octet/octet.hpp>

#include <omp.h>

#include "provider/core/operator_state.hpp"

namespace octet {
namespace {

// The C++ default where the caller lends no threads: OpenMP, and only if the option asks for more than one.
void openmp_parallel_for(void* context, std::size_t count, Call::Task task, void* argument) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(*static_cast<const std::int32_t*>(context))
  for (std::size_t i = 0; i < count; ++i) task(argument, i);
}

Call effective(const Call& call, const Options& options) {
  if (call.parallel_for != nullptr || options.threads <= 1) return call;
  return {openmp_parallel_for, const_cast<std::int32_t*>(&options.threads), options.threads};
}

}  // namespace

Operator::Operator(const Node& node, const Options& options)
    : state_(std::make_unique<core::OperatorState>(node, options)) {}
Operator::~Operator() = default;
Operator::Operator(Operator&&) noexcept = default;
Operator& Operator::operator=(Operator&&) noexcept = default;

std::vector<ValueInfo> Operator::infer(const std::vector<TensorView>& inputs) const {
  std::vector<ValueInfo> result;
  for (const core::TensorInfo& info : state_->plan(inputs.data(), inputs.size())->outputs) {
    ValueInfo value{info.dtype};
    if (info.present()) value.dims = info.dims;
    result.push_back(std::move(value));
  }
  return result;
}

void Operator::run(const TensorView* inputs, std::size_t num_inputs, const TensorView* outputs, std::size_t num_outputs,
                   const Call& call) const {
  const auto entry = state_->plan(inputs, num_inputs);
  state_->check_outputs(*entry, outputs, num_outputs);
  state_->run(*entry, inputs, num_inputs, outputs, effective(call, state_->options()));
}

void Operator::run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
                   const Call& call) const {
  run(inputs.data(), inputs.size(), outputs.data(), outputs.size(), call);
}

Decision Operator::explain(const std::vector<TensorView>& inputs) const {
  return state_->plan(inputs.data(), inputs.size())->plan->decision();
}

const char* version() noexcept { return OCTET_VERSION; }

}  // namespace octet
