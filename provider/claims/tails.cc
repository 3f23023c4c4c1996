#include "provider/claims/tails.hpp"

#include <algorithm>
#include <string_view>

#include "provider/claims/qdq.hpp"

namespace octet::claims {
namespace {

bool is_microsoft(const GraphNode& node, std::initializer_list<std::string_view> types) {
  return node.domain == "com.microsoft" && std::find(types.begin(), types.end(), node.op_type) != types.end();
}

bool is_head(const GraphNode& node) {
  return is_microsoft(node, {"QGemm", "QLinearAdd", "QLinearMul"}) || node.is("QLinearMatMul");
}

bool is_tail(const Graph& graph, const GraphNode& node) {
  if (is_microsoft(node, {"QLinearSigmoid", "QLinearLeakyRelu"})) return true;
  const bool dequantizes = node.is("DequantizeLinear") || is_microsoft(node, {"DequantizeLinear"});
  return dequantizes && !marks_qdq_unit(graph, node);
}

}  // namespace

std::vector<Group> match_tails(const Graph& graph, const Supports& supports, Partition& partition) {
  std::vector<Group> groups;
  for (int head = 0; head < static_cast<int>(graph.nodes.size()); ++head) {
    const GraphNode& node = graph.nodes[head];
    if (!is_head(node) || partition.taken(head) || node.outputs[0] == kAbsent) continue;
    const GraphValue& y = graph.values[node.outputs[0]];
    if (y.is_graph_output || y.consumers.size() != 1) continue;
    const int tail = y.consumers.front();
    if (!is_tail(graph, graph.nodes[tail]) || graph.nodes[tail].input(0) != node.outputs[0]) continue;
    Group group{{head, tail}, {single_step(graph, node), single_step(graph, graph.nodes[tail])}};
    if (!partition.can_claim(group.nodes) || !std::all_of(group.steps.begin(), group.steps.end(), supports)) continue;
    partition.claim(group.nodes);
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace octet::claims
