// Conversions between floating point and integers by scale and zero point.
#include "provider/core/infer.hpp"
#include "provider/ops/ops.hpp"

namespace octet::core {
namespace {

using PO = PortOption;

enum Input : std::size_t { kX, kScale, kZeroPoint };

/// Where the parameters of x run: one for the tensor, one for each index of an axis, or one for each block along an
/// axis.
void check_parameter(const InferContext& context, std::size_t i, const Shape& x) {
  const Shape* given = context.input_shape(i);
  if (given == nullptr || may_be_one_element(*given)) return;
  const std::int64_t* given_axis = context.attribute<std::int64_t>("axis");
  const std::int64_t axis = normalized_axis(context, given_axis ? *given_axis : 1, x.size());
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t* block_size = context.attribute<std::int64_t>("block_size");
  if (block_size && *block_size > 0) {
    Shape blocks = x;
    if (blocks[at].value > 0) blocks[at] = Dim((blocks[at].value - 1) / *block_size + 1);
    bool fits = given->size() == blocks.size();
    for (std::size_t d = 0; fits && d < blocks.size(); ++d) fits = !differ((*given)[d], blocks[d]);
    if (!fits)
      context.fail_input(i, "has shape " + to_string(*given) + ", expected 1 element or " + to_string(blocks) +
                                ": x's shape " + to_string(x) + " with axis " + std::to_string(axis) +
                                " in blocks of " + std::to_string(*block_size));
    return;
  }
  if (given->size() != 1 || differ(given->front(), x[at]))
    context.fail_input(i, "has shape " + to_string(*given) + ", expected 1 element or [" + to_string(x[at]) +
                              "], the extent of axis " + std::to_string(axis) + " of x's shape " + to_string(x));
}

void infer_shape(InferContext& context) {
  const std::int64_t* block_size = context.attribute<std::int64_t>("block_size");
  if (block_size && *block_size < 0)
    context.fail("attribute 'block_size' is " + std::to_string(*block_size) + ", expected 0 or more");
  const Shape* x = context.input_shape(kX);
  if (x == nullptr) return;
  check_parameter(context, kScale, *x);
  check_parameter(context, kZeroPoint, *x);
  context.set_output_shape(0, *x);
}

/// The value of an attribute that names a type; undefined where it is absent or 0.
DataType type_attribute(const InferContext& context, std::string_view name) {
  const std::int64_t* value = context.attribute<std::int64_t>(name);
  if (value == nullptr || *value == 0) return DataType::undefined;
  const auto type = *value > 0 && *value < 256 ? static_cast<DataType>(*value) : DataType::undefined;
  if (bit_width(type) == 0)
    context.fail("attribute '" + std::string(name) + "' is " + std::to_string(*value) + ", which is no element type");
  return type;
}

void infer_quantize(InferContext& context) {
  const DataType wanted = type_attribute(context, "output_dtype");
  const DataType zero_point = context.input_type(kZeroPoint);
  if (wanted != DataType::undefined && zero_point != DataType::undefined && wanted != zero_point)
    context.fail(std::string("attribute 'output_dtype' is ") + data_type_name(wanted) +
                 ", but input 'y_zero_point' has type " + data_type_name(zero_point));
  const DataType precision = type_attribute(context, "precision");
  if (precision != DataType::undefined && precision != DataType::float32 && precision != DataType::float16 &&
      precision != DataType::bfloat16)
    context.fail(std::string("attribute 'precision' is ") + data_type_name(precision) +
                 ", expected float, float16 or bfloat16");
  if (wanted != DataType::undefined)
    context.set_output_type(0, wanted);
  else if (!context.has_input(kZeroPoint))
    context.set_output_type(0, DataType::uint8);
  infer_shape(context);
}

void infer_dequantize(InferContext& context) {
  const DataType wanted = type_attribute(context, "output_dtype");
  context.set_output_type(0, wanted != DataType::undefined ? wanted : context.input_type(kScale));
  infer_shape(context);
}

const char* const kAxis =
    "Axis of x along which scale and zero point run where they hold more than 1 element; negative values count from "
    "the end. "
    "Without meaning for 1 element.";
const char* const kBlockSize =
    "0: a vector of parameters holds one for each index of the axis. More: the parameters have x's shape but for the "
    "axis, "
    "where one stands for each block of this many indices; the last block may be short.";

const char* const kQuantizeDoc = R"(Quantizes x:

    y = saturate(rint(f32(x / scale)) + zero_point)

The division is a true float32 division (float16 and bfloat16 operands are widened to float32 first), rint() rounds
half to even, the zero point is added after it, and saturate() clamps to the range of y's type, in which NaN becomes
the lowest value. Scale and zero point hold 1 element for the whole tensor, or one for each index of an axis)";

const char* const kDequantizeDoc = R"(Dequantizes x:

    y = f32(f32(x - zero_point) * scale)

The difference is an exact integer, converted and multiplied in float32 (a float16 or bfloat16 scale is widened to
float32 first), and rounded to y's type at the end. Scale and zero point hold 1 element for the whole tensor, or one
for each index of an axis)";

const std::vector<DataType> kFloat8{DataType::float8e4m3fn, DataType::float8e4m3fnuz, DataType::float8e5m2,
                                    DataType::float8e5m2fnuz};

void append(std::vector<DataType>& types, const std::vector<DataType>& more) {
  types.insert(types.end(), more.begin(), more.end());
}

/// What ONNX's two operators quantize to (and, with int32, from), as the versions added it.
std::vector<DataType> quantized_types(int version, bool with_int32) {
  std::vector<DataType> types{DataType::int8, DataType::uint8};
  if (version >= 21) append(types, {DataType::int16, DataType::uint16});
  if (with_int32) types.push_back(DataType::int32);
  if (version >= 19) append(types, kFloat8);
  if (version >= 21) append(types, {DataType::uint4, DataType::int4});
  if (version >= 23) types.push_back(DataType::float4e2m1);
  if (version >= 25) append(types, {DataType::uint2, DataType::int2});
  if (version >= 28) append(types, {DataType::float6e2m3, DataType::float6e3m2});
  return types;
}

std::vector<AttributeDef> onnx_attributes(int version) {
  std::vector<AttributeDef> attributes;
  if (version >= 13) attributes.push_back({"axis", AttributeType::integer, kAxis, false, std::int64_t{1}});
  if (version >= 21) attributes.push_back({"block_size", AttributeType::integer, kBlockSize, false, std::int64_t{0}});
  return attributes;
}

std::string onnx_doc(const char* doc, int version) {
  return std::string(doc) + (version >= 21 ? ", or one for each block of indices (`block_size`)." : ".");
}

OpDef quantize_linear(int version) {
  OpDef op;
  op.name = "QuantizeLinear";
  op.since_version = version;
  op.doc = onnx_doc(kQuantizeDoc, version);
  op.attributes = onnx_attributes(version);
  if (version >= 19)
    op.attributes.push_back({"saturate", AttributeType::integer,
                             "For float8 results: 0 turns what is out of range into infinity or NaN, 1 clamps it.",
                             false, std::int64_t{1}});
  if (version >= 21)
    op.attributes.push_back(
        {"output_dtype", AttributeType::integer,
         "Type of y as a number of TensorProto.DataType; 0: that of y_zero_point, or uint8 without one.", false,
         std::int64_t{0}});
  if (version >= 23)
    op.attributes.push_back(
        {"precision", AttributeType::integer,
         "Type in which x / y_scale is computed, as a number of TensorProto.DataType; 0: y_scale's.", false,
         std::int64_t{0}});
  const std::string scale = version >= 23 ? "T2" : version >= 19 ? "T1" : "tensor(float)";
  const std::string quantized = version >= 23 ? "T3" : "T2";
  op.inputs = {{"x", "T1", "What is to be quantized."},
               {"y_scale", scale, "Scale of y."},
               {"y_zero_point", quantized, "Zero point of y. Its type is y's. Absent: 0 of type uint8.", PO::optional}};
  op.outputs = {{"y", quantized, "The quantized tensor, of x's shape."}};
  std::vector<DataType> floats{DataType::float32};
  if (version >= 19) append(floats, {DataType::float16, DataType::bfloat16});
  floats.push_back(DataType::int32);
  op.type_constraints = {{"T1", floats, "Types of x."}};
  if (version >= 24) floats.push_back(DataType::float8e8m0);
  if (version >= 23) op.type_constraints.push_back({"T2", floats, "Types of y_scale."});
  op.type_constraints.push_back({quantized, quantized_types(version, false), "Types of y."});
  op.infer = infer_quantize;
  return op;
}

OpDef dequantize_linear(int version) {
  OpDef op;
  op.name = "DequantizeLinear";
  op.since_version = version;
  op.doc = onnx_doc(kDequantizeDoc, version);
  op.attributes = onnx_attributes(version);
  if (version >= 23)
    op.attributes.push_back({"output_dtype", AttributeType::integer,
                             "Type of y as a number of TensorProto.DataType; 0: that of x_scale.", false,
                             std::int64_t{0}});
  const std::string quantized = version >= 19 ? "T1" : "T";
  const std::string scale = version >= 19 ? "T2" : "tensor(float)";
  const std::string result = version >= 23 ? "T3" : scale;
  op.inputs = {{"x", quantized, "The quantized tensor."},
               {"x_scale", scale, "Scale of x."},
               {"x_zero_point", quantized, "Zero point of x. Absent: 0.", PO::optional}};
  op.outputs = {{"y", result, "The tensor in floating point, of x's shape."}};
  op.type_constraints = {{quantized, quantized_types(version, true), "Types of x."}};
  const std::vector<DataType> floats{DataType::float32, DataType::float16, DataType::bfloat16};
  if (version >= 19) {
    op.type_constraints.push_back({"T2", floats, "Types of x_scale."});
    if (version >= 24) op.type_constraints.back().types.push_back(DataType::float8e8m0);
  }
  if (version >= 23) op.type_constraints.push_back({"T3", floats, "Types of y."});
  op.infer = infer_dequantize;
  return op;
}

const std::vector<DataType> kMicrosoftFloats{DataType::float16, DataType::float32};
const char* const kMicrosoftAxis =
    "Axis of x along which scale and zero point run where they hold more than 1 element; negative values count from "
    "the end. "
    "Absent: 1.";

OpDef microsoft_quantize_linear() {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = "QuantizeLinear";
  op.doc = std::string(kQuantizeDoc) + ".";
  op.attributes = {{"axis", AttributeType::integer, kMicrosoftAxis}};
  op.inputs = {
      {"x", "T1", "What is to be quantized."},
      {"y_scale", "T1", "Scale of y: 1 element, or one for each index of the axis."},
      {"y_zero_point", "T2",
       "Zero point of y: 1 element, or one for each index of the axis. Its type is y's. Absent: 0 of type uint8.",
       PO::optional}};
  op.outputs = {{"y", "T2", "The quantized tensor, of x's shape."}};
  op.type_constraints = {
      {"T1", kMicrosoftFloats, "Types of x and y_scale."},
      {"T2",
       {DataType::int8, DataType::uint8, DataType::int16, DataType::uint16, DataType::int4, DataType::uint4},
       "Types of y."}};
  op.infer = infer_quantize;
  return op;
}

OpDef microsoft_dequantize_linear() {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = "DequantizeLinear";
  op.doc = std::string(kDequantizeDoc) + ".";
  op.attributes = {{"axis", AttributeType::integer, kMicrosoftAxis}};
  op.inputs = {{"x", "T1", "The quantized tensor."},
               {"x_scale", "T2", "Scale of x: 1 element, or one for each index of the axis."},
               {"x_zero_point", "T1", "Zero point of x: 1 element, or one for each index of the axis. Absent: 0.",
                PO::optional}};
  op.outputs = {{"y", "T2", "The tensor in floating point, of x's shape."}};
  op.type_constraints = {{"T1",
                          {DataType::int8, DataType::uint8, DataType::int16, DataType::uint16, DataType::int32,
                           DataType::int4, DataType::uint4},
                          "Types of x."},
                         {"T2", kMicrosoftFloats, "Types of x_scale and y."}};
  op.infer = infer_dequantize;
  return op;
}

// --- DynamicQuantizeLinear ------------------------------------------------------------------------------------------

void infer_dynamic_quantize_linear(InferContext& context) {
  if (const Shape* x = context.input_shape(kX)) context.set_output_shape(0, *x);
  context.set_output_shape(1, {});
  context.set_output_shape(2, {});
}

OpDef dynamic_quantize_linear() {
  OpDef op;
  op.name = "DynamicQuantizeLinear";
  op.since_version = 11;
  op.doc = R"(Quantizes x to uint8 by a scale and a zero point that fit its range, which is widened to hold 0:

    high, low    = max(x, 0), min(x, 0)    (over the whole tensor)
    y_scale      = f32(f32(high - low) / 255)
    y_zero_point = saturate(rint(f32(0 - f32(low / y_scale))))
    y            = saturate(rint(f32(x / y_scale)) + y_zero_point)

f32() rounds to float32, rint() rounds half to even, saturate() clamps to 0..255. Where every element is 0, or there
is none, y_scale is 1 and y_zero_point is 0.)";
  op.inputs = {{"x", "T1", "What is to be quantized."}};
  op.outputs = {{"y", "T2", "The quantized tensor, of x's shape."},
                {"y_scale", "tensor(float)", "Scale of y, a scalar."},
                {"y_zero_point", "T2", "Zero point of y, a scalar."}};
  op.type_constraints = {{"T1", {DataType::float32}, "Type of x."}, {"T2", {DataType::uint8}, "Type of y."}};
  op.infer = infer_dynamic_quantize_linear;
  return op;
}

}  // namespace

void add_quantize_ops(std::vector<OpDef>& ops) {
  const auto add = [&](OpDef op) {
    op.family = Family::quantize;
    ops.push_back(std::move(op));
  };
  for (const int version : {10, 13, 19, 21, 23, 24, 25, 28}) {
    add(quantize_linear(version));
    add(dequantize_linear(version));
  }
  add(microsoft_quantize_linear());
  add(microsoft_dequantize_linear());
  add(dynamic_quantize_linear());
}

}  // namespace octet::core
