// GraphBuilder: writing the model.
#include <algorithm>
#include <array>
#include <limits>

#include "provider/onnx/graph_state.hpp"
#include "provider/onnx/inference.hpp"

namespace octet {
namespace onnx_side {
namespace {

/// The IR version of the release that brought each opset of ai.onnx, from opset 8 on; those before have 3.
constexpr std::array<std::int64_t, 21> kIrVersionOfOpset{3, 4, 5,  6,  7,  7,  7,  8,  8,  8, 8,
                                                         9, 9, 10, 10, 11, 12, 13, 13, 13, 14};
constexpr std::int64_t kFirstOpset = 8;

std::int64_t ir_version_of_opset(std::int64_t opset) {
  if (opset < kFirstOpset) return 3;
  const auto index = static_cast<std::size_t>(opset - kFirstOpset);
  return index < kIrVersionOfOpset.size() ? kIrVersionOfOpset[index]
                                          : static_cast<std::int64_t>(onnx::Version::IR_VERSION);
}

std::int64_t ir_version_of_type(DataType type) {
  switch (type) {
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
      return 9;
    case DataType::uint4:
    case DataType::int4:
      return 10;
    case DataType::float4e2m1:
      return 11;
    case DataType::float8e8m0:
      return 12;
    case DataType::uint2:
    case DataType::int2:
      return 13;
    case DataType::float6e2m3:
    case DataType::float6e3m2:
      return 14;
    default:
      return 3;
  }
}

/// Sets type and value of an attribute.
struct AttributeSetter {
  onnx::AttributeProto& to;

  void operator()(std::int64_t number) const {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(number);
  }
  void operator()(float number) const {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(number);
  }
  void operator()(const std::string& text) const {
    to.set_type(onnx::AttributeProto::STRING);
    to.set_s(text);
  }
  void operator()(const std::vector<std::int64_t>& numbers) const {
    to.set_type(onnx::AttributeProto::INTS);
    to.mutable_ints()->Add(numbers.begin(), numbers.end());
  }
  void operator()(const std::vector<float>& numbers) const {
    to.set_type(onnx::AttributeProto::FLOATS);
    to.mutable_floats()->Add(numbers.begin(), numbers.end());
  }
  void operator()(const std::vector<std::string>& texts) const {
    to.set_type(onnx::AttributeProto::STRINGS);
    to.mutable_strings()->Add(texts.begin(), texts.end());
  }
};

/// Optional outputs that nothing uses are left out, but for the first of a node without any other.
onnx::NodeProto node_proto(const BuiltNode& node, const std::vector<BuiltValue>& values,
                           const std::vector<bool>& used) {
  onnx::NodeProto proto;
  proto.set_name(node.name);
  proto.set_op_type(node.op_type);
  proto.set_domain(node.domain);
  for (const std::size_t input : node.inputs) proto.add_input(input == kNone ? "" : values[input].name);
  std::size_t count = 0;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.optional[i] || used[node.outputs[i]]) count = i + 1;
  for (std::size_t i = 0; i < std::max<std::size_t>(count, 1); ++i) {
    const bool written = !node.optional[i] || used[node.outputs[i]] || count == 0;
    proto.add_output(written ? values[node.outputs[i]].name : "");
  }
  for (const auto& [name, value] : node.attributes) {
    onnx::AttributeProto& attribute = *proto.add_attribute();
    attribute.set_name(name);
    std::visit(AttributeSetter{attribute}, value);
  }
  for (const auto& [key, value] : node.metadata) {
    auto& entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  return proto;
}

}  // namespace

std::int64_t lowest_ir_version(const onnx::ModelProto& model, const std::vector<BuiltValue>& values) {
  std::int64_t version = model.ir_version();
  for (const auto& import : model.opset_import())
    if (canonical_domain(import.domain()).empty()) version = std::max(version, ir_version_of_opset(import.version()));
  for (const BuiltValue& value : values) {
    version = std::max(version, ir_version_of_type(value.type.dtype));
    if (value.source == Source::constant) version = std::max<std::int64_t>(version, 4);  // no input of its name
  }
  for (const auto& node : model.graph().node())
    if (node.metadata_props_size() > 0) version = std::max<std::int64_t>(version, 10);
  return version;
}

onnx::ValueInfoProto value_info(const BuiltValue& value) {
  onnx::ValueInfoProto info;
  info.set_name(value.name);
  write_type(value.type, *info.mutable_type());
  return info;
}

void for_each_inner_tensor(onnx::GraphProto& graph, const std::function<void(onnx::TensorProto&)>& function) {
  const auto enter = [&](onnx::GraphProto& subgraph) {
    for (auto& tensor : *subgraph.mutable_initializer()) function(tensor);
    for_each_inner_tensor(subgraph, function);
  };
  for (auto& node : *graph.mutable_node())
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) function(*attribute.mutable_t());
      for (auto& tensor : *attribute.mutable_tensors()) function(tensor);
      if (attribute.has_g()) enter(*attribute.mutable_g());
      for (auto& subgraph : *attribute.mutable_graphs()) enter(subgraph);
    }
}

onnx::ModelProto GraphState::without_constants() const {
  onnx::ModelProto result = model;
  onnx::GraphProto& graph = *result.mutable_graph();
  const auto loaded_inputs = static_cast<std::size_t>(graph.input_size());
  for (std::size_t i = loaded_inputs; i < inputs.size(); ++i) *graph.add_input() = value_info(values[inputs[i]]);

  std::vector<bool> used(values.size());
  for (const std::size_t output : outputs) used[output] = true;
  for (const BuiltNode& node : nodes)
    for (const std::size_t input : node.inputs)
      if (input != kNone) used[input] = true;
  for (const BuiltNode& node : nodes) *graph.add_node() = node_proto(node, values, used);

  std::unordered_map<std::string, const onnx::ValueInfoProto*> declared;
  for (const auto& output : model.graph().output()) declared[output.name()] = &output;
  graph.clear_output();
  for (const std::size_t output : outputs) {
    const auto found = declared.find(values[output].name);
    *graph.add_output() = found == declared.end() ? value_info(values[output]) : *found->second;
  }
  result.set_ir_version(lowest_ir_version(result, values));
  return result;
}

}  // namespace onnx_side

using onnx_side::fail;

void GraphBuilder::check() const {
  onnx::ModelProto model = state_->without_constants();
  *model.mutable_graph()->mutable_initializer() = state_->constants;
  onnx_side::check_model(model, state_->directory);
  onnx_side::infer_shapes(model, state_->directory, true);
}

std::string GraphBuilder::serialize() const {
  onnx::ModelProto model = state_->without_constants();
  std::size_t size = model.ByteSizeLong();
  for (const auto& tensor : state_->constants) size += tensor.ByteSizeLong() + 16;
  if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    fail("the model takes " + std::to_string(size) + " bytes, more than the 2147483647 of a serialized ModelProto: " +
         "save() writes its constants to a file of their own");
  *model.mutable_graph()->mutable_initializer() = state_->constants;
  return model.SerializeAsString();
}

}  // namespace octet
