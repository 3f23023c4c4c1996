#include "provider/kernels/unary_table.hpp"

#include <cstring>
#include <numeric>

namespace octet::core {
namespace {

std::uint32_t bits_of(float value) noexcept {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

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

bool ByteFunction::has_parameters_of(const ByteFunction& other) const noexcept {
  return bits_of(x_scale) == bits_of(other.x_scale) && x_zero_point == other.x_zero_point &&
         bits_of(y_scale) == bits_of(other.y_scale) && y_zero_point == other.y_zero_point;
}

void ByteFunction::make_table(const UnaryLoops& loops, std::uint8_t* table) const {
  constexpr std::size_t kSize = vector::kTableSize;
  std::uint8_t bytes[kSize];
  std::iota(bytes, bytes + kSize, std::uint8_t{0});
  alignas(64) float values[kSize];
  const vector::Integer type = is_signed ? vector::kS8 : vector::kU8;
  loops.quantize.dequantize[type](bytes, kSize, x_scale, x_zero_point, values);
  if (kind == Kind::leaky_relu) loops.loops.leaky_relu(values, kSize, alpha, values);
  if (kind == Kind::sigmoid) loops.loops.sigmoid(values, kSize, values);
  loops.quantize.quantize[type](values, kSize, y_scale, y_zero_point, table);
}

}  // namespace octet::core
