// QLinearAdd, QLinearMul, MulInteger: numpy's broadcasting of two 8-bit tensors. All float arithmetic is float32, in
// the order written here.
#include <algorithm>
#include <cmath>

#include "test/reference/operators.hpp"
#include "test/reference/tensor.hpp"

namespace octet::reference {
namespace {

std::int64_t zero_point(const TensorView& tensor, const std::string& what) {
  return tensor.present() ? scalar_integer(tensor, what) : 0;
}

/// compute(a, b) for each element of the broadcast output, which is stored.
template <class Compute>
void for_each_pair(const TensorView& a_tensor, const TensorView& b_tensor, const TensorView& output,
                   const Compute& compute) {
  const Dims dims = broadcast(dims_of(a_tensor), dims_of(b_tensor));
  if (dims_of(output) != dims) fail("the output does not have the extents that the operands broadcast to");
  const std::vector<std::int64_t> a = integers(a_tensor), b = integers(b_tensor);
  const Spread a_spread(dims_of(a_tensor), dims, "A"), b_spread(dims_of(b_tensor), dims, "B");
  Dims index(dims.size(), 0);
  for (std::int64_t i = 0; i < count(dims); ++i, advance(index, dims)) {
    const std::int64_t a_element = a[static_cast<std::size_t>(a_spread.at(index))];
    const std::int64_t b_element = b[static_cast<std::size_t>(b_spread.at(index))];
    store_integer(output, i, compute(a_element, b_element));
  }
}

/// The zero point is in `value` already.
std::int64_t saturated(DataType type, float value) { return quantized(type, value, 0); }

}  // namespace

// Inputs: A, A_scale, A_zero_point?, B, B_scale, B_zero_point?, C_scale, C_zero_point?.
// C = saturate(round(fma(A, ra, fma(B, rb, offset)))): as onnxruntime's kernel computes it on processors with FMA.
void qlinear_add(const Node&, const Tensors& inputs, const Tensors& outputs) {
  const float a_zero = static_cast<float>(zero_point(inputs[2], "A_zero_point"));
  const float b_zero = static_cast<float>(zero_point(inputs[5], "B_zero_point"));
  const float c_zero = static_cast<float>(zero_point(inputs[7], "C_zero_point"));
  const float c_scale = scalar_float(inputs[6], "C_scale");
  const float a_ratio = scalar_float(inputs[1], "A_scale") / c_scale;
  const float b_ratio = scalar_float(inputs[4], "B_scale") / c_scale;
  const float b_term = b_ratio * b_zero;
  const float zeros = std::fma(a_ratio, a_zero, b_term);
  const float offset = c_zero - zeros;
  for_each_pair(inputs[0], inputs[3], outputs[0], [&](std::int64_t a, std::int64_t b) {
    const float with_b = std::fma(static_cast<float>(b), b_ratio, offset);
    return saturated(outputs[0].dtype, std::fma(static_cast<float>(a), a_ratio, with_b));
  });
}

// The same inputs.  C = saturate(round((A - A_zero_point) * (B - B_zero_point) * (A_scale * B_scale / C_scale) +
// C_zero_point))
void qlinear_mul(const Node&, const Tensors& inputs, const Tensors& outputs) {
  const std::int64_t a_zero = zero_point(inputs[2], "A_zero_point"), b_zero = zero_point(inputs[5], "B_zero_point");
  const float c_zero = static_cast<float>(zero_point(inputs[7], "C_zero_point"));
  const float product_scale = scalar_float(inputs[1], "A_scale") * scalar_float(inputs[4], "B_scale");
  const float scale = product_scale / scalar_float(inputs[6], "C_scale");
  for_each_pair(inputs[0], inputs[3], outputs[0], [&](std::int64_t a, std::int64_t b) {
    const float product = static_cast<float>((a - a_zero) * (b - b_zero));
    const float scaled = product * scale;
    return saturated(outputs[0].dtype, scaled + c_zero);
  });
}

// Inputs: A, A_zero_point?, B, B_zero_point?.  C = (A - A_zero_point) * (B - B_zero_point)
void mul_integer(const Node&, const Tensors& inputs, const Tensors& outputs) {
  const std::int64_t a_zero = zero_point(inputs[1], "A_zero_point"), b_zero = zero_point(inputs[3], "B_zero_point");
  for_each_pair(inputs[0], inputs[2], outputs[0],
                [&](std::int64_t a, std::int64_t b) { return (a - a_zero) * (b - b_zero); });
}

}  // namespace octet::reference
