// The nodes of a model: shapes by ONNX's inference with our schemas, then each node of the table on its own.
#include "provider/cli/model.hpp"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "provider/cli/groups.hpp"
#include "provider/cli/node_spec.hpp"
#include "provider/onnx/graph_state.hpp"
#include "provider/onnx/inference.hpp"
#include "provider/onnx/tensor_data.hpp"

namespace octet::cli {
namespace {

using DimValues = std::map<std::string, std::int64_t>;

DimValues parse_dims(const std::vector<std::string>& texts) {
  DimValues values;
  for (const auto& text : texts) {
    const std::size_t equals = text.find('=');
    std::size_t used = 0;
    std::int64_t value = -1;
    try {
      if (equals != std::string::npos) value = std::stoll(text.substr(equals + 1), &used);
    } catch (const std::exception&) {
    }
    if (value < 0 || used + equals + 1 != text.size()) throw UsageError("--dim '" + text + "': expected NAME=VALUE");
    if (!values.emplace(text.substr(0, equals), value).second)
      throw UsageError("--dim: '" + text.substr(0, equals) + "' is given twice");
  }
  return values;
}

/// Gives symbolic dimensions of the graph's inputs their values; what followed from the symbols is inferred afresh.
void set_dims(onnx::GraphProto& graph, const DimValues& values) {
  std::map<std::string, bool> used;
  for (auto& input : *graph.mutable_input()) {
    if (!input.type().tensor_type().has_shape()) continue;
    for (auto& dim : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      const auto found = values.find(dim.dim_param());
      if (!dim.has_dim_param() || found == values.end()) continue;
      used[found->first] = true;
      dim.set_dim_value(found->second);
    }
  }
  for (const auto& [name, value] : values)
    if (!used[name]) throw UsageError("--dim: no input of the model has the symbolic dimension '" + name + "'");
  if (values.empty()) return;
  graph.clear_value_info();
  for (auto& output : *graph.mutable_output())
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
}

/// Makes constants of Shape nodes whose input is known by now: inference alone carries them into few operators.
bool fold_shapes(onnx::GraphProto& graph) {
  std::map<std::string, const onnx::TensorShapeProto*> shapes;
  for (const auto* list : {&graph.value_info(), &graph.input()})
    for (const auto& value : *list)
      if (value.type().tensor_type().has_shape()) shapes[value.name()] = &value.type().tensor_type().shape();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
  for (auto& node : *graph.mutable_node()) {
    const auto found = node.input_size() == 1 ? shapes.find(node.input(0)) : shapes.end();
    const bool whole = node.op_type() == "Shape" && node.domain().empty() && found != shapes.end();
    const bool known = whole && std::all_of(found->second->dim().begin(), found->second->dim().end(),
                                            [](const auto& dim) { return dim.has_dim_value(); });
    if (!known) {
      kept.Add()->Swap(&node);
      continue;
    }
    const std::int64_t rank = found->second->dim_size();
    std::int64_t start = 0;
    std::int64_t end = rank;
    for (const auto& attribute : node.attribute()) (attribute.name() == "start" ? start : end) = attribute.i();
    onnx::TensorProto& constant = *graph.add_initializer();
    constant.set_name(node.output(0));
    constant.set_data_type(onnx::TensorProto::INT64);
    for (auto* bound : {&start, &end}) *bound = std::clamp<std::int64_t>(*bound < 0 ? *bound + rank : *bound, 0, rank);
    for (std::int64_t d = start; d < end; ++d)
      constant.add_int64_data(found->second->dim(static_cast<int>(d)).dim_value());
    constant.add_dims(constant.int64_data_size());
  }
  const bool changed = kept.size() != graph.node_size();
  graph.mutable_node()->Swap(&kept);
  return changed;
}

void infer_shapes(onnx::ModelProto& model, const std::filesystem::path& directory) {
  do {
    onnx_side::infer_shapes(model, directory, false);
  } while (fold_shapes(*model.mutable_graph()));
}

class Examiner {
 public:
  Examiner(const onnx::ModelProto& model, const TargetArguments& arguments, const Examine& examine)
      : examine_(examine),
        directory_(std::filesystem::path(arguments.target).parent_path()),
        options_(arguments.options) {
    for (const auto& opset : model.opset_import()) opsets_[domain_name(opset.domain())] = opset.version();
    for (const auto& op : ops()) known_.insert(key(op["domain"], op["name"]));
    add_values(model.graph());
  }

  Json examine(const onnx::GraphProto& graph) {
    Json nodes = Json::array();
    std::map<std::string, int> backends;
    std::map<std::string, int> unknown;
    for (const auto& node : graph.node()) {
      if (!has_schema(node)) ++unknown[key(node.domain(), node.op_type())];
      if (known_.count(key(node.domain(), node.op_type())) == 0) continue;
      Json result = examine(node);
      if (result.contains("decision")) ++backends[result["decision"]["backend"]];
      nodes.push_back(std::move(result));
    }
    int explained_nodes = 0;
    for (const auto& [backend, count] : backends) explained_nodes += count;
    Json summary = {{"nodes", graph.node_size()},
                    {"of_octet", nodes.size()},
                    {"explained", explained_nodes},
                    {"backends", backends},
                    {"without_schema", unknown}};
    return {{"nodes", std::move(nodes)}, {"summary", std::move(summary)}};
  }

 private:
  static std::string key(const std::string& domain, const std::string& name) {
    return domain_name(domain) + "." + name;
  }

  bool has_schema(const onnx::NodeProto& node) const {
    const auto opset = opsets_.find(domain_name(node.domain()));
    const int version = opset == opsets_.end() ? 1 : static_cast<int>(opset->second);
    return onnx::OpSchemaRegistry::Schema(node.op_type(), version, node.domain()) != nullptr;
  }

  void add_values(const onnx::GraphProto& graph) {
    for (const auto& value : graph.value_info()) types_[value.name()] = &value.type();
    for (const auto& value : graph.output()) types_[value.name()] = &value.type();
    for (const auto& tensor : graph.initializer()) constants_[tensor.name()] = &tensor;
    for (const auto& node : graph.node())
      if (auto constant = onnx_side::constant_of(node)) {
        made_.push_back(std::make_unique<onnx::TensorProto>(std::move(*constant)));
        constants_[node.output(0)] = made_.back().get();
      }
    std::set<std::string> symbols;
    for (const auto& value : graph.input()) {
      for (const auto& dim : value.type().tensor_type().shape().dim())
        if (dim.has_dim_param()) symbols.insert(dim.dim_param());
      types_[value.name()] = &value.type();
      constants_.erase(value.name());  // only a default: the caller may give another one
    }
    for (const auto& symbol : symbols) advice_ += (advice_.empty() ? ": give --dim " : " --dim ") + symbol + "=...";
  }

  Json examine(const onnx::NodeProto& proto) {
    Json failed = {
        {"name", proto.name()}, {"op_type", proto.op_type()}, {"domain", domain_name(proto.domain())}, {"error", ""}};
    try {
      NodeSpec spec = spec_of(proto);
      return examine_(spec.node, options_);
    } catch (const std::exception& error) {
      failed["error"] = error.what();
      return failed;
    }
  }

  NodeSpec spec_of(const onnx::NodeProto& proto) const {
    NodeSpec spec;
    Node& node = spec.node;
    node.op_type = proto.op_type();
    node.domain = proto.domain();
    node.name = proto.name();
    const auto opset = opsets_.find(domain_name(proto.domain()));
    if (opset == opsets_.end())
      throw std::runtime_error("the model does not import domain " + domain_name(proto.domain()));
    node.opset_version = opset->second;
    for (const auto& attribute : proto.attribute())
      node.attributes[attribute.name()] = onnx_side::checked_attribute(attribute, "node '" + proto.name() + "'");
    for (const auto& name : proto.input()) node.inputs.push_back(input_info(name, spec));
    for (const auto& name : proto.output()) {
      const auto found = types_.find(name);
      const bool known = !name.empty() && found != types_.end() && found->second->has_tensor_type();
      if (!name.empty() && !known) throw std::runtime_error("the type of output '" + name + "' is not known");
      node.outputs.push_back(
          {known ? static_cast<DataType>(found->second->tensor_type().elem_type()) : DataType::undefined});
    }
    return spec;
  }

  ValueInfo input_info(const std::string& name, NodeSpec& spec) const {
    if (name.empty()) return {};
    if (const auto constant = constants_.find(name); constant != constants_.end()) {
      onnx_side::TensorData tensor = onnx_side::read_tensor(*constant->second, directory_);
      ValueInfo info{static_cast<DataType>(constant->second->data_type()), std::move(tensor.dims), tensor.data.get()};
      spec.constants.push_back(std::move(tensor.data));
      return info;
    }
    const auto found = types_.find(name);
    if (found == types_.end() || !found->second->tensor_type().has_shape())
      throw std::runtime_error("the shape of input '" + name + "' is not known");
    ValueInfo info{static_cast<DataType>(found->second->tensor_type().elem_type()), std::vector<std::int64_t>()};
    for (const auto& dim : found->second->tensor_type().shape().dim()) {
      if (!dim.has_dim_value()) throw std::runtime_error("the extents of input '" + name + "' are not known" + advice_);
      info.dims->push_back(dim.dim_value());
    }
    return info;
  }

  const Examine& examine_;
  std::filesystem::path directory_;
  Options options_;
  std::map<std::string, std::int64_t> opsets_;
  std::set<std::string> known_;
  std::map<std::string, const onnx::TypeProto*> types_;
  std::map<std::string, const onnx::TensorProto*> constants_;
  std::vector<std::unique_ptr<onnx::TensorProto>> made_;  ///< of Constant nodes
  std::string advice_;                                    ///< which dimensions the model's inputs leave open
};

}  // namespace

Json examined_model(const TargetArguments& arguments, const Examine& examine) {
  if (!arguments.inputs.empty() || !arguments.attributes.empty() || !arguments.outputs.empty())
    throw UsageError("--input, --output and --attribute describe one node, not a model");
  onnx::ModelProto model = onnx_side::read_model(arguments.target);
  set_dims(*model.mutable_graph(), parse_dims(arguments.dims));
  const int nodes = model.graph().node_size();
  ModelGroups groups(model);
  infer_shapes(model, std::filesystem::path(arguments.target).parent_path());
  Json result = {{"model", arguments.target}};
  result.update(Examiner(model, arguments, examine).examine(model.graph()));
  result["summary"]["nodes"] = nodes;
  groups.add_to(result, model.graph(), arguments.options);
  return result;
}

}  // namespace octet::cli
