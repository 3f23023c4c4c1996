// GraphBuilder: values, inputs, constants and outputs.
#include <algorithm>
#include <atomic>
#include <limits>

#include <onnx/defs/schema.h>

#include "provider/onnx/graph_state.hpp"

namespace octet {
namespace onnx_side {
namespace {

/// Handles keep 32 bits for the graph: nobody makes so many, and 0 would stand for no graph.
std::uint64_t next_graph_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

std::string Names::unused(const std::string& base) {
  if (!taken(base)) return base;
  std::size_t& number = next_[base];
  std::string name;
  do {
    name = base + "_" + std::to_string(++number);
  } while (taken(name));
  return name;
}

GraphState::GraphState() : id_(next_graph_id()) {}

std::int64_t GraphState::opset(const std::string& domain) const {
  for (const auto& import : model.opset_import())
    if (canonical_domain(import.domain()) == domain) return import.version();
  return 0;
}

void GraphState::import(const std::string& domain, std::int64_t version) {
  auto& import = *model.add_opset_import();
  import.set_domain(domain);
  import.set_version(version);
}

std::size_t GraphState::index_of(GraphValue value, const std::string& what) const {
  if (!value.present()) fail(what + " is absent");
  if (value.number() >> 32 != id_) fail(what + " is a value of another graph");
  const std::size_t index = (value.number() & 0xffffffffU) - 1;
  if (index >= values.size()) fail(what + " is no value of this graph");
  return index;
}

std::string GraphState::new_value_name(const std::string& given, const std::string& base, const std::string& what) {
  if (given.empty()) return value_names.unused(base);
  if (value_names.taken(given)) fail(what + ": the graph has a value '" + given + "' already");
  return given;
}

std::size_t GraphState::add_value(BuiltValue value) {
  if (values.size() >= std::numeric_limits<std::uint32_t>::max()) fail("the graph has too many values");
  value.type.present = true;
  value_names.take(value.name);
  value_of_name[value.name] = values.size();
  values.push_back(std::move(value));
  return values.size() - 1;
}

void GraphState::rename(std::size_t index, const std::string& name) {
  value_names.take(name);
  value_names.give_back(values[index].name);
  value_of_name.erase(values[index].name);
  value_of_name[name] = index;
  values[index].name = name;
}

}  // namespace onnx_side

using onnx_side::BuiltNode;
using onnx_side::BuiltValue;
using onnx_side::fail;
using onnx_side::GraphState;
using onnx_side::Source;

namespace {

core::Shape shape_of(const std::vector<GraphDim>& dims, const std::string& what) {
  core::Shape shape;
  for (const GraphDim& dim : dims) {
    if (dim.value < -1) fail(what + " has the negative extent " + std::to_string(dim.value));
    if (dim.value >= 0 && !dim.symbol.empty()) fail(what + ": an extent is either a number or a symbol, not both");
    shape.push_back(dim.symbol.empty() ? core::Dim() : core::Dim::symbolic(dim.symbol));
    shape.back().value = dim.value;
  }
  return shape;
}

/// A type that a tensor of the graph can have.
void check_type(DataType dtype, const std::string& what) {
  if (core::bit_width(dtype) == 0)
    fail(what + ": type " + std::to_string(static_cast<int>(dtype)) + " (" + data_type_name(dtype) +
         ") is no type of tensors that the builder knows");
}

/// An opset of ai.onnx that this onnx library has: others could be neither checked nor inferred.
std::int64_t checked_opset(std::int64_t version) {
  const auto [first, last] = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("");
  if (version < first || version > last)
    fail("opset " + std::to_string(version) + " of ai.onnx is not known, expected " + std::to_string(first) + " to " +
         std::to_string(last));
  return version;
}

}  // namespace

GraphBuilder::GraphBuilder(std::unique_ptr<GraphState> state) : state_(std::move(state)) {}
GraphBuilder::~GraphBuilder() = default;
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;

GraphBuilder::GraphBuilder(std::int64_t opset_version) : state_(std::make_unique<GraphState>()) {
  state_->import("", checked_opset(opset_version));
  state_->model.set_producer_name("octet");
  state_->model.mutable_graph()->set_name("graph");
}

GraphValue GraphBuilder::add_input(const std::string& name, DataType dtype, const std::vector<GraphDim>& dims) {
  const std::string what = "input '" + name + "'";
  check_type(dtype, what);
  BuiltValue value;
  value.type.dtype = dtype;
  value.type.shape = shape_of(dims, what);
  value.source = Source::input;
  value.name = state_->new_value_name(name, "input", what);
  state_->inputs.push_back(state_->add_value(std::move(value)));
  return state_->handle(state_->inputs.back());
}

GraphValue GraphBuilder::add_constant(const TensorView& tensor, const std::string& name) {
  const std::string what = "constant '" + name + "'";
  check_type(tensor.dtype, what);
  const std::size_t size = core::checked_bytes(what, tensor);
  if (tensor.data == nullptr && size > 0) fail(what + " has no data");
  BuiltValue value;
  value.type.dtype = tensor.dtype;
  value.type.shape = core::Shape(tensor.dims, tensor.dims + tensor.rank);
  value.source = Source::constant;
  value.name = state_->new_value_name(name, "constant", what);

  onnx::TensorProto proto;
  proto.set_name(value.name);
  proto.set_data_type(static_cast<std::int32_t>(tensor.dtype));
  for (std::int32_t d = 0; d < tensor.rank; ++d) proto.add_dims(tensor.dims[d]);
  proto.set_raw_data(tensor.data, size);
  state_->constants.Add(std::move(proto));
  return state_->handle(state_->add_value(std::move(value)));
}

std::vector<GraphValue> GraphBuilder::add_constants(const QuantizedLstmTensor& weight, const std::string& name) {
  if (name.empty()) fail("the weight's constants need a name");
  const std::string names[] = {name, name + "_scale", name + "_zero_point"};
  const TensorView tensors[] = {{weight.values.data(), weight.type, weight.dims},
                                {weight.scale.data(), DataType::float32, weight.parameter_dims},
                                {weight.zero_point.data(), weight.type, weight.parameter_dims}};
  const std::size_t sizes[] = {weight.values.size(), weight.scale.size() * sizeof(float), weight.zero_point.size()};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string what = "constant '" + names[i] + "'";
    state_->new_value_name(names[i], names[i], what);
    if (core::checked_bytes(what, tensors[i]) != sizes[i])
      fail(what + ": the weight has extents that do not fit its elements");
  }
  std::vector<GraphValue> values;
  for (std::size_t i = 0; i < 3; ++i) values.push_back(add_constant(tensors[i], names[i]));
  return values;
}

void GraphBuilder::add_output(GraphValue value, const std::string& name) {
  GraphState& state = *state_;
  const std::string what = "output '" + name + "'";
  const std::size_t index = state.index_of(value, what);
  const BuiltValue& made = state.values[index];
  if (made.type.dtype == DataType::undefined || !made.type.shape)
    fail(what + ": the type or rank of value '" + made.name + "' is not known, which ONNX's checker demands");
  const bool keeps_name = name.empty() || name == made.name;
  if (keeps_name && made.is_output) fail(what + ": value '" + made.name + "' is an output already");
  if (!keeps_name && state.value_names.taken(name)) fail(what + ": the graph has a value '" + name + "' already");
  const bool of_node = made.source == Source::node || made.source == Source::loaded_node;
  if (!made.is_output && of_node && (keeps_name || made.source == Source::node)) {
    if (!keeps_name) state.rename(index, name);
    state.values[index].is_output = true;
    state.outputs.push_back(index);
    return;
  }
  if (!of_node && name == made.name) fail(what + ": the graph has a value '" + name + "' already");
  BuiltNode identity{"Identity", "", state.node_names.unused("Identity"), {index}, {}, {false}};
  BuiltValue copy{state.new_value_name(name, made.name + "_output", what), Source::node, made.type, true};
  state.node_names.take(identity.name);
  identity.outputs.push_back(state.add_value(std::move(copy)));
  state.outputs.push_back(identity.outputs[0]);
  state.nodes.push_back(std::move(identity));
}

void GraphBuilder::remove_output(GraphValue value) {
  const std::size_t index = state_->index_of(value, "the value");
  BuiltValue& made = state_->values[index];
  if (!made.is_output) fail("value '" + made.name + "' is no output");
  made.is_output = false;
  auto& outputs = state_->outputs;
  outputs.erase(std::find(outputs.begin(), outputs.end(), index));
}

GraphValue GraphBuilder::value(const std::string& name) const {
  const auto found = state_->value_of_name.find(name);
  if (found == state_->value_of_name.end()) fail("the graph has no value '" + name + "'");
  return state_->handle(found->second);
}

GraphValueInfo GraphBuilder::info(GraphValue value) const {
  const BuiltValue& made = state_->values[state_->index_of(value, "the value")];
  GraphValueInfo info{made.name, made.type.dtype};
  if (!made.type.shape) return info;
  info.dims.emplace();
  for (const core::Dim& dim : *made.type.shape) {
    info.dims->emplace_back(dim.value);
    if (!dim.known()) info.dims->back().symbol = dim.symbol;
  }
  return info;
}

std::vector<GraphValue> GraphBuilder::inputs() const {
  std::vector<GraphValue> result;
  for (const std::size_t index : state_->inputs) result.push_back(state_->handle(index));
  return result;
}

std::vector<GraphValue> GraphBuilder::outputs() const {
  std::vector<GraphValue> result;
  for (const std::size_t index : state_->outputs) result.push_back(state_->handle(index));
  return result;
}

}  // namespace octet
