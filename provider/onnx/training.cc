// A layer in training out of a model's node.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <map>

#include <octet/graph_builder.hpp>
#include <octet/training.hpp>

#include "provider/core/registry.hpp"
#include "provider/onnx/graph_state.hpp"
#include "provider/onnx/inference.hpp"
#include "provider/onnx/tensor_data.hpp"
#include "provider/ops/lstm.hpp"
#include "provider/ops/lstm_weights.hpp"
#include "provider/ops/ops.hpp"

namespace octet::training {
namespace {

using onnx_side::fail;

using Port = core::LstmPorts;
using Input = Port::Input;

constexpr Input kConstant[] = {Port::w,       Port::r,           Port::b, Port::p, Port::w_scale, Port::w_zero_point,
                               Port::r_scale, Port::r_zero_point};

/// The constant inputs of one node, which fits its definition.
class NodeReader {
 public:
  NodeReader(const onnx::GraphProto& graph, const std::filesystem::path& directory, const std::string& name)
      : graph_(graph),
        directory_(directory),
        op_(*core::find_op(core::kMicrosoftDomain, "DynamicQuantizeLSTM", 1)),
        label_(core::node_label(op_, name)),
        node_(find(name)) {
    for (const onnx::AttributeProto& attribute : node_.attribute())
      attributes_[attribute.name()] = onnx_side::checked_attribute(attribute, label_);
    for (const onnx::NodeProto& node : graph_.node())
      if (node.output_size() == 1 &&
          std::find(node_.input().begin(), node_.input().end(), node.output(0)) != node_.input().end())
        if (auto constant = onnx_side::constant_of(node)) constants_[node.output(0)] = std::move(*constant);
    check();
  }

  const onnx::NodeProto& node() const noexcept { return node_; }
  const std::string& label() const noexcept { return label_; }
  const Attributes& attributes() const noexcept { return attributes_; }
  [[noreturn]] void fail_input(Input input, const std::string& text) const { fail(input_label(input) + " " + text); }

  bool has(Input input) const noexcept {
    return input < static_cast<std::size_t>(node_.input_size()) && !name_of(input).empty();
  }
  const onnx::TensorProto& tensor(Input input) const {
    if (!has(input)) fail_input(input, "is missing");
    const std::string& value = name_of(input);
    for (const onnx::TensorProto& initializer : graph_.initializer())
      if (initializer.name() == value) return initializer;
    if (const auto constant = constants_.find(value); constant != constants_.end()) return constant->second;
    fail_input(input, "is '" + value + "', which is not constant");
  }

  std::vector<std::int64_t> dims(Input input) const {
    const auto& dims = tensor(input).dims();
    return {dims.begin(), dims.end()};
  }
  /// The elements, of which each is a T.
  template <class T>
  std::vector<T> elements(Input input) const {
    const onnx::TensorProto& tensor = this->tensor(input);
    try {
      const onnx_side::TensorData read = onnx_side::read_tensor(tensor, directory_);
      const T* first = reinterpret_cast<const T*>(read.data.get());
      const std::size_t count = static_cast<std::size_t>(onnx_side::byte_count(tensor)) / sizeof(T);
      return {first, first + count};
    } catch (const Error& error) {
      fail(input_label(input) + ": " + error.what());
    }
  }
  std::vector<float> floats(Input input) const { return elements<float>(input); }
  std::vector<std::uint8_t> bytes(Input input) const { return elements<std::uint8_t>(input); }

 private:
  const std::string& name_of(Input input) const { return node_.input(static_cast<int>(input)); }
  std::string input_label(Input input) const { return label_ + ": " + op_.input_label(input); }

  /// The definition's own rules for attributes, types and extents; everything below relies on them.
  void check() const {
    std::vector<core::TypeAndShape> inputs(static_cast<std::size_t>(node_.input_size()));
    for (int i = 0; i < node_.input_size(); ++i) inputs[static_cast<std::size_t>(i)].present = !node_.input(i).empty();
    for (const Input input : kConstant) {
      if (!has(input)) continue;
      const onnx::TensorProto& constant = tensor(input);
      inputs[input].dtype = static_cast<DataType>(constant.data_type());
      inputs[input].shape = core::Shape(constant.dims().begin(), constant.dims().end());
    }
    std::vector<core::TypeAndShape> outputs;
    for (const std::string& output : node_.output()) outputs.push_back({!output.empty()});
    core::InferContext context(op_, node_.name(), attributes_, std::move(inputs), std::move(outputs));
    core::check_and_infer(context);
  }

  const onnx::NodeProto& find(const std::string& name) const {
    const onnx::NodeProto* found = nullptr;
    for (const onnx::NodeProto& node : graph_.node())
      if (node.name() == name) {
        if (found != nullptr) fail("two nodes are named '" + name + "'");
        found = &node;
      }
    if (found == nullptr) fail("the graph has no node '" + name + "'");
    if (found->op_type() != "DynamicQuantizeLSTM" || found->domain() != "com.microsoft")
      fail("node '" + name + "' is " + (found->domain().empty() ? "ai.onnx" : found->domain()) + "." +
           found->op_type() + ", expected com.microsoft.DynamicQuantizeLSTM");
    return *found;
  }

  const onnx::GraphProto& graph_;
  const std::filesystem::path& directory_;
  const core::OpDef& op_;
  std::string label_;
  const onnx::NodeProto& node_;
  Attributes attributes_;
  std::map<std::string, onnx::TensorProto> constants_;  ///< of Constant nodes
};

/// W or R with its quantizer, both with as many scales as `per_channel` says.
struct Weights {
  std::vector<float> values, scale;
  std::vector<std::uint8_t> zero_point;
};

bool is_per_channel(const NodeReader& reader, Input scale, Input zero_point) {
  return reader.dims(scale).size() == 2 || reader.dims(zero_point).size() == 2;
}

/// One element for each direction, or already one for each of its columns, to `count` elements.
template <class T>
std::vector<T> spread(const std::vector<T>& given, std::size_t columns, std::size_t count) {
  std::vector<T> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(given.size() == count ? given[i] : given[i / columns]);
  return result;
}

Weights read_weights(const NodeReader& reader, Input input, Input scale, Input zero_point, DataType type,
                     bool per_channel) {
  const std::vector<std::int64_t> dims = reader.dims(input);
  const std::vector<std::uint8_t> bytes = reader.bytes(input);
  const auto directions = static_cast<std::size_t>(dims[0]), columns = static_cast<std::size_t>(dims[2]);
  const std::size_t count = per_channel ? directions * columns : directions;
  Weights weights;
  weights.scale = spread(reader.floats(scale), columns, count);
  weights.zero_point = spread(reader.bytes(zero_point), columns, count);
  const std::size_t of_direction = static_cast<std::size_t>(dims[1]) * columns;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t at = per_channel ? i / of_direction * columns + i % columns : i / of_direction;
    weights.values.push_back(
        static_cast<float>(core::integer_of(type, bytes[i]) - core::integer_of(type, weights.zero_point[at])) *
        weights.scale[at]);
  }
  return weights;
}

bool is_symmetric(DataType type, const Weights& weights) {
  const std::uint8_t zero = type == DataType::int8 ? 0 : 128;
  return std::all_of(weights.zero_point.begin(), weights.zero_point.end(),
                     [=](std::uint8_t value) { return value == zero; });
}

void read_metadata(const NodeReader& reader, LstmDefinition& definition) {
  for (const auto& entry : reader.node().metadata_props()) {
    const std::string& text = entry.value();
    if (entry.key() == kTrainingKey) {
      if (text != "0" && text != "1")
        fail(reader.label() + ": metadata '" + kTrainingKey + "' is '" + text + "', expected 0 or 1");
      definition.training = text == "1";
    } else if (entry.key() == kLdaCoeffKey) {
      const char* end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data(), end, definition.lda_coeff);
      if (error != std::errc() || stop != end)
        fail(reader.label() + ": metadata '" + kLdaCoeffKey + "' is '" + text + "', expected a decimal number");
    }
  }
}

Lstm layer_of(const onnx::ModelProto& model, const std::filesystem::path& directory, const std::string& node) {
  const NodeReader reader(model.graph(), directory, node);
  LstmDefinition definition;
  definition.name = node;
  definition.attributes = reader.attributes();
  const auto type = static_cast<DataType>(reader.tensor(Port::w).data_type());
  const bool per_channel = is_per_channel(reader, Port::w_scale, Port::w_zero_point) ||
                           is_per_channel(reader, Port::r_scale, Port::r_zero_point);
  Weights w = read_weights(reader, Port::w, Port::w_scale, Port::w_zero_point, type, per_channel);
  Weights r = read_weights(reader, Port::r, Port::r_scale, Port::r_zero_point, type, per_channel);
  definition.input_size = reader.dims(Port::w)[1];
  definition.hidden_size = reader.dims(Port::r)[1];
  definition.quantization = {type, is_symmetric(type, w) && is_symmetric(type, r), per_channel};
  definition.w = std::move(w.values);
  definition.w_scale = std::move(w.scale);
  definition.w_zero_point = std::move(w.zero_point);
  definition.r = std::move(r.values);
  definition.r_scale = std::move(r.scale);
  definition.r_zero_point = std::move(r.zero_point);
  if (reader.has(Port::b)) definition.b = reader.floats(Port::b);
  if (reader.has(Port::p)) definition.p = reader.floats(Port::p);
  read_metadata(reader, definition);
  return Lstm(std::move(definition));
}

}  // namespace

Lstm from_model(const void* model, std::size_t size, const std::string& node, const std::string& directory) {
  return layer_of(onnx_side::parse_model(model, size), directory, node);
}

Lstm from_file(const std::string& path, const std::string& node) {
  return layer_of(onnx_side::read_model(path), std::filesystem::path(path).parent_path(), node);
}

}  // namespace octet::training
