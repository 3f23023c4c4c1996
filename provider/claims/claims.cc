#include "provider/claims/claims.hpp"

#include <algorithm>

#include "provider/claims/byte_functions.hpp"
#include "provider/claims/qdq.hpp"
#include "provider/claims/tails.hpp"
#include "provider/core/registry.hpp"

namespace octet::claims {
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

/// Operators of which nodes that break the definition are taken too, so that the session ends with our words, when the
/// kernel is made: ONNX Runtime's own kernels end the process where zero points are left out, or there is none, which
/// it would call the fault.
bool takes_wrong_nodes(const core::OpDef& op) {
  static constexpr const char* kNames[] = {"QLinearConcat", "QLinearLeakyRelu", "QLinearSigmoid",
                                           "MulInteger",    "ReduceSumInteger", "QLinearReduceMean"};
  return std::find(std::begin(kNames), std::end(kNames), op.name) != std::end(kNames);
}

/// Builds the operator without its constants, which is cheap and tells all that does not depend on values.
ErrorCode try_to_build(const Step& step, const Conditions& conditions) {
  try {
    const Operator op(step.node, conditions.operators);
    return ErrorCode::ok;
  } catch (const Error& error) {
    if (conditions.trace) conditions.trace(std::string("not taken: ") + error.what());
    return error.code();
  }
}

bool has_outputs(const GraphNode& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(), [](int output) { return output != kAbsent; });
}

/// Products first, which are worth most.
std::vector<Group> match_groups(const Graph& graph, const Conditions& conditions, Partition& partition) {
  const auto supports = [&](const Step& step) { return try_to_build(step, conditions) == ErrorCode::ok; };
  std::vector<Group> groups = match_products(graph, supports, conditions.operators.rowwise, partition);
  for (const auto match : {match_byte_functions, match_tails})
    for (Group& group : match(graph, supports, partition)) groups.push_back(std::move(group));
  for (const Group& group : groups)
    if (conditions.trace && group.nodes.size() > 1) conditions.trace(describe(graph, group));
  return groups;
}

}  // namespace

Claims claim_nodes(const Graph& graph, const Conditions& conditions) {
  Partition partition(graph);
  Claims claims;
  if (conditions.can_fuse) claims.groups = match_groups(graph, conditions, partition);
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const GraphNode& node = graph.nodes[i];
    const core::OpDef* op = core::find_op(node.domain, node.op_type, node.since_version);
    if (op == nullptr || op->since_version != node.since_version || partition.taken(i)) continue;
    if (!has_outputs(node)) continue;  // nothing to name a group by, or to do
    if (is_quantize_or_dequantize(node) && marks_qdq_unit(graph, node)) {
      claims.qdq_marks.push_back(i);
      if (conditions.trace) conditions.trace(describe_qdq_mark(graph, node));
      continue;
    }
    Step step = single_step(graph, node);
    const bool is_group = runs_as_group(*op);
    if (is_group && !conditions.can_fuse) continue;
    const ErrorCode code = try_to_build(step, conditions);
    if (code != ErrorCode::ok && !(code == ErrorCode::invalid_argument && takes_wrong_nodes(*op))) continue;
    if (is_group)
      claims.groups.push_back({{i}, {std::move(step)}});
    else if (conditions.has_kernel(i))
      claims.singles.push_back(i);
    else
      continue;
    partition.claim({i});
  }
  return claims;
}

std::string describe(const Graph& graph, const Group& group) {
  std::string nodes, steps;
  for (const int i : group.nodes) {
    const GraphNode& node = graph.nodes[i];
    nodes += (nodes.empty() ? "" : ", ") + node.op_type + " '" + graph.label(node) + "'";
  }
  for (const Step& step : group.steps)
    steps += (steps.empty() ? "" : ", ") + step.node.op_type + " '" + step.node.name + "'";
  if (group.is_byte_function) steps = "one table of 256 values";
  return "taken together: " + nodes + (steps == nodes ? "" : ", as " + steps);
}

std::string describe_qdq_mark(const Graph& graph, const GraphNode& node) {
  return "left to onnxruntime: " + node.op_type + " '" + graph.label(node) + "' marks a unit of the QDQ format";
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

}  // namespace octet::claims
