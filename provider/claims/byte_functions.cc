#include "provider/claims/byte_functions.hpp"

#include <algorithm>

namespace octet::claims {
namespace {

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

}  // namespace octet::claims
