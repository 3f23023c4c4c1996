// register_schemas() in a program that has an onnx library of its own.
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <octet/onnx.hpp>

#include "provider/core/registry.hpp"

namespace octet {
namespace {

onnx::ModelProto model(const std::string& graph) {
  onnx::ModelProto proto;
  const std::string text = R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1, "local" : 1]> )" + graph;
  onnx::OnnxParser parser(text);
  const auto status = parser.Parse(proto);
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return proto;
}

onnx::ModelProto inferred(onnx::ModelProto proto) {
  onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(), onnx::ShapeInferenceOptions(true, 1));
  return proto;
}

template <class Exception, class Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const Exception& error) {
    return error.what();
  }
  return "no error";
}

std::string dims(const onnx::ValueInfoProto& value) {
  std::string text;
  for (const auto& dim : value.type().tensor_type().shape().dim())
    text += (dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param()) + ",";
  return text;
}

class Schemas : public testing::Test {
 protected:
  static void SetUpTestSuite() { register_schemas(); }
};

const char* const kTwoLayers =
    R"(g (uint8[N,4] x, float s, uint8 zu, int8[4,5] w, float[5] ws, int8[5] wz) => (float[N,5] z)
{
  [quantized] y = com.microsoft.QLinearSigmoid (x, s, zu, s, zu)
  [product] z = com.microsoft.QGemm (y, s, zu, w, ws, wz)
})";

TEST_F(Schemas, NegativeExtentsAreErrors) {
  for (const int input : {0, 3, 4}) {
    onnx::ModelProto proto = model(kTwoLayers);
    auto& shape = *proto.mutable_graph()->mutable_input(input)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.mutable_dim(0)->set_dim_value(-2);
    const std::string error = error_of<onnx::InferenceError>([&] { inferred(proto); });
    EXPECT_NE(error.find("has the negative extent -2"), std::string::npos) << input << ": " << error;
    shape.mutable_dim(0)->set_dim_value(-1);  // means: not known
    EXPECT_EQ(error_of<onnx::InferenceError>([&] { inferred(proto); }), "no error") << input;
  }
}

TEST_F(Schemas, CheckerAndInferenceKnowTheOperators) {
  const onnx::ModelProto proto = model(kTwoLayers);
  onnx::checker::check_model(proto, true, false, true);
  const onnx::ModelProto result = inferred(proto);
  ASSERT_EQ(result.graph().value_info_size(), 1);
  EXPECT_EQ(result.graph().value_info(0).name(), "y");
  EXPECT_EQ(dims(result.graph().value_info(0)), "N,4,");
  EXPECT_EQ(result.graph().value_info(0).type().tensor_type().elem_type(), onnx::TensorProto::UINT8);
}

TEST_F(Schemas, AbsentInputsAndOutputs) {
  const onnx::ModelProto result =
      inferred(model(R"(g (float[T,B,3] x, int8[1,3,8] w, int8[1,2,8] r, float[1] s, int8[1] z)
      => (float[p,q,r] h) {
    y, h = com.microsoft.DynamicQuantizeLSTM <hidden_size = 2> (x, w, r, "", "", "", "", "", s, z, s, z)
  })"));
  EXPECT_EQ(dims(result.graph().output(0)), "1,q,2,");
  ASSERT_EQ(result.graph().value_info_size(), 1);
  EXPECT_EQ(dims(result.graph().value_info(0)), "T,1,B,2,");
}

TEST_F(Schemas, InferenceRefusesWithTheNodesName) {
  std::string text = kTwoLayers;
  text.replace(text.find("int8[5] wz"), 10, "int8[3] wz");
  const std::string error = error_of<onnx::InferenceError>([&] { inferred(model(text)); });
  EXPECT_NE(error.find("QGemm 'product': input 'b_zero_point' has 3 elements, expected 1 or N=5"), std::string::npos)
      << error;
}

TEST_F(Schemas, CheckerRefusesAttributesAndCounts) {
  const auto check = [](const char* node) {
    const std::string graph =
        std::string("g (uint8[2,4] x, float s, uint8 z) => (uint8[2,4] y) { y = com.microsoft.") + node + " }";
    return error_of<onnx::checker::ValidationError>([&] { onnx::checker::check_model(model(graph)); });
  };
  EXPECT_EQ(check("QLinearLeakyRelu <alpha = 0.5> (x, s, z, s, z)"), "no error");
  EXPECT_NE(check("QLinearLeakyRelu <beta = 0.5> (x, s, z, s, z)").find("beta"), std::string::npos);
  EXPECT_NE(check("QLinearLeakyRelu <alpha = 5> (x, s, z, s, z)").find("alpha"), std::string::npos);
  EXPECT_NE(check("QLinearLeakyRelu (x, s, z)").find("input size 3"), std::string::npos)
      << check("QLinearLeakyRelu (x, s, z)");
  EXPECT_NE(check("QLinearConcat (s, z, x, s, z)").find("axis"), std::string::npos);
  EXPECT_EQ(check("QLinearConcat <axis = 0> (s, z, x, s, z)"), "no error");
}

TEST_F(Schemas, AttributesOfAFunctionsCaller) {
  const onnx::ModelProto result = inferred(model(R"(g (int8[2,N,4] x) => (int32[a,b] y) {
    y = local.Sum <axis : ints = [1]> (x)
  }
  <domain: "local", opset_import: ["" : 21, "com.microsoft" : 1]>
  Sum <axis> (x) => (y) { y = com.microsoft.ReduceSumInteger <axes : ints = @axis, keepdims : int = 0> (x) })"));
  EXPECT_EQ(dims(result.graph().output(0)), "2,4,");
}

TEST_F(Schemas, EveryMicrosoftOperatorIsRegisteredOnce) {
  register_schemas();
  std::size_t count = 0;
  for (const core::OpDef& op : core::op_defs()) {
    const auto* schema = onnx::OpSchemaRegistry::Schema(op.name, op.since_version, op.domain);
    ASSERT_NE(schema, nullptr) << core::qualified_name(op);
    if (op.domain.empty()) {
      EXPECT_EQ(std::string(schema->file()).find("provider/onnx"), std::string::npos) << op.name << " is ONNX's own";
      continue;
    }
    ++count;
    EXPECT_TRUE(schema->has_type_and_shape_inference_function()) << op.name;
    EXPECT_EQ(schema->inputs().size(), op.inputs.size());
    EXPECT_EQ(std::string(schema->doc()), op.doc);
  }
  EXPECT_EQ(count, 14U);
}

TEST_F(Schemas, AProgramsOwnSchemaStays) {
  onnx::DeregisterSchema("MulInteger", 1, "com.microsoft");
  onnx::OpSchema own("MulInteger", "mine.cc", 1);
  own.SetDomain("com.microsoft")
      .SinceVersion(1)
      .SetDoc("mine")
      .Input(0, "x", "", "T")
      .Output(0, "y", "", "T")
      .TypeConstraint("T", {"tensor(uint8)"}, "");
  onnx::RegisterSchema(own);
  register_schemas();
  EXPECT_STREQ(onnx::OpSchemaRegistry::Schema("MulInteger", 1, "com.microsoft")->doc(), "mine");
  onnx::DeregisterSchema("MulInteger", 1, "com.microsoft");
  register_schemas();
  EXPECT_EQ(onnx::OpSchemaRegistry::Schema("MulInteger", 1, "com.microsoft")->inputs().size(), 4U);
}

}  // namespace
}  // namespace octet
