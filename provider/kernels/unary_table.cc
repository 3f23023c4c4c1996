#include "provider/kernels/unary_table.hpp"

#include <numeric>

namespace octet::core {

void ByteFunction::set_parameters(const TensorView& x_scale_view, const TensorView& x_zero_point_view,
                                  const TensorView& y_scale_view, const TensorView& y_zero_point_view) noexcept {
  x_scale = scale_of(x_scale_view);
  x_zero_point = zero_point_of(x_zero_point_view);
  y_scale = scale_of(y_scale_view);
  y_zero_point = zero_point_of(y_zero_point_view);
}

bool ByteFunction::copies() const noexcept {
  return kind == Kind::identity && x_scale == y_scale && x_zero_point == y_zero_point;
}

void ByteFunction::apply(const UnaryLoops& loops, const std::uint8_t* x, std::size_t n, std::uint8_t* y) const {
  constexpr std::size_t kBlock = vector::kTableSize;
  alignas(64) float values[kBlock];
  const vector::Integer type = is_signed ? vector::kS8 : vector::kU8;
  for (; n > 0; x += kBlock, y += kBlock) {
    const std::size_t count = std::min(n, kBlock);
    loops.quantize.dequantize[type](x, count, x_scale, x_zero_point, values);
    if (kind == Kind::leaky_relu) loops.loops.leaky_relu(values, count, alpha, values);
    if (kind == Kind::sigmoid) loops.loops.sigmoid(values, count, values);
    loops.quantize.quantize[type](values, count, y_scale, y_zero_point, y);
    n -= count;
  }
}

void ByteFunction::make_table(const UnaryLoops& loops, std::uint8_t* table) const {
  std::uint8_t bytes[vector::kTableSize];
  std::iota(bytes, bytes + vector::kTableSize, std::uint8_t{0});
  apply(loops, bytes, vector::kTableSize, table);
}

}  // namespace octet::core
