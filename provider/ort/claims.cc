#include "provider/ort/claims.hpp"

#include <algorithm>

#include "provider/core/infer.hpp"
#include "provider/core/operator_state.hpp"
#include "provider/core/registry.hpp"
#include "provider/ort/api.hpp"
#include "provider/ort/byte_function.hpp"
#include "provider/ort/qdq.hpp"
#include "provider/ort/tails.hpp"

namespace octet::ort {
namespace {

/// Nodes that run as groups of one although a kernel could run them:
/// - ONNX Runtime's later fusions look for these two without asking who has them, and would take them away; a fused
///   group is replaced at once, so nothing is left to be found (QuantizeLinear and DequantizeLinear, which such fusions
///   look for too, are claimed only where there is nothing to fuse: qdq.hpp);
/// - the interface for kernels cannot read lists of strings.
bool runs_as_group(const core::OpDef& op) {
  return op.name == "MatMulInteger" || op.name == "DynamicQuantizeLinear" ||
         std::any_of(op.attributes.begin(), op.attributes.end(), [](const core::AttributeDef& attribute) {
           return attribute.type == core::AttributeType::strings;
         });
}

bool is_quantize_or_dequantize(const GraphNode& node) {
  return node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear";
}

/// Builds the operator without its constants, which is cheap and tells all that does not depend on values.
bool is_supported(const Step& step, Session& session) {
  try {
    const core::OperatorState state(step.node, session.settings().operators);
    return true;
  } catch (const Error& error) {
    if (session.settings().trace_claims) session.trace(std::string("not taken: ") + error.what());
    return false;
  }
}

/// "taken together: QLinearAdd 'sum', QLinearSigmoid 'act'"
void trace_group(const Graph& graph, const Group& group, Session& session) {
  std::string line;
  for (const int i : group.nodes) {
    const GraphNode& node = graph.nodes[i];
    line += (line.empty() ? "taken together: " : ", ") + node.op_type + " '" + graph.label(node) + "'";
  }
  session.trace(line);
}

}  // namespace

Claims claim_nodes(const Graph& graph, const HasKernel& has_kernel, Session& session) {
  Partition partition(graph);
  Claims claims;
  const bool can_fuse = !graph.is_nested || can_fuse_in_nested_graphs();
  if (can_fuse) {
    const auto supports = [&](const Step& step) { return is_supported(step, session); };
    claims.groups = match_products(graph, supports, session.settings().operators.rowwise, partition);
    for (const auto match : {match_byte_functions, match_tails})
      for (Group& group : match(graph, supports, partition)) claims.groups.push_back(std::move(group));
    if (session.settings().trace_claims)
      for (const Group& group : claims.groups) trace_group(graph, group, session);
  }
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const GraphNode& node = graph.nodes[i];
    const core::OpDef* op = core::find_op(node.domain, node.op_type, node.since_version);
    if (op == nullptr || op->since_version != node.since_version || partition.taken(i)) continue;
    const auto is_absent = [](int output) { return output == kAbsent; };
    if (std::all_of(node.outputs.begin(), node.outputs.end(), is_absent))
      continue;  // nothing to name a group by, or to do
    if (is_quantize_or_dequantize(node) && marks_qdq_unit(graph, node)) {
      if (session.settings().trace_claims)
        session.trace("not taken: " + core::node_label(*op, graph.label(node)) + " marks a unit of the QDQ format");
      continue;
    }
    Step step = single_step(graph, node);
    const bool is_group = runs_as_group(*op);
    if ((is_group && !can_fuse) || !is_supported(step, session)) continue;
    if (is_group)
      claims.groups.push_back({{i}, {std::move(step)}});
    else if (has_kernel(node))
      claims.singles.push_back(i);
    else
      continue;
    partition.claim({i});
  }
  return claims;
}

bool is_quantized(const std::string& op_type, const std::string& domain) {
  // Of the operators of opset 28 and of ONNX Runtime 1.32.
  static constexpr const char* kParts[] = {"QLinear", "uantizeLinear", "DynamicQuantize",          "Integer",
                                           "QGemm",   "QAttention",    "QEmbedLayerNormalization", "QOrdered",
                                           "QMoE",    "NBits",         "BlockQuantized",           "Bnb4"};
  if (!domain.empty() && domain != "com.microsoft") return false;
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](const char* part) { return op_type.find(part) != std::string::npos; });
}

}  // namespace octet::ort
