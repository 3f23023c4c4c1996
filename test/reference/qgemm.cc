// QGemm: Y = alpha * a_scale * b_scale * (sum + C), in float32, the scale first.
#include "test/reference/operators.hpp"
#include "test/reference/product.hpp"

namespace octet::reference {
namespace {

std::vector<std::int64_t> transposed(const std::vector<std::int64_t>& matrix, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> result(matrix.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      result[static_cast<std::size_t>(j * rows + i)] = matrix[static_cast<std::size_t>(i * columns + j)];
  return result;
}

struct Matrix {
  Matrix(const TensorView& tensor, bool transpose) : values(integers(tensor)), dims(dims_of(tensor)) {
    if (dims.size() != 2) fail("an operand of QGemm is not a matrix");
    if (!transpose) return;
    values = transposed(values, dims[0], dims[1]);
    dims = {dims[1], dims[0]};
  }
  std::vector<std::int64_t> values;
  Dims dims;
};

}  // namespace

// Inputs: A, a_scale, a_zero_point, B, b_scale, b_zero_point, C?, y_scale?, y_zero_point?
void qgemm(const Node& node, const Tensors& inputs, const Tensors& outputs) {
  const Matrix a(inputs[0], integer_attribute(node, "transA", 0) != 0);
  const Matrix b(inputs[3], integer_attribute(node, "transB", 0) != 0);
  const float alpha = float_attribute(node, "alpha", 1);
  const ProductShape shape(a.dims, b.dims);
  const TensorView &c_tensor = inputs[6], &y = outputs[0];
  if (count(y) != count(shape.y)) fail("the output does not have the extents of the product");

  const float a_scale = scalar_float(inputs[1], "a_scale");
  scalar_integer(inputs[2], "a_zero_point");
  const Parameter<float> b_scale = column_scale(shape, inputs[4]);
  const Parameter<std::int64_t> c(c_tensor.present() ? integers(c_tensor) : std::vector<std::int64_t>{0},
                                  dims_of(c_tensor), shape.y, "C");
  const bool quantize = inputs[7].present();
  if (quantize != inputs[8].present()) fail("QGemm needs both of y_scale and y_zero_point, or neither");
  const float y_scale = quantize ? scalar_float(inputs[7], "y_scale") : 1;
  const std::int64_t y_zero_point = quantize ? scalar_integer(inputs[8], "y_zero_point") : 0;

  for_each_sum(shape, a.values, b.values, row_zero_point(shape, inputs[2]), column_zero_point(shape, inputs[5]),
               [&](std::int64_t position, const Dims& index, std::int32_t sum) {
                 const std::int32_t total = wrapped(std::int64_t{sum} + c.at(index));
                 const float scaled_a = alpha * a_scale;
                 float scale = scaled_a * b_scale.at(index);
                 if (quantize) scale = scale / y_scale;
                 const float value = static_cast<float>(total) * scale;
                 if (quantize)
                   store_integer(y, position, quantized(y.dtype, value, y_zero_point));
                 else
                   store_float(y, position, value);
               });
}

}  // namespace octet::reference
