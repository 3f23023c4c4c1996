// QLinearConcat.
#include "test/reference/operators.hpp"
#include "test/reference/tensor.hpp"

namespace octet::reference {

// Inputs: Y_scale, Y_zero_point, then tensor, scale and zero point of each part. A part with Y's scale and zero point
// is copied, another becomes saturate(round((X - X_zero_point) * X_scale / Y_scale) + Y_zero_point), in float32.
void qlinear_concat(const Node& node, const Tensors& inputs, const Tensors& outputs) {
  const TensorView& y = outputs[0];
  const Dims full = dims_of(y);
  const auto rank = static_cast<std::int64_t>(full.size());
  if (inputs.size() % 3 != 2) fail("the inputs do not come in threes");
  std::int64_t axis = integer_attribute(node, "axis", 0);
  if (axis < -rank || axis >= rank) fail("axis is out of range");
  if (axis < 0) axis += rank;
  const auto at = static_cast<std::size_t>(axis);
  const float y_scale = scalar_float(inputs[0], "Y_scale");
  const std::int64_t y_zero_point = scalar_integer(inputs[1], "Y_zero_point");
  Dims strides(full.size(), 1);
  for (std::size_t d = full.size(); d-- > 1;) strides[d - 1] = strides[d] * full[d];
  std::int64_t offset = 0;  // of the part along the axis
  for (std::size_t i = 2; i < inputs.size(); i += 3) {
    const Dims dims = dims_of(inputs[i]);
    Dims like_full = dims;
    if (dims.size() != full.size()) fail("a part has another rank");
    like_full[at] = full[at];
    if (like_full != full || offset + dims[at] > full[at]) fail("a part does not fit");
    const float scale = scalar_float(inputs[i + 1], "a scale");
    const std::int64_t zero_point = scalar_integer(inputs[i + 2], "a zero point");
    const bool copied = scale == y_scale && zero_point == y_zero_point;
    const std::vector<std::int64_t> x = integers(inputs[i]);
    Dims index(dims.size(), 0);
    for (const std::int64_t element : x) {
      std::int64_t position = offset * strides[at];
      for (std::size_t d = 0; d < dims.size(); ++d) position += index[d] * strides[d];
      const float value = static_cast<float>(element - zero_point) * scale;
      store_integer(y, position, copied ? element : quantized(y.dtype, value / y_scale, y_zero_point));
      advance(index, dims);
    }
    offset += dims[at];
  }
  if (offset != full[at]) fail("the output is longer than its parts");
}

}  // namespace octet::reference
