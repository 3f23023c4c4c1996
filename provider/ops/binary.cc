// Elementwise operators of two 8-bit tensors, with numpy broadcasting.
#include "provider/core/infer.hpp"
#include "provider/ops/ops.hpp"

namespace octet::core {
namespace {

using PO = PortOption;

void set_broadcast_shape(InferContext& context, std::size_t a, std::size_t b) {
  if (context.input_shape(a) && context.input_shape(b))
    context.set_output_shape(
        0, broadcast(context, *context.input_shape(a), *context.input_shape(b), "the shapes of inputs 'A' and 'B'"));
}

void infer_qlinear(InferContext& context) {
  for (const std::size_t i : {1, 2, 4, 5, 6, 7}) require_scalar(context, i);
  set_broadcast_shape(context, 0, 3);
}

OpDef qlinear(const char* name, const char* doc) {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = name;
  op.doc = doc;
  op.inputs = {
      {"A", "T", "First operand."},
      {"A_scale", "tensor(float)", "Scale of A; 1 element."},
      {"A_zero_point", "T", "Zero point of A; 1 element. Absent: 0.", PO::optional},
      {"B", "T", "Second operand."},
      {"B_scale", "tensor(float)", "Scale of B; 1 element."},
      {"B_zero_point", "T", "Zero point of B; 1 element. Absent: 0.", PO::optional},
      {"C_scale", "tensor(float)", "Scale of C; 1 element."},
      {"C_zero_point", "T", "Zero point of C; 1 element. Absent: 0.", PO::optional},
  };
  op.outputs = {
      {"C", "T",
       "The result, of the shape that A and B broadcast to. May be in the memory of an operand of that shape."}};
  op.in_place = {0, 3};
  op.type_constraints = {{"T", {DataType::uint8, DataType::int8}, "Type of A, B, C and the zero points."}};
  op.infer = infer_qlinear;
  return op;
}

const char* const kAddDoc = R"(Sum of two quantized tensors, quantized again, with numpy broadcasting:

    ra, rb = f32(A_scale / C_scale), f32(B_scale / C_scale)
    offset = f32(C_zero_point - fma(ra, A_zero_point, f32(rb * B_zero_point)))
    C      = saturate(rint(fma(A, ra, fma(B, rb, offset))))

All in float32; fma() rounds once, rint() rounds half to even, saturate() clamps to the range of C's type before the
conversion to an integer.)";

const char* const kMulDoc = R"(Product of two quantized tensors, quantized again, with numpy broadcasting:

    s = f32(f32(A_scale * B_scale) / C_scale)
    C = saturate(rint(f32(f32((A - A_zero_point) * (B - B_zero_point) * s) + C_zero_point)))

The product of the two differences is an exact integer; f32() rounds to float32, rint() rounds half to even,
saturate() clamps to the range of C's type before the conversion to an integer.)";

void infer_mul_integer(InferContext& context) {
  require_scalar(context, 1);
  require_scalar(context, 3);
  set_broadcast_shape(context, 0, 2);
}

OpDef mul_integer() {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = "MulInteger";
  op.doc = R"(Exact integer product of two 8-bit tensors, with numpy broadcasting:

    C = (A - A_zero_point) * (B - B_zero_point))";
  op.inputs = {
      {"A", "T", "First operand."},
      {"A_zero_point", "T", "Zero point of A; 1 element. Absent: 0.", PO::optional},
      {"B", "T", "Second operand."},
      {"B_zero_point", "T", "Zero point of B; 1 element. Absent: 0.", PO::optional},
  };
  op.outputs = {{"C", "T1", "The result, of the shape that A and B broadcast to."}};
  op.type_constraints = {{"T", {DataType::uint8, DataType::int8}, "Type of A, B and the zero points."},
                         {"T1", {DataType::int32}, "Type of C."}};
  op.infer = infer_mul_integer;
  return op;
}

}  // namespace

void add_binary_ops(std::vector<OpDef>& ops) {
  for (OpDef op : {qlinear("QLinearAdd", kAddDoc), qlinear("QLinearMul", kMulDoc), mul_integer()}) {
    op.family = Family::binary;
    ops.push_back(std::move(op));
  }
}

}  // namespace octet::core
