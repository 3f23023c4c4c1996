#include "provider/cli/groups.hpp"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "provider/claims/claims.hpp"
#include "provider/core/op_def.hpp"
#include "provider/core/registry.hpp"
#include "provider/onnx/graph_state.hpp"
#include "provider/onnx/inference.hpp"
#include "provider/onnx/tensor_data.hpp"

namespace octet::cli {
namespace {

using claims::kAbsent;

/// Adds the names of the values that a graph reads and neither it nor a graph around it, up to a node's own, defines.
void add_outer_names(const onnx::GraphProto& graph, std::set<std::string> defined, std::set<std::string>& outer) {
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& node : graph.node()) defined.insert(node.output().begin(), node.output().end());
  const auto add_read = [&](const std::string& name) {
    if (!name.empty() && defined.count(name) == 0) outer.insert(name);
  };
  for (const auto& output : graph.output()) add_read(output.name());
  for (const auto& node : graph.node()) {
    for (const auto& input : node.input()) add_read(input);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) add_outer_names(attribute.g(), defined, outer);
      for (const auto& subgraph : attribute.graphs()) add_outer_names(subgraph, defined, outer);
    }
  }
}

/// Fills a claims::Graph.
class GraphReader {
 public:
  explicit GraphReader(const onnx::ModelProto& model) : proto_(model.graph()) {
    for (const auto& opset : model.opset_import())
      opsets_[core::canonical_domain(opset.domain())] = static_cast<int>(opset.version());
    for (const auto& tensor : proto_.initializer()) add_constant(tensor);
    // Since version 4 of the format an initializer that is an input, too, is only a default.
    if (model.ir_version() >= 4)
      for (const auto& input : proto_.input()) value(input.name()).is_constant = false;
    for (const auto& output : proto_.output()) value(output.name()).is_graph_output = true;
  }

  claims::Graph read() {
    std::vector<claims::GraphNode> nodes;
    for (const auto& node : proto_.node()) {
      if (auto constant = onnx_side::constant_of(node))
        add_constant(*constant);
      else
        nodes.push_back(read_node(node));
    }
    for (const int node : in_order(nodes)) graph_.add(std::move(nodes[node]));
    return std::move(graph_);
  }

 private:
  int index(const std::string& name) {
    if (name.empty()) return kAbsent;
    const auto [found, is_new] = index_of_.emplace(name, static_cast<int>(graph_.values.size()));
    if (is_new) graph_.values.emplace_back().name = name;
    return found->second;
  }

  template <class Names>
  std::vector<int> indices(const Names& names) {
    std::vector<int> result;
    for (const std::string& name : names) result.push_back(index(name));
    return result;
  }

  claims::GraphValue& value(const std::string& name) {
    if (name.empty()) throw std::runtime_error("an input, output or constant of the graph has no name");
    return graph_.values[index(name)];
  }

  void add_constant(const onnx::TensorProto& tensor) {
    claims::GraphValue& constant = value(tensor.name());
    constant.dtype = static_cast<DataType>(tensor.data_type());
    constant.dims.emplace(tensor.dims().begin(), tensor.dims().end());
    constant.is_constant = true;
  }

  claims::GraphNode read_node(const onnx::NodeProto& proto) {
    claims::GraphNode node;
    node.name = proto.name();
    node.domain = core::canonical_domain(proto.domain());
    const auto opset = opsets_.find(node.domain);
    const int version = opset == opsets_.end() ? 1 : opset->second;
    // A node without a schema stays without a type: nobody vouches for its form, so none may be claimed by it.
    if (const auto* schema = onnx::OpSchemaRegistry::Schema(proto.op_type(), version, node.domain)) {
      schema->Verify(proto);
      node.op_type = proto.op_type();
      node.since_version = schema->SinceVersion();
    }
    std::set<std::string> implicit;
    for (const auto& attribute : proto.attribute()) {
      if (auto value = onnx_side::attribute_value(attribute)) node.attributes[attribute.name()] = std::move(*value);
      if (attribute.has_g()) add_outer_names(attribute.g(), {}, implicit);
      for (const auto& subgraph : attribute.graphs()) add_outer_names(subgraph, {}, implicit);
    }
    node.inputs = indices(proto.input());
    node.implicit_inputs = indices(implicit);
    node.outputs = indices(proto.output());
    return node;
  }

  /// The nodes that compute what a node reads, in the order of the file.
  static std::vector<int> sources(const claims::GraphNode& node, const std::vector<int>& producers) {
    std::vector<int> result;
    for (const std::vector<int>* used : {&node.inputs, &node.implicit_inputs})
      for (const int read : *used)
        if (read != kAbsent && producers[read] != kAbsent) result.push_back(producers[read]);
    std::sort(result.begin(), result.end());
    return result;
  }

  /// A topological order: onnxruntime's, so that claims that depend on it are the same. It follows what nodes read,
  /// depth first, from those that no other node reads, the last of the file first.
  std::vector<int> in_order(const std::vector<claims::GraphNode>& nodes) const {
    enum class State { unseen, entered, left };
    const int count = static_cast<int>(nodes.size());
    std::vector<int> producers(graph_.values.size(), kAbsent);
    for (int i = 0; i < count; ++i)
      for (const int output : nodes[i].outputs)
        if (output != kAbsent && std::exchange(producers[output], i) != kAbsent)
          throw std::runtime_error("more than one node computes '" + graph_.values[output].name + "'");
    std::vector<std::vector<int>> reads(nodes.size());
    std::vector<bool> is_read(nodes.size());
    for (int i = 0; i < count; ++i) {
      reads[i] = sources(nodes[i], producers);
      for (const int source : reads[i]) is_read[source] = true;
    }
    std::vector<int> order, pending;
    for (int i = 0; i < count; ++i)
      if (!is_read[i]) pending.push_back(i);
    std::vector<State> states(nodes.size(), State::unseen);
    while (!pending.empty()) {
      const int node = pending.back();
      if (states[node] == State::unseen) {
        states[node] = State::entered;
        for (const int source : reads[node]) {
          if (states[source] == State::entered) throw std::runtime_error("the graph has a cycle");
          if (states[source] == State::unseen) pending.push_back(source);
        }
        continue;
      }
      pending.pop_back();
      if (std::exchange(states[node], State::left) == State::entered) order.push_back(node);
    }
    if (order.size() != nodes.size()) throw std::runtime_error("the graph has a cycle");
    return order;
  }

  const onnx::GraphProto& proto_;
  std::unordered_map<std::string, int> opsets_;
  claims::Graph graph_;
  std::unordered_map<std::string, int> index_of_;
};

/// Types that inference left open, behind an operator that only onnxruntime knows: those that an operator of Octet's
/// allows alone, or demands to be the type of another input or output.
void complete_types(claims::Graph& graph) {
  for (const claims::GraphNode& node : graph.nodes) {
    const core::OpDef* op = core::find_op(node.domain, node.op_type, node.since_version);
    if (op == nullptr) continue;
    const auto for_each_value = [&](const auto& function) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const core::PortDef* port = op->input_port(i);
        if (port != nullptr && port->homogeneous && node.inputs[i] != kAbsent)
          function(*port, graph.values[node.inputs[i]]);
      }
      for (std::size_t i = 0; i < std::min(node.outputs.size(), op->outputs.size()); ++i)
        if (node.outputs[i] != kAbsent) function(op->outputs[i], graph.values[node.outputs[i]]);
    };
    std::map<std::string, DataType> known;
    for_each_value([&](const core::PortDef& port, const claims::GraphValue& value) {
      if (value.dtype != DataType::undefined) known.emplace(port.type, value.dtype);
    });
    for_each_value([&](const core::PortDef& port, claims::GraphValue& value) {
      if (value.dtype != DataType::undefined) return;
      const std::vector<DataType> allowed = op->allowed_types(port);
      const auto found = known.find(port.type);
      if (found != known.end())
        value.dtype = found->second;
      else if (allowed.size() == 1)
        value.dtype = allowed.front();
    });
  }
}

Json named(const std::string& op_type, const std::string& name) { return {{"op_type", op_type}, {"name", name}}; }

}  // namespace

ModelGroups::ModelGroups(const onnx::ModelProto& model) {
  onnx_side::register_schemas_once();
  try {
    graph_ = GraphReader(model).read();
  } catch (const std::exception& error) {
    error_ = error.what();
  }
}

void ModelGroups::set_types(const onnx::GraphProto& inferred) {
  std::unordered_map<std::string, const onnx::TypeProto*> types;
  for (const auto* list : {&inferred.value_info(), &inferred.output(), &inferred.input()})
    for (const auto& value : *list) types[value.name()] = &value.type();
  for (claims::GraphValue& value : graph_.values) {
    const auto found = types.find(value.name);
    if (found == types.end() || value.is_constant || !found->second->has_tensor_type()) continue;
    const auto& type = found->second->tensor_type();
    value.dtype = static_cast<DataType>(type.elem_type());
    if (!type.has_shape()) continue;
    value.dims.emplace();
    for (const auto& dim : type.shape().dim())
      value.dims->push_back(dim.has_dim_value() ? std::max<std::int64_t>(dim.dim_value(), -1) : -1);
  }
  complete_types(graph_);
}

void ModelGroups::add_to(Json& result, const onnx::GraphProto& inferred, const Options& options) {
  if (!error_.empty()) {
    result["groups_error"] = error_;
    return;
  }
  set_types(inferred);
  claims::Conditions conditions;
  conditions.operators = options;
  conditions.has_kernel = [](int) { return true; };
  const claims::Claims found = claims::claim_nodes(graph_, conditions);
  Json groups = Json::array(), qdq_marks = Json::array();
  std::size_t nodes_in_groups = 0;
  for (const claims::Group& group : found.groups) {
    if (group.nodes.size() < 2) continue;
    Json nodes = Json::array(), steps = Json::array();
    for (const int i : group.nodes) nodes.push_back(named(graph_.nodes[i].op_type, graph_.label(graph_.nodes[i])));
    for (const claims::Step& step : group.steps) steps.push_back(named(step.node.op_type, step.node.name));
    nodes_in_groups += group.nodes.size();
    groups.push_back({{"nodes", std::move(nodes)},
                      {"steps", std::move(steps)},
                      {"is_table", group.is_byte_function},
                      {"description", describe(graph_, group)}});
  }
  for (const int i : found.qdq_marks) {
    const claims::GraphNode& node = graph_.nodes[i];
    qdq_marks.push_back(named(node.op_type, graph_.label(node)));
    qdq_marks.back()["description"] = describe_qdq_mark(graph_, node);
  }
  result["summary"].update(
      {{"groups", groups.size()}, {"nodes_in_groups", nodes_in_groups}, {"qdq_marks", qdq_marks.size()}});
  result["groups"] = std::move(groups);
  result["qdq_marks"] = std::move(qdq_marks);
}

}  // namespace octet::cli
