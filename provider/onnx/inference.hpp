// Octet's inference behind the ONNX library's.
#pragma once

#include <onnx/defs/shape_inference.h>

#include <optional>
#include <string>

#include "provider/core/infer.hpp"
#include "provider/core/op_def.hpp"

namespace octet::onnx_side {

/// Nothing where the attribute is none of the kinds that Octet's operators have.
std::optional<AttributeValue> attribute_value(const onnx::AttributeProto& attribute);
/// Throws Error there. `label` names the node.
AttributeValue checked_attribute(const onnx::AttributeProto& attribute, const std::string& label);

/// The extents as the ONNX library has them; a negative number is an unknown one.
core::Shape shape_of(const onnx::TensorShapeProto& shape);

/// Writes what is known of a tensor's type and shape.
void write_type(const core::TypeAndShape& tensor, onnx::TypeProto& type);

/// Runs op's inference on the node that `context` stands for. Throws onnx::InferenceError.
void infer(const core::OpDef& op, onnx::InferenceContext& context);

}  // namespace octet::onnx_side
