// DynamicQuantizeLinear, and the quantization of the left operand in DynamicQuantizeMatMul.
#include <algorithm>
#include <cmath>

#include "test/reference/operators.hpp"
#include "test/reference/tensor.hpp"

namespace octet::reference {

// The range is that of the data and 0; a NaN anywhere makes it, and with it the scale, NaN. All in float32:
//   scale = (max - min) / 255, or 1 where all elements are 0;  zero_point = saturate(round(0 - min / scale))
//   y = saturate(round(x / scale) + zero_point)
// ONNX leaves open what a quotient that is not a number becomes: as in onnxruntime, 255 for the zero point (min / scale
// with min infinite, or min and scale 0), and as in QuantizeLinear, 0 for y.
DynamicallyQuantized dynamically_quantized(const std::vector<float>& values) {
  float lowest = 0, highest = 0;
  for (const float value : values) {
    if (std::isnan(value) || std::isnan(lowest)) {
      lowest = highest = std::nanf("");
      continue;
    }
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  DynamicallyQuantized result;
  const float range = highest - lowest;
  result.scale = lowest == highest ? 1.0f : range / 255.0f;
  const float zero_point = 0.0f - lowest / result.scale;
  result.zero_point = std::isnan(zero_point) ? 255 : quantized(DataType::uint8, zero_point, 0);
  for (const float value : values)
    result.values.push_back(quantized(DataType::uint8, value / result.scale, result.zero_point));
  return result;
}

// Outputs: y, y_scale, y_zero_point
void dynamic_quantize_linear(const Node&, const Tensors& inputs, const Tensors& outputs) {
  const DynamicallyQuantized result = dynamically_quantized(floats(inputs[0]));
  if (count(outputs[0]) != count(inputs[0])) fail("the output does not have the extents of the input");
  for (std::size_t i = 0; i < result.values.size(); ++i)
    store_integer(outputs[0], static_cast<std::int64_t>(i), result.values[i]);
  store_float(outputs[1], 0, result.scale);
  store_integer(outputs[2], 0, result.zero_point);
}

}  // namespace octet::reference
