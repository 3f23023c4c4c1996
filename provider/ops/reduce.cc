// Reductions of 8-bit tensors over axes.
#include <algorithm>

#include "provider/core/infer.hpp"
#include "provider/ops/ops.hpp"

namespace octet::core {
namespace {

using PO = PortOption;

/// Which dimensions are reduced: those of the attribute `axes`, or all where it is empty.
std::vector<bool> reduced_dimensions(const InferContext& context, std::size_t rank) {
  const auto& axes = *context.attribute<std::vector<std::int64_t>>("axes");
  std::vector<bool> reduced(rank, axes.empty());
  for (const std::int64_t given : axes) {
    const auto axis = static_cast<std::size_t>(normalized_axis(context, given, rank));
    if (reduced[axis]) context.fail("attribute 'axes' names axis " + std::to_string(axis) + " twice");
    reduced[axis] = true;
  }
  return reduced;
}

struct Reduction {
  Shape result;
  Dim count;  ///< elements that one result is made from
};

Reduction reduce(const InferContext& context, const Shape& data) {
  const std::vector<bool> reduced = reduced_dimensions(context, data.size());
  const bool keep = *context.attribute<std::int64_t>("keepdims") == 1;
  Reduction reduction;
  Shape over;
  for (std::size_t d = 0; d < data.size(); ++d) {
    if (reduced[d]) over.push_back(data[d]);
    if (!reduced[d])
      reduction.result.push_back(data[d]);
    else if (keep)
      reduction.result.emplace_back(1);
  }
  reduction.count = element_count(over);
  return reduction;
}

void infer_sum(InferContext& context) {
  const DataType type = context.input_type(0);
  // uint32 and int32 hold the same bits, so that a graph which declares the other one is served as well.
  if (context.output(0).dtype == DataType::undefined && type != DataType::undefined)
    context.set_output_type(0, type == DataType::uint8 ? DataType::uint32 : DataType::int32);
  if (const Shape* data = context.input_shape(0)) context.set_output_shape(0, reduce(context, *data).result);
}

void infer_mean(InferContext& context) {
  for (const std::size_t i : {1, 2, 3, 4}) require_scalar(context, i);
  const Shape* data = context.input_shape(0);
  if (data == nullptr) return;
  const Reduction reduction = reduce(context, *data);
  const Dim results = element_count(reduction.result);
  if (reduction.count.value == 0 && results.known() && results.value > 0)
    context.fail_input(0, "has shape " + to_string(*data) + ": the mean of no elements is not defined");
  context.set_output_shape(0, reduction.result);
}

std::vector<AttributeDef> reduction_attributes() {
  return {{"axes", AttributeType::integers,
           "The axes to reduce, each once; negative values count from the end. An empty list reduces all.", true},
          {"keepdims", AttributeType::integer,
           "1: reduced axes stay, with extent 1. Any other value: they are removed.", true}};
}

OpDef reduce_sum_integer() {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = "ReduceSumInteger";
  op.doc =
      R"(Sum of an 8-bit tensor over axes, exact modulo 2^32. The result is uint32 for uint8 and int32 for int8,
unless the graph declares it otherwise: the bits are the same. The sum of no elements is 0.)";
  op.attributes = reduction_attributes();
  op.inputs = {{"data", "T1", "What is to be summed."}};
  op.outputs = {{"reduced", "T2", "The sums."}};
  op.type_constraints = {
      {"T1", {DataType::int8, DataType::uint8}, "Types of data."},
      {"T2", {DataType::int32, DataType::uint32}, "Types of reduced: int32 for int8, uint32 for uint8."}};
  op.infer = infer_sum;
  return op;
}

OpDef qlinear_reduce_mean() {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = "QLinearReduceMean";
  op.doc = R"(Mean of a quantized tensor over axes, quantized again:

    sum     = sum of data over n elements    (exact, int64)
    v       = f32(double(sum - n * data_zero_point) * data_scale / (n * reduced_scale))
    reduced = saturate(rint(v) + reduced_zero_point)

v is computed in double and rounded to float32, rint() rounds half to even, saturate() clamps to the range of the
type. A mean of no elements is an error, unless the result has no elements either.)";
  op.attributes = reduction_attributes();
  op.inputs = {
      {"data", "T", "The quantized tensor."},
      {"data_scale", "tensor(float)", "Scale of data; 1 element."},
      {"data_zero_point", "T", "Zero point of data; 1 element. Absent: 0.", PO::optional},
      {"reduced_scale", "tensor(float)", "Scale of reduced; 1 element."},
      {"reduced_zero_point", "T", "Zero point of reduced; 1 element. Absent: 0.", PO::optional},
  };
  op.outputs = {{"reduced", "T", "The means."}};
  op.type_constraints = {{"T", {DataType::uint8, DataType::int8}, "Type of data, reduced and the zero points."}};
  op.infer = infer_mean;
  return op;
}

}  // namespace

void add_reduce_ops(std::vector<OpDef>& ops) {
  for (OpDef op : {reduce_sum_integer(), qlinear_reduce_mean()}) {
    op.family = Family::reduce;
    ops.push_back(std::move(op));
  }
}

}  // namespace octet::core
