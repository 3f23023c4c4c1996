// Matrix products of 8-bit operands. They share one plan: an exact integer product, then a formula per element.
#include "provider/core/infer.hpp"
#include "provider/ops/ops.hpp"

namespace octet::core {
namespace {

using PO = PortOption;

const std::vector<DataType> kInt8First{DataType::int8, DataType::uint8};
const std::vector<DataType> kUint8First{DataType::uint8, DataType::int8};

const char* const kZeroPointA =
    "Zero point of A. Absent: 0. Holds 1 element; per-column zero points of A are not defined.";
const char* const kScaleB = "Scale of B: 1 element, or one for each column of B as [N], [1,N] or [...,1,N].";
const char* const kZeroPointB =
    "Zero point of B: 1 element, or one for each column of B as [N], [1,N] or [...,1,N]. Absent: 0.";

/// Which of a matrix's last two extents a vector of quantization parameters runs along.
enum class Along { rows, columns };

/// Input i, where present: 1 element; one for each row or column of `matrix` as a vector; or a tensor of up to the
/// matrix's rank whose other extent is 1 and whose leading extents are the matrix's or 1.
void require_parameter(const InferContext& context, std::size_t i, const Shape& matrix, Along along) {
  const Shape* given = context.input_shape(i);
  if (given == nullptr || may_be_one_element(*given)) return;
  const bool rows = along == Along::rows;
  const std::size_t axis = matrix.size() - (rows ? 2 : 1);
  const Dim extent = matrix.size() > 1 ? matrix[axis] : Dim(1);
  bool fits = given->size() <= std::max<std::size_t>(matrix.size(), 1);
  if (given->size() == 1) {
    fits = !differ(given->front(), extent);
  } else {
    for (std::size_t d = 0; fits && d < given->size(); ++d) {
      const Dim& dim = (*given)[d];
      const std::size_t in_matrix = matrix.size() - given->size() + d;
      if (in_matrix == axis)
        fits = !differ(dim, extent);
      else if (in_matrix + 2 >= matrix.size())
        fits = !differ(dim, 1);
      else
        fits = dim.value == 1 || !differ(dim, matrix[in_matrix]);
    }
  }
  if (fits) return;
  const Dim count = element_count(*given);
  const std::string name = rows ? "M" : "N";
  const std::string expected = extent.value == 1 ? "1" : "1 or " + name + "=" + to_string(extent);
  if (differ(count, extent))
    context.fail_input(i, "has " + std::to_string(count.value) + " elements, expected " + expected);
  context.fail_input(i, "has shape " + to_string(*given) + ", expected " + expected + " elements as [" + name +
                            "] or [..." + (rows ? ",M,1]" : ",1,N]"));
}

/// The same for an input whose matrix is another input of the node.
void require_parameter_of(const InferContext& context, std::size_t i, std::size_t matrix, Along along) {
  if (const Shape* shape = context.input_shape(matrix)) require_parameter(context, i, *shape, along);
}

Dim columns(const Shape& matrix) { return matrix.size() > 1 ? matrix.back() : Dim(1); }

/// Input i, where present: one element for each column of input `matrix`, in any shape.
void require_one_per_column(const InferContext& context, std::size_t i, std::size_t matrix) {
  if (!context.input_shape(i) || !context.input_shape(matrix)) return;
  const Dim count = element_count(*context.input_shape(i));
  const Dim n = columns(*context.input_shape(matrix));
  if (differ(count, n))
    context.fail_input(i, "has " + std::to_string(count.value) + " elements, expected N=" + std::to_string(n.value));
}

void set_product_shape(InferContext& context, std::size_t a, std::size_t b) {
  if (const auto shape = matmul_shape(context, a, b)) context.set_output_shape(0, *shape);
}

// --- MatMulInteger --------------------------------------------------------------------------------------------------

void infer_matmul_integer(InferContext& context) {
  set_product_shape(context, 0, 1);
  require_parameter_of(context, 2, 0, Along::rows);
  require_parameter_of(context, 3, 1, Along::columns);
}

OpDef matmul_integer() {
  OpDef op;
  op.name = "MatMulInteger";
  op.since_version = 10;
  op.doc = R"(Product of two 8-bit matrices in exact integers, with numpy.matmul's rules for 1-D operands and
batches:

    Y[m,n] = sum over k of (A[m,k] - a_zero_point[m]) * (B[k,n] - b_zero_point[n])

The sum is exact modulo 2^32. Where K is 0, Y is 0.)";
  op.inputs = {
      {"A", "T1", "Left matrix, [...,M,K] or [K]."},
      {"B", "T2", "Right matrix, [...,K,N] or [K]."},
      {"a_zero_point", "T1",
       "Zero point of A: 1 element, or one for each row of A as [M], [M,1] or [...,M,1]. Absent: 0.", PO::optional},
      {"b_zero_point", "T2", kZeroPointB, PO::optional},
  };
  op.outputs = {{"Y", "T3", "The product, [...,M,N]."}};
  op.type_constraints = {
      {"T1", kInt8First, "Types of A."}, {"T2", kInt8First, "Types of B."}, {"T3", {DataType::int32}, "Type of Y."}};
  op.infer = infer_matmul_integer;
  return op;
}

// --- QLinearMatMul --------------------------------------------------------------------------------------------------

void infer_qlinear_matmul(InferContext& context) {
  set_product_shape(context, 0, 3);
  require_parameter_of(context, 1, 0, Along::rows);
  require_parameter_of(context, 2, 0, Along::rows);
  require_parameter_of(context, 4, 3, Along::columns);
  require_parameter_of(context, 5, 3, Along::columns);
  require_scalar(context, 6);
  require_scalar(context, 7);
}

OpDef qlinear_matmul(int since_version) {
  const bool has_scale_types = since_version >= 21;
  const std::string scale = has_scale_types ? "TS" : "tensor(float)";
  OpDef op;
  op.name = "QLinearMatMul";
  op.since_version = since_version;
  op.doc =
      R"(Product of two quantized matrices, quantized again, with numpy.matmul's rules for 1-D operands and batches:

    acc[m,n] = sum over k of (a[m,k] - a_zero_point[m]) * (b[k,n] - b_zero_point[n])    (exact, int32)
    s[m,n]   = f32(f32(a_scale[m] * b_scale[n]) / y_scale)
    y[m,n]   = saturate(rint(f32(f32(acc[m,n]) * s[m,n])) + y_zero_point)

f32() rounds to float32, rint() rounds half to even, saturate() clamps to the range of y's type. float16 and
bfloat16 scales are widened to float32 first. Where K is 0, y is y_zero_point.)";
  op.inputs = {
      {"a", "T1", "Left matrix, [...,M,K] or [K]."},
      {"a_scale", scale, "Scale of a: 1 element, or one for each row of a as [M], [M,1] or [...,M,1]."},
      {"a_zero_point", "T1", "Zero point of a: 1 element, or one for each row of a as [M], [M,1] or [...,M,1]."},
      {"b", "T2", "Right matrix, [...,K,N] or [K]."},
      {"b_scale", scale, "Scale of b: 1 element, or one for each column of b as [N], [1,N] or [...,1,N]."},
      {"b_zero_point", "T2", "Zero point of b: 1 element, or one for each column of b as [N], [1,N] or [...,1,N]."},
      {"y_scale", scale, "Scale of y; 1 element."},
      {"y_zero_point", "T3", "Zero point of y; 1 element. Its type is y's."},
  };
  op.outputs = {{"y", "T3", "The quantized product, [...,M,N]."}};
  std::vector<DataType> types = kInt8First;
  if (has_scale_types) {
    op.type_constraints = {{"TS", {DataType::float32, DataType::float16, DataType::bfloat16}, "Types of the scales."}};
    types.insert(types.end(),
                 {DataType::float8e4m3fn, DataType::float8e4m3fnuz, DataType::float8e5m2, DataType::float8e5m2fnuz});
  }
  op.type_constraints.push_back({"T1", types, "Types of a."});
  op.type_constraints.push_back({"T2", types, "Types of b."});
  op.type_constraints.push_back({"T3", types, "Types of y."});
  op.infer = infer_qlinear_matmul;
  return op;
}

// --- MatMulIntegerToFloat -------------------------------------------------------------------------------------------

/// A column of A is summed over, so that its scale cannot be taken out of the sum. The schema's text speaks of it all
/// the same.
void require_one_for_a(const InferContext& context, std::size_t i) {
  const Shape* parameter = context.input_shape(i);
  const Shape* a = context.input_shape(0);
  if (parameter && a && !may_be_one_element(*parameter)) {
    const Dim count = element_count(*parameter);
    if (count.known() && !a->empty() && count.value == a->back().value)
      context.fail_input(i, "has K=" + std::to_string(count.value) +
                                " elements, but per-column quantization of A is not supported; expected 1 element");
  }
  require_scalar(context, i);
}

void infer_matmul_integer_to_float(InferContext& context) {
  set_product_shape(context, 0, 1);
  require_one_for_a(context, 2);
  require_parameter_of(context, 3, 1, Along::columns);
  require_one_for_a(context, 4);
  require_parameter_of(context, 5, 1, Along::columns);
  require_one_per_column(context, 6, 1);
}

OpDef matmul_integer_to_float() {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = "MatMulIntegerToFloat";
  op.doc =
      R"(Product of two quantized matrices in floating point, with numpy.matmul's rules for 1-D operands and
batches:

    acc[m,n] = sum over k of (A[m,k] - a_zero_point) * (B[k,n] - b_zero_point[n])    (exact modulo 2^32, int32)
    Y[m,n]   = f32(f32(f32(acc[m,n]) * f32(a_scale * b_scale[n])) + bias[n])

f32() rounds to float32; the addition is a rounding of its own and left out where bias is absent. With float16 the
scales and the bias are widened to float32 first, and Y is rounded once more at the end. Where K is 0, acc is 0.)";
  op.inputs = {
      {"A", "T1", "Left matrix, [...,M,K] or [K]."},
      {"B", "T2", "Right matrix, [...,K,N] or [K]."},
      {"a_scale", "T3", "Scale of A; 1 element."},
      {"b_scale", "T3", kScaleB},
      {"a_zero_point", "T1", kZeroPointA, PO::optional},
      {"b_zero_point", "T2", kZeroPointB, PO::optional},
      {"bias", "T3", "Added to each row: N elements, in any shape. Absent: nothing is added.", PO::optional},
  };
  op.outputs = {{"Y", "T3", "The product, [...,M,N]."}};
  op.type_constraints = {{"T1", kInt8First, "Types of A."},
                         {"T2", kInt8First, "Types of B."},
                         {"T3", {DataType::float32, DataType::float16}, "Types of the scales, the bias and Y."}};
  op.infer = infer_matmul_integer_to_float;
  return op;
}

// --- DynamicQuantizeMatMul ------------------------------------------------------------------------------------------

void infer_dynamic_quantize_matmul(InferContext& context) {
  set_product_shape(context, 0, 1);
  require_parameter_of(context, 2, 1, Along::columns);
  require_parameter_of(context, 3, 1, Along::columns);
  require_one_per_column(context, 4, 1);
}

OpDef dynamic_quantize_matmul() {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = "DynamicQuantizeMatMul";
  op.doc = R"(Quantizes A to uint8 as DynamicQuantizeLinear does, then multiplies it by the quantized matrix B as
MatMulIntegerToFloat does:

    qa, a_scale, a_zero_point = DynamicQuantizeLinear(A)
    acc[m,n] = sum over k of (qa[m,k] - a_zero_point) * (B[k,n] - b_zero_point[n])    (exact modulo 2^32, int32)
    Y[m,n]   = f32(f32(f32(acc[m,n]) * f32(a_scale * b_scale[n])) + bias[n])

A has one scale for the whole tensor, so that rows of small values beside rows of large ones lose precision, and a
row's result depends on the rows that are in the tensor with it.

With the option `rowwise` a_scale and a_zero_point are found for each row of A (all of its axes but the last) from that
row alone, as above but for three kinds of row: one of a single value v != 0 has scale |v|, and so is exact;
another scale below 2^-126 becomes 1; with a NaN, an infinity or a range beyond float32 it is NaN. A row's numbers then
do not depend on the others.)";
  op.inputs = {
      {"A", "T1", "Left matrix, [...,M,K] or [K]."},
      {"B", "T2", "Right matrix, [...,K,N] or [K]."},
      {"b_scale", "T1", kScaleB},
      {"b_zero_point", "T2", kZeroPointB, PO::optional},
      {"bias", "T1", "Added to each row: N elements, in any shape. Absent: nothing is added.", PO::optional},
  };
  op.outputs = {{"Y", "T1", "The product, [...,M,N]."}};
  op.type_constraints = {{"T1", {DataType::float32}, "Type of A, b_scale, bias and Y."},
                         {"T2", kInt8First, "Types of B."}};
  op.infer = infer_dynamic_quantize_matmul;
  return op;
}

// --- QGemm ----------------------------------------------------------------------------------------------------------

enum QGemmInput : std::size_t { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kC, kYScale, kYZeroPoint };

std::optional<Shape> qgemm_matrix(const InferContext& context, std::size_t i, bool transposed) {
  const Shape* shape = context.input_shape(i);
  if (shape == nullptr) return std::nullopt;
  if (shape->size() != 2) context.fail_input(i, "has shape " + to_string(*shape) + ", expected 2 dimensions");
  return transposed ? Shape{(*shape)[1], (*shape)[0]} : *shape;
}

void check_qgemm_c(const InferContext& context, const Shape& y) {
  const Shape* c = context.input_shape(kC);
  if (c == nullptr) return;
  bool fits = c->size() <= y.size();
  for (std::size_t d = 0; fits && d < c->size(); ++d) {
    const Dim& dim = (*c)[d];
    fits = dim.value == 1 || !differ(dim, y[y.size() - c->size() + d]);
  }
  if (!fits)
    context.fail_input(kC, "has shape " + to_string(*c) + ", expected one that broadcasts to [M,N]=" + to_string(y));
}

void infer_qgemm(InferContext& context) {
  if (context.has_input(kYZeroPoint))
    context.set_output_type(0, context.input_type(kYZeroPoint));
  else
    context.set_output_type(0, DataType::float32);
  for (const std::size_t i : {kAScale, kAZeroPoint, kYScale, kYZeroPoint}) require_scalar(context, i);
  const bool transpose_a = *context.attribute<std::int64_t>("transA") != 0;
  const bool transpose_b = *context.attribute<std::int64_t>("transB") != 0;
  const auto a = qgemm_matrix(context, kA, transpose_a);
  const auto b = qgemm_matrix(context, kB, transpose_b);
  if (b) {
    require_parameter(context, kBScale, *b, Along::columns);
    require_parameter(context, kBZeroPoint, *b, Along::columns);
  }
  if (a && b && differ((*a)[1], (*b)[0]))
    context.fail_input(kB, "has K=" + to_string((*b)[0]) + ", but input 'A' has K=" + to_string((*a)[1]) + " (shapes " +
                               to_string(*context.input_shape(kA)) + " and " + to_string(*context.input_shape(kB)) +
                               ", transA=" + std::to_string(transpose_a) + ", transB=" + std::to_string(transpose_b) +
                               ")");
  const Shape y{a ? (*a)[0] : Dim(), b ? (*b)[1] : Dim()};
  check_qgemm_c(context, y);
  context.set_output_shape(0, y);
}

void check_qgemm_node(const InferContext& context) {
  if (context.has_input(kYScale) && !context.has_input(kYZeroPoint))
    context.fail("input 'y_scale' is given without 'y_zero_point'; give both for an 8-bit Y, or none for a float Y");
  if (context.has_input(kYZeroPoint) && !context.has_input(kYScale))
    context.fail("input 'y_zero_point' is given without 'y_scale'; give both for an 8-bit Y, or none for a float Y");
}

OpDef qgemm() {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = "QGemm";
  op.doc = R"(Product of two quantized matrices with an int32 addend, quantized again or in floating point:

    acc[m,n] = sum over k of (A[m,k] - a_zero_point) * (B[k,n] - b_zero_point[n]) + C[m,n]    (exact modulo 2^32, int32)
    s[n]     = f32(f32(alpha * a_scale) * b_scale[n])
    Y[m,n]   = f32(f32(acc[m,n]) * s[n])

or, where y_scale and y_zero_point are given:

    Y[m,n]   = saturate(rint(f32(f32(acc[m,n]) * f32(s[n] / y_scale))) + y_zero_point)

A is taken transposed where transA is not 0, B where transB is not 0. f32() rounds to float32, rint() rounds half to
even, saturate() clamps to the range of Y's type. alpha scales C too. Where K is 0, acc is C.)";
  op.attributes = {
      {"transA", AttributeType::integer, "Any value but 0: A is given as [K,M].", false, std::int64_t{0}},
      {"transB", AttributeType::integer, "Any value but 0: B is given as [N,K].", false, std::int64_t{0}},
      {"alpha", AttributeType::real, "Factor of the product and of C.", false, 1.0F},
  };
  op.inputs = {
      {"A", "TA", "Left matrix: [M,K], or [K,M] where transA is not 0."},
      {"a_scale", "T", "Scale of A; 1 element."},
      {"a_zero_point", "TA", "Zero point of A; 1 element."},
      {"B", "TB", "Right matrix: [K,N], or [N,K] where transB is not 0."},
      {"b_scale", "T", "Scale of B: 1 element, or one for each of the N columns as [N] or [1,N]."},
      {"b_zero_point", "TB", "Zero point of B: 1 element, or one for each of the N columns as [N] or [1,N]."},
      {"C", "TC",
       "Added to the integer product, so in units of a_scale * b_scale: [], [1], [N], [1,N], [M,1] or [M,N]. Absent: "
       "0.",
       PO::optional},
      {"y_scale", "T", "Scale of Y; 1 element. Absent: Y is float.", PO::optional},
      {"y_zero_point", "TYZ", "Zero point of Y; 1 element. Its type is Y's. Absent: Y is float.", PO::optional},
  };
  op.outputs = {{"Y", "TY", "The product, [M,N]."}};
  op.type_constraints = {{"T", {DataType::float32}, "Type of the scales."},
                         {"TA", kUint8First, "Types of A."},
                         {"TB", kUint8First, "Types of B."},
                         {"TC", {DataType::int32}, "Type of C."},
                         {"TYZ", kUint8First, "Types of y_zero_point."},
                         {"TY", {DataType::float32, DataType::uint8, DataType::int8}, "Types of Y."}};
  op.infer = infer_qgemm;
  op.check_node = check_qgemm_node;
  return op;
}

}  // namespace

void add_matmul_ops(std::vector<OpDef>& ops) {
  for (OpDef op : {matmul_integer(), qlinear_matmul(10), qlinear_matmul(21), matmul_integer_to_float(),
                   dynamic_quantize_matmul(), qgemm()}) {
    op.family = Family::matmul;
    ops.push_back(std::move(op));
  }
}

}  // namespace octet::core
