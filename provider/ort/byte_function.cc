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

/// Which inputs of an element-wise operator are tensors; the others are its parameters.
std::vector<std::size_t> tensor_ports(const GraphNode& node) {
  if (node.domain != "com.microsoft") return {};
  if (node.op_type == "QLinearSigmoid" || node.op_type == "QLinearLeakyRelu") return {0};
  if (node.op_type == "QLinearAdd" || node.op_type == "QLinearMul") return {0, 3};
  return {};
}

/// A set of nodes that grows from its last one towards what they read.
class Cone {
 public:
  Cone(const Graph& graph, const Partition& partition, int last) : graph_(graph), partition_(partition) { add(last); }

  /// The largest set that reads one value; empty where that is a single node.
  std::vector<int> largest() {
    std::vector<int> found;
    while (is_usable_) {
      if (reads_.size() == 1 && nodes_.size() > 1) found = nodes_;
      const int producer = next();
      if (producer == kAbsent) break;
      add(producer);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  void add(int index) {
    const GraphNode& node = graph_.nodes[index];
    const std::vector<std::size_t> tensors = tensor_ports(node);
    nodes_.push_back(index);
    reads_.erase(std::remove(reads_.begin(), reads_.end(), node.outputs[0]), reads_.end());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const int value = node.input(i);
      const bool is_tensor = std::find(tensors.begin(), tensors.end(), i) != tensors.end();
      if (value == kAbsent || (is_one_constant(value) && (!is_tensor || keeps_rank(node, value)))) continue;
      // Constants of more than one element make the function differ from place to place, and other parameters of the
      // run from run to run.
      if (!is_tensor || graph_.values[value].is_constant) is_usable_ = false;
      if (std::find(reads_.begin(), reads_.end(), value) == reads_.end()) reads_.push_back(value);
    }
    if (reads_.empty()) is_usable_ = false;
  }

  /// A constant of rank 1 would give a result of rank 1 to a scalar.
  bool keeps_rank(const GraphNode& node, int value) const {
    const GraphValue& y = graph_.values[node.outputs[0]];
    return graph_.values[value].dims->empty() || (y.dims && y.dims->size() > 1);
  }

  bool is_one_constant(int value) const {
    const GraphValue& v = graph_.values[value];
    if (!v.is_constant || !v.dims) return false;
    return v.dims->empty() || (v.dims->size() == 1 && v.dims->front() == 1);
  }

  /// The latest node that only this set reads.
  int next() const {
    int latest = kAbsent;
    for (const int value : reads_) {
      const GraphValue& v = graph_.values[value];
      const bool is_inner = v.producer != kAbsent && !v.is_graph_output && !partition_.taken(v.producer) &&
                            !tensor_ports(graph_.nodes[v.producer]).empty() &&
                            std::all_of(v.consumers.begin(), v.consumers.end(), [&](int consumer) {
                              return std::find(nodes_.begin(), nodes_.end(), consumer) != nodes_.end();
                            });
      if (is_inner) latest = std::max(latest, v.producer);
    }
    return latest;
  }

  const Graph& graph_;
  const Partition& partition_;
  std::vector<int> nodes_;
  std::vector<int> reads_;  ///< values that come from outside of the set
  bool is_usable_ = true;
};

}  // namespace

std::vector<Group> match_byte_functions(const Graph& graph, const Supports& supports, Partition& partition) {
  std::vector<Group> groups;
  for (int last = static_cast<int>(graph.nodes.size()) - 1; last >= 0; --last) {
    if (tensor_ports(graph.nodes[last]).empty() || partition.taken(last)) continue;
    Group group;
    group.nodes = Cone(graph, partition, last).largest();
    for (const int node : group.nodes) group.steps.push_back(single_step(graph, graph.nodes[node]));
    if (group.nodes.empty() || !partition.can_claim(group.nodes) ||
        !std::all_of(group.steps.begin(), group.steps.end(), supports))
      continue;
    group.is_byte_function = true;
    partition.claim(group.nodes);
    groups.push_back(std::move(group));
  }
  return groups;
}

ByteFunction::ByteFunction(std::shared_ptr<Session> session, const std::vector<Step>& steps,
                           const std::vector<std::string>& inputs)
    : session_(std::move(session)) {
  const Options options = session_->settings().operators;
  for (const Step& step : steps)
    operations_.push_back({std::make_unique<core::OperatorState>(step.node, options), step.node.name, {}});
  core::Choice<core::UnaryLoops> choice = core::choose_unary_loops(options, operations_.back().op->label());
  loops_ = std::move(choice.chosen);
  choice.decision.implementation = loops_->implementation;
  choice.decision.reasons.push_back("a table for " + std::to_string(steps.size()) + " operators on one tensor");
  for (Operation& operation : operations_) operation.decision = choice.decision;
  for (const Step& step : steps)
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
void ByteFunction::fill_table(const std::vector<Step>& steps, const std::string& x) {
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
