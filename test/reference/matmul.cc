// MatMulInteger, QLinearMatMul, MatMulIntegerToFloat, DynamicQuantizeMatMul. All float arithmetic is float32, in the
// order written here; float16 and bfloat16 scales are float32 numbers.
#include "test/reference/operators.hpp"
#include "test/reference/product.hpp"

namespace octet::reference {
namespace {

/// The bias of column n, or nothing; any shape of n elements.
std::vector<float> bias_of(const ProductShape& shape, const TensorView& bias) {
  if (!bias.present()) return {};
  if (count(bias) != shape.n) fail("the bias does not have one element for each column");
  return floats(bias);
}

void check_elements(const TensorView& output, const ProductShape& shape) {
  if (count(output) != count(shape.y)) fail("the output does not have the extents of the product");
}

/// Y = float(sum) * (a_scale * b_scale), then + bias.
void to_float(const ProductShape& shape, const std::vector<std::int64_t>& a,
              const Parameter<std::int64_t>& a_zero_point, float a_scale, const TensorView& b,
              const TensorView& b_scale, const TensorView& b_zero_point, const TensorView& bias, const TensorView& y) {
  check_elements(y, shape);
  const std::vector<float> column_bias = bias_of(shape, bias);
  const Parameter<float> scale = column_scale(shape, b_scale);
  for_each_sum(shape, a, integers(b), a_zero_point, column_zero_point(shape, b_zero_point),
               [&](std::int64_t position, const Dims& index, std::int32_t sum) {
                 const float product_scale = a_scale * scale.at(index);
                 float value = static_cast<float>(sum) * product_scale;
                 if (!column_bias.empty()) value = value + column_bias[static_cast<std::size_t>(index.back())];
                 store_float(y, position, value);
               });
}

}  // namespace

// Inputs: A, B, a_zero_point?, b_zero_point?
void mat_mul_integer(const Node&, const Tensors& inputs, const Tensors& outputs) {
  const ProductShape shape(dims_of(inputs[0]), dims_of(inputs[1]));
  check_elements(outputs[0], shape);
  for_each_sum(shape, integers(inputs[0]), integers(inputs[1]), row_zero_point(shape, inputs[2]),
               column_zero_point(shape, inputs[3]),
               [&](std::int64_t position, const Dims&, std::int32_t sum) { store_integer(outputs[0], position, sum); });
}

// Inputs: a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point.
// Y = saturate(round(float(sum) * ((a_scale * b_scale) / y_scale)) + y_zero_point)
void qlinear_mat_mul(const Node&, const Tensors& inputs, const Tensors& outputs) {
  const ProductShape shape(dims_of(inputs[0]), dims_of(inputs[3]));
  check_elements(outputs[0], shape);
  const Parameter<float> a_scale = row_scale(shape, inputs[1]), b_scale = column_scale(shape, inputs[4]);
  const float y_scale = scalar_float(inputs[6], "y_scale");
  const std::int64_t y_zero_point = scalar_integer(inputs[7], "y_zero_point");
  for_each_sum(shape, integers(inputs[0]), integers(inputs[3]), row_zero_point(shape, inputs[2]),
               column_zero_point(shape, inputs[5]), [&](std::int64_t position, const Dims& index, std::int32_t sum) {
                 const float product_scale = a_scale.at(index) * b_scale.at(index);
                 const float scale = product_scale / y_scale;
                 const float value = static_cast<float>(sum) * scale;
                 store_integer(outputs[0], position, quantized(outputs[0].dtype, value, y_zero_point));
               });
}

// Inputs: A, B, a_scale, b_scale, a_zero_point?, b_zero_point?, bias?
void mat_mul_integer_to_float(const Node&, const Tensors& inputs, const Tensors& outputs) {
  const ProductShape shape(dims_of(inputs[0]), dims_of(inputs[1]));
  if (inputs[4].present()) scalar_integer(inputs[4], "a_zero_point");
  to_float(shape, integers(inputs[0]), row_zero_point(shape, inputs[4]), scalar_float(inputs[2], "a_scale"), inputs[1],
           inputs[3], inputs[5], inputs[6], outputs[0]);
}

// Inputs: A, B, b_scale, b_zero_point?, bias?. A is quantized as DynamicQuantizeLinear does, the whole tensor at once.
void dynamic_quantize_mat_mul(const Node&, const Tensors& inputs, const Tensors& outputs) {
  const ProductShape shape(dims_of(inputs[0]), dims_of(inputs[1]));
  const DynamicallyQuantized a = dynamically_quantized(floats(inputs[0]));
  const Parameter<std::int64_t> a_zero_point({a.zero_point}, {}, shape.y, "a_zero_point");
  to_float(shape, a.values, a_zero_point, a.scale, inputs[1], inputs[2], inputs[3], inputs[4], outputs[0]);
}

}  // namespace octet::reference
