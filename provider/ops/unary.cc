// Elementwise functions of one 8-bit tensor: a table of 256 entries.
#include "provider/core/infer.hpp"
#include "provider/ops/ops.hpp"

namespace octet::core {
namespace {

using PO = PortOption;

void infer_unary(InferContext& context) {
  for (const std::size_t i : {1, 2, 3, 4}) require_scalar(context, i);
  if (const Shape* x = context.input_shape(0)) context.set_output_shape(0, *x);
}

OpDef unary(const char* name, const char* doc) {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = name;
  op.doc = doc;
  op.inputs = {
      {"X", "T", "The quantized argument."},
      {"X_scale", "tensor(float)", "Scale of X; 1 element."},
      {"X_zero_point", "T", "Zero point of X; 1 element. Absent: 0.", PO::optional},
      {"Y_scale", "tensor(float)", "Scale of Y; 1 element."},
      {"Y_zero_point", "T", "Zero point of Y; 1 element. Absent: 0.", PO::optional},
  };
  op.outputs = {{"Y", "T", "The result, of X's shape. May be in X's memory."}};
  op.in_place = {0};
  op.type_constraints = {{"T", {DataType::uint8, DataType::int8}, "Type of X, Y and the zero points."}};
  op.family = Family::unary;
  op.infer = infer_unary;
  return op;
}

}  // namespace

void add_unary_ops(std::vector<OpDef>& ops) {
  ops.push_back(unary("QLinearLeakyRelu", R"(LeakyRelu of a quantized tensor, quantized again:

    x = f32((X - X_zero_point) * X_scale)
    v = x where x >= 0, else f32(alpha * x)
    Y = saturate(rint(f32(v / Y_scale)) + Y_zero_point)

f32() rounds to float32, rint() rounds half to even, saturate() clamps to the range of Y's type.)"));
  ops.back().attributes = {{"alpha", AttributeType::real, "Factor of negative arguments.", false, 0.01F}};

  ops.push_back(unary("QLinearSigmoid", R"(Sigmoid of a quantized tensor, quantized again:

    x = f32((X - X_zero_point) * X_scale)
    v = f32(1 / (1 + exp(-x)))
    Y = saturate(rint(f32(v / Y_scale)) + Y_zero_point)

f32() rounds to float32; v is computed in double before it is rounded. rint() rounds half to even, saturate() clamps
to the range of Y's type.)"));
}

}  // namespace octet::core
