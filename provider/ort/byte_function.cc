#include "provider/ort/byte_function.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "provider/kernels/elementwise.hpp"
#include "provider/kernels/unary_table.hpp"
#include "provider/ort/api.hpp"

namespace octet::ort {
namespace {

using Bytes = std::array<std::uint8_t, vector::kTableSize>;

}  // namespace

ByteFunction::ByteFunction(std::shared_ptr<Session> session, const std::vector<claims::Step>& steps,
                           const std::vector<std::string>& inputs)
    : session_(std::move(session)) {
  const Options options = session_->settings().operators;
  for (const claims::Step& step : steps)
    operations_.push_back({std::make_unique<core::OperatorState>(step.node, options), step.node.name, {}});
  core::Choice<core::UnaryLoops> choice = core::choose_unary_loops(options, operations_.back().op->label());
  loops_ = std::move(choice.chosen);
  choice.decision.implementation = loops_->implementation;
  choice.decision.reasons.push_back("a table for " + std::to_string(steps.size()) + " operators on one tensor");
  for (Operation& operation : operations_) operation.decision = choice.decision;
  for (const claims::Step& step : steps)
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const auto found = std::find(inputs.begin(), inputs.end(), step.inputs[i]);
      if (step.node.inputs[i].constant == nullptr && !step.inputs[i].empty() && found != inputs.end())
        input_ = static_cast<std::size_t>(found - inputs.begin());
    }
  fill_table(steps, inputs[input_]);
  if (session_->settings().trace_plans) session_->trace(decision_line(operations_.back().op->label(), choice.decision));
}

ByteFunction::~ByteFunction() {
  try {
    std::vector<OperatorRecord> records;
    for (const Operation& operation : operations_)
      records.push_back({operation.name, operation.op->op().name, operation.decision.backend,
                         operation.decision.implementation, runs_.load()});
    session_->add(std::move(records));
  } catch (const std::exception&) {
    // Out of memory: the report lacks these operators.
  }
}

/// What the operators make of each byte in turn.
void ByteFunction::fill_table(const std::vector<claims::Step>& steps, const std::string& x) {
  constexpr std::int64_t kDims[] = {vector::kTableSize};
  std::map<std::string, Bytes> values;
  Bytes& bytes = values[x];
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const core::OperatorState& op = *operations_[i].op;
    std::vector<TensorView> inputs;
    for (std::size_t port = 0; port < steps[i].inputs.size(); ++port) {
      const auto found = values.find(steps[i].inputs[port]);
      const DataType type = steps[i].node.inputs[port].dtype;
      inputs.push_back(found == values.end() ? TensorView() : TensorView(found->second.data(), type, kDims, 1));
    }
    const auto entry = op.plan(inputs.data(), inputs.size());
    Bytes& y = values[steps[i].outputs[0]];
    const TensorView output(y.data(), entry->outputs[0].dtype, entry->outputs[0].dims);
    op.run(*entry, inputs.data(), inputs.size(), &output, Call());
    table_ = y;
  }
}

void ByteFunction::run(OrtKernelContext* context) const {
  const OrtApi& api = ort_api();
  const TensorView x = read_tensor(get<const OrtValue*>(api.KernelContext_GetInput, context, input_));
  OrtValue* value = nullptr;
  check(api.KernelContext_GetOutput(context, 0, x.dims, x.rank, &value));
  auto* y = static_cast<std::uint8_t*>(get<void*>(api.GetTensorMutableData, value));
  std::int64_t elements = 1;
  for (std::int32_t d = 0; d < x.rank; ++d) elements *= x.dims[d];
  core::look_up(session_->threads().lend(context), *loops_, table_.data(), x.as<const std::uint8_t>(), elements, y);
  runs_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace octet::ort
