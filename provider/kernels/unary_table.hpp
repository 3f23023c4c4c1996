// A function of one quantized byte: saturate(rint(f32(f(x) / y_scale)) + y_zero_point) of x = f32((X - x_zero_point) *
// x_scale).
#pragma once

#include <cstdint>

#include "provider/core/elementwise_loops.hpp"
#include "provider/kernels/elementwise.hpp"

namespace octet::core {

struct ByteFunction {
  enum class Kind { identity, leaky_relu, sigmoid };

  Kind kind = Kind::identity;
  float alpha = 0;  ///< of leaky_relu
  bool is_signed = false;
  float x_scale = 1;
  std::int32_t x_zero_point = 0;
  float y_scale = 1;
  std::int32_t y_zero_point = 0;

  /// The views as the operator's inputs; absent zero points are 0.
  void set_parameters(const TensorView& x_scale_view, const TensorView& x_zero_point_view,
                      const TensorView& y_scale_view, const TensorView& y_zero_point_view) noexcept;
  /// True where it is the identity of scales and zero points that are equal.
  bool copies() const noexcept;
  /// True where all bits of scales and zero points are those of `other`.
  bool has_parameters_of(const ByteFunction& other) const noexcept;
  /// table[x] = the function of the byte x
  void make_table(const UnaryLoops& loops, std::uint8_t* table) const;
};

/// The loops of the backend that computes functions of bytes.
Choice<UnaryLoops> choose_unary_loops(const Options& options, const std::string& label);

/// y = table[x], on the caller's threads; y may be x.
void look_up(const Call& call, const UnaryLoops& loops, const std::uint8_t* table, const std::uint8_t* x,
             std::int64_t elements, std::uint8_t* y);

}  // namespace octet::core
