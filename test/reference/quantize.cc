// QuantizeLinear and DequantizeLinear of ONNX and of com.microsoft.
#include "test/reference/operators.hpp"
#include "test/reference/tensor.hpp"

namespace octet::reference {
namespace {

constexpr std::int64_t kDivisionHasPrecision = 23;  // the opset from which the type of y_scale rules the division

/// Which element of a scale or zero point belongs to an index of x: one for all, one for each index along the axis, or
/// one for each block of block_size along the axis.
class Granularity {
 public:
  Granularity(const Node& node, const TensorView& parameter, const Dims& x) {
    const Dims dims = dims_of(parameter);
    if (!parameter.present() || (dims.size() <= 1 && count(dims) == 1)) return;
    const auto rank = static_cast<std::int64_t>(x.size());
    axis_ = integer_attribute(node, "axis", 1);
    if (axis_ < -rank || axis_ >= rank) fail("axis is out of range");
    if (axis_ < 0) axis_ += rank;
    const std::int64_t extent = x[static_cast<std::size_t>(axis_)];
    const std::int64_t block_size = integer_attribute(node, "block_size", 0);
    if (dims.size() == 1 && block_size == 0) {
      if (dims[0] != extent) fail("a parameter does not have one element for each index along the axis");
      strides_.assign(x.size(), 0);
      strides_[static_cast<std::size_t>(axis_)] = 1;
      return;
    }
    Dims blocked = x;
    if (block_size > 0 && extent > 0) blocked[static_cast<std::size_t>(axis_)] = (extent - 1) / block_size + 1;
    if (block_size <= 0 || dims != blocked) fail("a parameter's extents are neither per axis nor blocked");
    block_size_ = block_size;
    strides_.assign(x.size(), 1);
    for (std::size_t d = x.size(); d-- > 1;) strides_[d - 1] = strides_[d] * dims[d];
  }

  std::size_t at(const Dims& index) const {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < strides_.size(); ++d)
      position += (static_cast<std::int64_t>(d) == axis_ ? index[d] / block_size_ : index[d]) * strides_[d];
    return static_cast<std::size_t>(position);
  }

 private:
  std::int64_t axis_ = 0;
  std::int64_t block_size_ = 1;
  Dims strides_;
};

/// The type in which x / y_scale is computed.
DataType division_type(const Node& node, const TensorView& y_scale) {
  const std::int64_t precision = integer_attribute(node, "precision", 0);
  if (precision != 0) return static_cast<DataType>(precision);
  const bool is_onnx = node.domain.empty() || node.domain == "ai.onnx";
  return is_onnx && node.opset_version >= kDivisionHasPrecision ? y_scale.dtype : DataType::float32;
}

std::vector<std::int64_t> zero_points(const TensorView& tensor) {
  return tensor.present() ? integers(tensor) : std::vector<std::int64_t>{0};
}

void check_extents(const TensorView& x, const TensorView& y) {
  if (dims_of(x) != dims_of(y)) fail("the output does not have the extents of the input");
}

}  // namespace

// Inputs: x, y_scale, y_zero_point?.  y = saturate(round(x / y_scale) + y_zero_point)
void quantize_linear(const Node& node, const Tensors& inputs, const Tensors& outputs) {
  const TensorView &x_tensor = inputs[0], &y = outputs[0];
  check_extents(x_tensor, y);
  const Dims dims = dims_of(x_tensor);
  const std::vector<float> x = floats(x_tensor), scale = floats(inputs[1]);
  const std::vector<std::int64_t> zero_point = zero_points(inputs[2]);
  const Granularity scales(node, inputs[1], dims), zeros(node, inputs[2], dims);
  const DataType precision = division_type(node, inputs[1]);
  Dims index(dims.size(), 0);
  for (std::size_t i = 0; i < x.size(); ++i, advance(index, dims)) {
    const float divisor = rounded_to(precision, scale[scales.at(index)]);
    const float quotient = rounded_to(precision, rounded_to(precision, x[i]) / divisor);
    store_integer(y, static_cast<std::int64_t>(i), quantized(y.dtype, quotient, zero_point[zeros.at(index)]));
  }
}

// Inputs: x, x_scale, x_zero_point?.  y = float32(x - x_zero_point) * x_scale, rounded once to the output's type
void dequantize_linear(const Node& node, const Tensors& inputs, const Tensors& outputs) {
  const TensorView &x_tensor = inputs[0], &y = outputs[0];
  check_extents(x_tensor, y);
  const Dims dims = dims_of(x_tensor);
  const std::vector<std::int64_t> x = integers(x_tensor), zero_point = zero_points(inputs[2]);
  const std::vector<float> scale = floats(inputs[1]);
  const Granularity scales(node, inputs[1], dims), zeros(node, inputs[2], dims);
  Dims index(dims.size(), 0);
  for (std::size_t i = 0; i < x.size(); ++i, advance(index, dims)) {
    const auto difference = static_cast<float>(x[i] - zero_point[zeros.at(index)]);
    store_float(y, static_cast<std::int64_t>(i), difference * scale[scales.at(index)]);
  }
}

}  // namespace octet::reference
