// QLinearLeakyRelu, QLinearSigmoid: a function of the dequantized element, quantized again. Float32 but for the
// sigmoid.
#include <cmath>

#include "test/reference/operators.hpp"
#include "test/reference/tensor.hpp"

namespace octet::reference {
namespace {

/// Inputs: X, X_scale, X_zero_point?, Y_scale, Y_zero_point?.  Y = saturate(round(f(x) / Y_scale) + Y_zero_point)
template <class Function>
void apply(const Tensors& inputs, const TensorView& y, const Function& function) {
  if (dims_of(inputs[0]) != dims_of(y)) fail("the output does not have the extents of the input");
  const float x_scale = scalar_float(inputs[1], "X_scale"), y_scale = scalar_float(inputs[3], "Y_scale");
  const std::int64_t x_zero = inputs[2].present() ? scalar_integer(inputs[2], "X_zero_point") : 0;
  const std::int64_t y_zero = inputs[4].present() ? scalar_integer(inputs[4], "Y_zero_point") : 0;
  const std::vector<std::int64_t> x = integers(inputs[0]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float value = static_cast<float>(x[i] - x_zero) * x_scale;
    const float quotient = function(value) / y_scale;
    store_integer(y, static_cast<std::int64_t>(i), quantized(y.dtype, quotient, y_zero));
  }
}

}  // namespace

void qlinear_leaky_relu(const Node& node, const Tensors& inputs, const Tensors& outputs) {
  const float alpha = float_attribute(node, "alpha", 0.01f);
  apply(inputs, outputs[0], [=](float x) { return x >= 0 ? x : alpha * x; });
}

// The sigmoid itself in double, rounded to float32.
void qlinear_sigmoid(const Node&, const Tensors& inputs, const Tensors& outputs) {
  apply(inputs, outputs[0], [](float x) { return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(x)))); });
}

}  // namespace octet::reference
