#include "provider/onnx/inference.hpp"

namespace octet::onnx_side {
namespace {

using core::Dim;
using core::Shape;
using core::TypeAndShape;

/// The node's name out of the only text that the context has of it: "node QGemm[com.microsoft] (fc1)".
std::string node_name(const onnx::InferenceContext& context) {
  const std::string text = context.getDisplayName();
  const std::size_t open = text.find(" (");
  if (open == std::string::npos || text.back() != ')') return {};
  return text.substr(open + 2, text.size() - open - 3);
}

void read_type(const onnx::TypeProto* type, const std::string& label, TypeAndShape& value) {
  if (type == nullptr || type->value_case() == onnx::TypeProto::VALUE_NOT_SET) return;
  if (type->value_case() != onnx::TypeProto::kTensorType)
    throw Error(ErrorCode::invalid_argument, label + " is no tensor");
  value.dtype = static_cast<DataType>(type->tensor_type().elem_type());
  if (type->tensor_type().has_shape()) value.shape = shape_of(type->tensor_type().shape());
}

std::vector<TypeAndShape> read_inputs(const core::OpDef& op, const onnx::InferenceContext& context,
                                      const std::string& label) {
  std::vector<TypeAndShape> inputs;
  for (std::size_t i = 0; i < context.getNumInputs(); ++i) {
    TypeAndShape input{context.hasInput(i)};
    if (input.present) read_type(context.getInputType(i), label + ": " + op.input_label(i), input);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::vector<TypeAndShape> read_outputs(const core::OpDef& op, onnx::InferenceContext& context,
                                       const std::string& label) {
  std::vector<TypeAndShape> outputs;
  for (std::size_t i = 0; i < context.getNumOutputs(); ++i) {
    const core::PortDef* port = i < op.outputs.size() ? &op.outputs[i] : nullptr;
    TypeAndShape output{context.hasOutput(i) || (port && port->option == core::PortOption::required)};
    if (output.present) read_type(context.getOutputType(i), label + ": " + op.output_label(i), output);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

/// Nothing where an attribute is a reference that a function's caller has yet to fill in.
std::optional<Attributes> read_attributes(const core::OpDef& op, const onnx::InferenceContext& context,
                                          const std::string& label) {
  Attributes attributes;
  for (const core::AttributeDef& definition : op.attributes) {
    const onnx::AttributeProto* attribute = context.getAttribute(definition.name);
    if (attribute == nullptr) continue;
    if (!attribute->ref_attr_name().empty()) return std::nullopt;
    attributes.emplace(definition.name, checked_attribute(*attribute, label));
  }
  return attributes;
}

}  // namespace

Shape shape_of(const onnx::TensorShapeProto& shape) {
  Shape result;
  for (const auto& dim : shape.dim()) {
    result.push_back(dim.has_dim_param() ? Dim::symbolic(dim.dim_param()) : Dim());
    if (dim.has_dim_value()) result.back().value = dim.dim_value();
  }
  return result;
}

void write_type(const TypeAndShape& tensor, onnx::TypeProto& type) {
  auto& written = *type.mutable_tensor_type();
  if (tensor.dtype != DataType::undefined) written.set_elem_type(static_cast<std::int32_t>(tensor.dtype));
  if (!tensor.shape) return;
  auto& shape = *written.mutable_shape();
  shape.clear_dim();
  for (const Dim& dim : *tensor.shape) {
    auto& added = *shape.add_dim();
    if (dim.known())
      added.set_dim_value(dim.value);
    else if (!dim.symbol.empty())
      added.set_dim_param(dim.symbol);
  }
}

std::optional<AttributeValue> attribute_value(const onnx::AttributeProto& attribute) {
  switch (attribute.type()) {
    case onnx::AttributeProto::INT:
      return attribute.i();
    case onnx::AttributeProto::FLOAT:
      return attribute.f();
    case onnx::AttributeProto::STRING:
      return attribute.s();
    case onnx::AttributeProto::INTS:
      return std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
    case onnx::AttributeProto::FLOATS:
      return std::vector<float>(attribute.floats().begin(), attribute.floats().end());
    case onnx::AttributeProto::STRINGS:
      return std::vector<std::string>(attribute.strings().begin(), attribute.strings().end());
    default:
      return std::nullopt;
  }
}

AttributeValue checked_attribute(const onnx::AttributeProto& attribute, const std::string& label) {
  if (auto value = attribute_value(attribute)) return std::move(*value);
  throw Error(ErrorCode::invalid_argument,
              label + ": attribute '" + attribute.name() + "' is no number, string or list of them");
}

void infer(const core::OpDef& op, onnx::InferenceContext& context) {
  try {
    const std::string name = node_name(context);
    const std::string label = core::node_label(op, name);
    const auto attributes = read_attributes(op, context, label);
    if (!attributes) return;
    core::InferContext neutral(op, name, *attributes, read_inputs(op, context, label),
                               read_outputs(op, context, label));
    core::check_and_infer(neutral, core::Purpose::graph);
    for (std::size_t i = 0; i < context.getNumOutputs(); ++i)
      if (neutral.has_output(i)) write_type(neutral.output(i), *context.getOutputType(i));
  } catch (const Error& error) {
    throw onnx::InferenceError(error.what());
  }
}

}  // namespace octet::onnx_side
