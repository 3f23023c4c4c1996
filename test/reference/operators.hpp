// The operators of the reference. Each takes the node and its tensors, padded with absent ones to the definition's
// length.
#pragma once

#include <octet/octet.hpp>
#include <vector>

namespace octet::reference {

using Tensors = std::vector<TensorView>;

// matmul.cc
void mat_mul_integer(const Node& node, const Tensors& inputs, const Tensors& outputs);
void qlinear_mat_mul(const Node& node, const Tensors& inputs, const Tensors& outputs);
void mat_mul_integer_to_float(const Node& node, const Tensors& inputs, const Tensors& outputs);
void dynamic_quantize_mat_mul(const Node& node, const Tensors& inputs, const Tensors& outputs);
// qgemm.cc
void qgemm(const Node& node, const Tensors& inputs, const Tensors& outputs);
// quantize.cc
void quantize_linear(const Node& node, const Tensors& inputs, const Tensors& outputs);
void dequantize_linear(const Node& node, const Tensors& inputs, const Tensors& outputs);
// dynamic_quantize.cc
void dynamic_quantize_linear(const Node& node, const Tensors& inputs, const Tensors& outputs);
// binary.cc
void qlinear_add(const Node& node, const Tensors& inputs, const Tensors& outputs);
void qlinear_mul(const Node& node, const Tensors& inputs, const Tensors& outputs);
void mul_integer(const Node& node, const Tensors& inputs, const Tensors& outputs);
// unary.cc
void qlinear_leaky_relu(const Node& node, const Tensors& inputs, const Tensors& outputs);
void qlinear_sigmoid(const Node& node, const Tensors& inputs, const Tensors& outputs);
// reduce.cc
void reduce_sum_integer(const Node& node, const Tensors& inputs, const Tensors& outputs);
void qlinear_reduce_mean(const Node& node, const Tensors& inputs, const Tensors& outputs);
// concat.cc
void qlinear_concat(const Node& node, const Tensors& inputs, const Tensors& outputs);

// lstm.cc
void dynamic_quantize_lstm(const Node& node, const Tensors& inputs, const Tensors& outputs);

/// A tensor quantized to uint8 with one scale and zero point of its own.
struct DynamicallyQuantized {
  std::vector<std::int64_t> values;
  float scale = 1;
  std::int64_t zero_point = 0;
};
DynamicallyQuantized dynamically_quantized(const std::vector<float>& values);

}  // namespace octet::reference
