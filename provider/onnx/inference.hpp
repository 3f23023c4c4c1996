// Octet's inference behind the ONNX library's.
#pragma once

#include <onnx/defs/shape_inference.h>

#include "provider/core/op_def.hpp"

namespace octet::onnx_side {

/// Throws Error where the attribute is none of the kinds that Octet's operators have. `label` names the node.
AttributeValue attribute_value(const onnx::AttributeProto& attribute, const std::string& label);

/// Runs op's inference on the node that `context` stands for. Throws onnx::InferenceError.
void infer(const core::OpDef& op, onnx::InferenceContext& context);

}  // namespace octet::onnx_side
