// Octet's inference behind the ONNX library's.
#pragma once

#include <onnx/defs/shape_inference.h>

#include "provider/core/op_def.hpp"

namespace octet::onnx_side {

/// Runs op's inference on the node that `context` stands for. Throws onnx::InferenceError.
void infer(const core::OpDef& op, onnx::InferenceContext& context);

}  // namespace octet::onnx_side
