// Concatenation of quantized tensors.
#include "provider/core/infer.hpp"
#include "provider/ops/ops.hpp"

namespace octet::core {
namespace {

constexpr std::size_t kFirstTensor = 2;

/// The extents that all tensors share, and the sum along the axis.
class Concatenation {
 public:
  explicit Concatenation(const InferContext& context)
      : context_(context), axis_attribute_(*context.attribute<std::int64_t>("axis")) {}

  void add(std::size_t input) {
    const Shape* shape = context_.input_shape(input);
    if (shape == nullptr) {
      total_ = Dim();
      total_known_ = false;
      return;
    }
    if (!result_) {
      result_ = *shape;
      first_ = input;
      axis_ = static_cast<std::size_t>(normalized_axis(context_, axis_attribute_, shape->size()));
    } else if (shape->size() != result_->size()) {
      context_.fail_input(input, "has rank " + std::to_string(shape->size()) + ", expected " +
                                     std::to_string(result_->size()) + " as " + context_.input_label(first_));
    }
    for (std::size_t d = 0; d < shape->size(); ++d)
      if (d != axis_)
        (*result_)[d] = merge(context_, (*result_)[d], (*shape)[d],
                              "dimension " + std::to_string(d) + " of " + context_.input_label(input));
    add_length((*shape)[axis_], input);
  }

  std::optional<Shape> result() const {
    if (!result_) return std::nullopt;
    Shape shape = *result_;
    shape[axis_] = total_known_ ? total_ : Dim();
    return shape;
  }

 private:
  void add_length(const Dim& length, std::size_t input) {
    if (!length.known()) total_known_ = false;
    if (total_known_ && __builtin_add_overflow(total_.value, length.value, &total_.value))
      context_.fail_input(input, "makes the concatenation longer than memory can hold");
  }

  const InferContext& context_;
  std::int64_t axis_attribute_;
  std::optional<Shape> result_;
  std::size_t first_ = 0;
  std::size_t axis_ = 0;
  Dim total_{0};
  bool total_known_ = true;
};

void infer_concat(InferContext& context) {
  const std::size_t members = context.num_inputs() - kFirstTensor;
  if (members % 3 != 0)
    context.fail("input 'inputs' has " + std::to_string(members) +
                 " members, expected 3 (tensor, scale, zero point) for each tensor");
  const DataType type = context.input_type(1);
  require_scalar(context, 0);
  require_scalar(context, 1);
  Concatenation concatenation(context);
  for (std::size_t i = kFirstTensor; i < context.num_inputs(); i += 3) {
    if (type != DataType::undefined) {
      require_type(context, i, type);
      require_type(context, i + 2, type);
    }
    require_type(context, i + 1, DataType::float32);
    require_scalar(context, i + 1);
    require_scalar(context, i + 2);
    concatenation.add(i);
  }
  if (const auto shape = concatenation.result()) context.set_output_shape(0, *shape);
}

}  // namespace

void add_concat_ops(std::vector<OpDef>& ops) {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = "QLinearConcat";
  op.doc = R"(Concatenates quantized tensors along an axis, each quantized again to the scale and zero point of Y:

    x = f32((X - X_zero_point) * X_scale)
    Y = saturate(rint(f32(x / Y_scale)) + Y_zero_point)

f32() rounds to float32, rint() rounds half to even, saturate() clamps to the range of Y's type. A tensor whose
scale and zero point equal Y's is copied.)";
  op.attributes = {
      {"axis", AttributeType::integer, "The axis to concatenate along; negative values count from the end.", true}};
  op.inputs = {
      {"Y_scale", "TF", "Scale of Y; 1 element."},
      {"Y_zero_point", "T8", "Zero point of Y; 1 element. Its type is Y's."},
      {"inputs", "TV",
       "Three inputs for each tensor: the tensor, its scale and its zero point (1 element each, of Y's type).",
       PortOption::variadic, false},
  };
  op.outputs = {{"Y", "T8", "The tensors one after the other."}};
  op.type_constraints = {
      {"T8", {DataType::uint8, DataType::int8}, "Type of Y, the tensors and the zero points."},
      {"TF", {DataType::float32}, "Type of the scales."},
      {"TV", {DataType::uint8, DataType::int8, DataType::float32}, "Types of the members of inputs."}};
  op.family = Family::concat;
  op.infer = infer_concat;
  ops.push_back(std::move(op));
}

}  // namespace octet::core
