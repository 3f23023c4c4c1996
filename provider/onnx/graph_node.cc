// GraphBuilder: nodes, checked and inferred by the operators' definitions.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "provider/core/registry.hpp"
#include "provider/onnx/graph_state.hpp"
#include "provider/ops/lstm.hpp"
#include "provider/ops/ops.hpp"

namespace octet {

using core::LstmPorts;
using core::OpDef;
using core::PortDef;
using core::PortOption;
using onnx_side::BuiltNode;
using onnx_side::BuiltValue;
using onnx_side::fail;
using onnx_side::GraphState;
using onnx_side::kNone;

namespace onnx_side {

void complete_lstm(Attributes& attributes, const core::TypeAndShape& recurrence, const std::string& label) {
  if (const float* clip = core::find_attribute<float>(attributes, "clip")) {
    if (!(*clip >= 0)) fail(label + ": attribute 'clip' is " + std::to_string(*clip) + ", expected 0 (none) or more");
    if (*clip == 0) attributes.erase("clip");
  }
  if (attributes.count("hidden_size") != 0) return;
  const bool known = recurrence.shape && recurrence.shape->size() == 3 && (*recurrence.shape)[1].known();
  if (!known) fail(label + ": attribute 'hidden_size' is missing, and the shape of input 'R' does not tell it");
  attributes["hidden_size"] = (*recurrence.shape)[1].value;
}

}  // namespace onnx_side

namespace {

/// "A, a_scale and B"
std::string port_names(const std::vector<PortDef>& ports) {
  std::string text;
  for (std::size_t i = 0; i < ports.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ports.size() ? " and " : ", ") + ports[i].name;
  return text;
}

std::string given_label(const GraphNode& node) {
  return node.name.empty() ? node.op_type : node.op_type + " '" + node.name + "'";
}

/// The values of the definition's ports, in their order.
class Ports {
 public:
  Ports(const OpDef& op, const std::string& label) : op_(op), label_(label), members_(op.inputs.size()) {}

  void set(const GraphInput& input) {
    const auto port = std::find_if(op_.inputs.begin(), op_.inputs.end(),
                                   [&](const PortDef& candidate) { return candidate.name == input.port; });
    const std::string what = label_ + ": input '" + input.port + "'";
    if (port == op_.inputs.end())
      fail(label_ + ": the operator has no input '" + input.port + "', its inputs are " + port_names(op_.inputs));
    std::vector<GraphValue>& members = members_[port - op_.inputs.begin()];
    if (!members.empty()) fail(what + " is given twice");
    if (port->option != PortOption::variadic && input.values.size() != 1)
      fail(what + " has " + std::to_string(input.values.size()) + " values, expected 1");
    members = input.values;
    if (port->option != PortOption::variadic && !members[0].present()) members.clear();
  }

  /// Labels and values of all inputs; absent ones at the end are left out.
  std::vector<std::pair<std::string, GraphValue>> values() const {
    std::vector<std::pair<std::string, GraphValue>> result;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const bool variadic = op_.inputs[i].option == PortOption::variadic;
      const std::string what = label_ + ": input '" + op_.inputs[i].name;
      if (!variadic) result.emplace_back(what + "'", members_[i].empty() ? GraphValue() : members_[i][0]);
      for (std::size_t m = 0; variadic && m < members_[i].size(); ++m)
        result.emplace_back(what + "[" + std::to_string(m) + "]'", members_[i][m]);
    }
    while (!result.empty() && !result.back().second.present()) result.pop_back();
    return result;
  }

 private:
  const OpDef& op_;
  const std::string& label_;
  std::vector<std::vector<GraphValue>> members_;
};

const OpDef& definition(const GraphNode& node, const std::string& domain, std::int64_t opset) {
  if (const OpDef* op = core::find_op(domain, node.op_type, opset)) return *op;
  const std::string shown = domain.empty() ? "ai.onnx" : domain;
  for (const OpDef& op : core::op_defs())
    if (op.domain == domain && op.name == node.op_type)
      fail(given_label(node) + ": the operator is there from opset " + std::to_string(op.since_version) + " of " +
           shown + " on, but the model imports opset " + std::to_string(opset));
  fail(given_label(node) + ": domain " + shown + " has no such operator in Octet's table");
}

/// Text that gives back the same float.
std::string decimal(float value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

std::vector<GraphValue> GraphBuilder::add_node(const GraphNode& node) {
  GraphState& state = *state_;
  const std::string domain = onnx_side::canonical_domain(node.domain);
  const std::int64_t imported = state.opset(domain);
  const OpDef& op = definition(node, domain, imported == 0 ? 1 : imported);
  const std::string label = core::node_label(op, node.name);
  if (state.node_names.taken(node.name)) fail(label + ": the graph has a node of this name already");

  Ports ports(op, label);
  for (const GraphInput& input : node.inputs) ports.set(input);
  BuiltNode built{op.name, domain, node.name, {}, {}, {}, node.attributes, node.metadata};
  std::vector<core::TypeAndShape> types;
  for (const auto& [what, value] : ports.values()) {
    built.inputs.push_back(value.present() ? state.index_of(value, what) : kNone);
    types.emplace_back();
    if (!value.present()) continue;
    const BuiltValue& given = state.values[built.inputs.back()];
    if (!given.is_tensor) fail(what + ": value '" + given.name + "' is no tensor");
    types.back() = given.type;
  }
  if (op.family == core::Family::lstm)
    onnx_side::complete_lstm(built.attributes, types.size() > LstmPorts::r ? types[LstmPorts::r] : core::TypeAndShape(),
                             label);
  core::InferContext context(op, node.name, built.attributes, std::move(types),
                             std::vector<core::TypeAndShape>(op.outputs.size(), {true}));
  core::check_and_infer(context, core::Purpose::graph);

  if (built.name.empty()) built.name = state.node_names.unused(op.name);
  std::vector<GraphValue> results;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    BuiltValue value;
    value.name = state.value_names.unused(built.name + "/" + op.outputs[i].name);
    value.type = context.output(i);
    built.outputs.push_back(state.add_value(std::move(value)));
    built.optional.push_back(op.outputs[i].option == PortOption::optional);
    results.push_back(state.handle(built.outputs.back()));
  }
  if (imported == 0) state.import(domain, 1);
  state.node_names.take(built.name);
  state.nodes.push_back(std::move(built));
  return results;
}

DynamicQuantizeLstmOutputs GraphBuilder::add_dynamic_quantize_lstm(const DynamicQuantizeLstmInputs& inputs,
                                                                   const DynamicQuantizeLstmParameters& parameters,
                                                                   const std::string& name) {
  GraphNode node;
  node.op_type = "DynamicQuantizeLSTM";
  node.name = name;
  if (!std::isfinite(parameters.lda_coeff)) fail(given_label(node) + ": parameter 'lda coeff' is not finite");
  const GraphValue values[LstmPorts::kInputs] = {
      inputs.X,         inputs.W,           inputs.R, inputs.B,       inputs.sequence_lens,
      inputs.initial_h, inputs.initial_c,   inputs.P, inputs.W_scale, inputs.W_zero_point,
      inputs.R_scale,   inputs.R_zero_point};
  const OpDef& op = *core::find_op(core::kMicrosoftDomain, node.op_type, 1);
  for (std::size_t i = 0; i < LstmPorts::kInputs; ++i) node.inputs.emplace_back(op.inputs[i].name, values[i]);
  node.attributes = {{"direction", parameters.direction},
                     {"clip", parameters.clip},
                     {"input_forget", std::int64_t{parameters.input_forget}}};
  if (parameters.hidden_size != 0) node.attributes["hidden_size"] = parameters.hidden_size;
  if (!parameters.activations.empty()) node.attributes["activations"] = parameters.activations;
  if (!parameters.activation_alpha.empty()) node.attributes["activation_alpha"] = parameters.activation_alpha;
  if (!parameters.activation_beta.empty()) node.attributes["activation_beta"] = parameters.activation_beta;
  node.metadata = {{kTrainingKey, parameters.training ? "1" : "0"}, {kLdaCoeffKey, decimal(parameters.lda_coeff)}};
  const std::vector<GraphValue> outputs = add_node(node);
  return {outputs[0], outputs[1], outputs[2]};
}

}  // namespace octet
