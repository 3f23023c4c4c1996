// Checks a model that holds a com.microsoft operator with the program's own onnx, and infers what the operator gives.
#include <octet/onnx.hpp>

#include <onnx/checker.h>
#include <onnx/defs/parser.h>
#include <onnx/shape_inference/implementation.h>

#include <cstdio>

int main() {
  onnx::ModelProto model;
  const auto parsed = onnx::OnnxParser::Parse(model, R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    fully_connected (uint8[batch, 3] a, float a_scale, uint8 a_zero_point,
                     int8[3, 2] b, float[2] b_scale, int8 b_zero_point)
        => (float[batch, n] y) {
      product = com.microsoft.QGemm <alpha = 0.5> (a, a_scale, a_zero_point, b, b_scale, b_zero_point)
      y = Relu (product)
    })");
  if (!parsed.IsOK()) {
    std::fprintf(stderr, "%s\n", parsed.ErrorMessage().c_str());
    return 1;
  }

  octet::register_schemas();
  onnx::checker::check_model(model, true);
  onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), onnx::ShapeInferenceOptions(true, 1));

  for (const auto& value : model.graph().value_info()) {
    const auto& shape = value.type().tensor_type().shape();
    std::printf("%s: [%s,%d]\n", value.name().c_str(), shape.dim(0).dim_param().c_str(),
                static_cast<int>(shape.dim(1).dim_value()));
  }
}
