// Octet's operators for programs that use the ONNX C++ library: once registered, onnx::checker and
// onnx::shape_inference accept and infer models that hold them.
//
//   octet::register_schemas();
//   onnx::checker::check_model(model);
//   onnx::shape_inference::InferShapes(model);
//
// This is the header of the static target Octet::onnx, which links to the program's own onnx: there is one schema
// registry in the process, the program's. (A second onnx inside a shared library would abort the process at load, where
// both use one libprotobuf.)
#pragma once

#include <octet/octet.hpp>

namespace octet {

/// Registers the com.microsoft operators of Octet's table (`octet ops`) with onnx::OpSchemaRegistry, in version 1 of
/// the domain, and the domain itself. A schema that is registered already, by whomever, stays as it is, so that calling
/// this more than once is harmless. ONNX's own operators are registered by ONNX.
///
/// Inference checks what an operator's definition demands of types, ranks, extents and attributes, and reports a fault
/// as onnx::InferenceError with Octet's text: "QGemm 'fc1': input 'b_zero_point' has 3 elements, expected 1 or N=32".
/// onnx::shape_inference shows such errors in strict mode only. What is not known is left open, never an error.
/// docs/schema-differences.md lists where inference differs from onnxruntime's.
///
/// Must not run at the same time as other uses of onnx::OpSchemaRegistry, which has no lock.
void register_schemas();

}  // namespace octet
