// Activation functions of a product's outputs (OutputActivation), a register of float32 lanes at a time.
#pragma once

#include "primitives/vector/isa/activations.hpp"
#include "primitives/vector/rowwise_kernels.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

OCTET_INLINE Floats bounded_exp(Floats x, float highest) { return Exponential(clamp(x, -kExpBound, highest)).value(); }

// Where an exponential would leave its range, products with it are 0: also those of an infinity.
constexpr float kTailBound = 13.19F;

/// x * erfc(u / sqrt 2) / 2 for u = |x|:  exp(-u^2 / 2) * (x * (t * q(t))), t = 1 / (1 + 0.35 u). q, of degree 8, is
/// the minimax polynomial of relative error 3.2e-8 up to the bound. The square's rounding error is carried along, since
/// the exponential would magnify it.
OCTET_INLINE Floats gaussian_tail(Floats x) {
  const Floats u = magnitude(x), bounded = min(spread(kTailBound), u);
  const Floats square = bounded * bounded;
  const Floats rest = fma(bounded, bounded, spread(0.0F) - square);
  const Floats e = bounded_exp(square * spread(-0.5F), 0);
  const Floats gaussian = fnma(e, rest * spread(0.5F), e);
  const Floats t = div(spread(1.0F), fma(bounded, spread(0.35F), spread(1.0F)));
  Floats q = spread(-0x1.dd04d6p-6F);
  q = fma(q, t, spread(0x1.268a0ep-3F));
  q = fma(q, t, spread(-0x1.058506p-2F));
  q = fma(q, t, spread(0x1.4536bap-3F));
  q = fma(q, t, spread(-0x1.764244p-6F));
  q = fma(q, t, spread(0x1.afaf7cp-4F));
  q = fma(q, t, spread(0x1.eaf59ap-4F));
  q = fma(q, t, spread(0x1.1e6da4p-3F));
  q = fma(q, t, spread(0x1.1df1f6p-3F));
  return where<_CMP_GT_OQ>(u, spread(kTailBound), spread(0.0F), gaussian * (x * (t * q)));
}

OCTET_INLINE Floats gelu(Floats x) {
  const Floats tail = gaussian_tail(x);
  return where_negative(x, tail, x - tail);
}

OCTET_INLINE Floats mish(Floats x, Floats threshold) {
  const Floats e = bounded_exp(x, 20);
  const Floats t = e * (e + spread(2.0F));
  const Floats product = where<_CMP_LT_OQ>(x, spread(-kExpBound), spread(0.0F), x * div(t, t + spread(2.0F)));
  return where<_CMP_GT_OQ>(x, threshold, x, product);
}

OCTET_INLINE Floats swish(Floats x, Floats slope) {
  const Floats exponent = spread(0.0F) - slope * x;
  const Floats quotient = div(x, spread(1.0F) + bounded_exp(exponent, kExpBound));
  return where<_CMP_GT_OQ>(exponent, spread(kExpBound), spread(0.0F), quotient);
}

/// One register at a time of function(x, i), where i counts elements.
template <class Function>
OCTET_INLINE void map(float* x, std::size_t n, const Function& function) {
  for (std::size_t i = 0; i < n; i += kLanes) store(x + i, function(load(x + i), i));
}

/// x[0..n) in place, whole registers: n is a multiple of kLanes, and prelu reads as many parameters.
inline void activate_registers(OutputActivation activation, const float* p, float* x, std::size_t n) {
  const Floats zero = spread(0.0F);
  switch (activation) {
    case OutputActivation::identity:
      return;
    case OutputActivation::relu:
      return map(x, n, [&](Floats v, std::size_t) { return where_negative(v, zero, v); });
    case OutputActivation::leaky_relu:
      return map(x, n, [&](Floats v, std::size_t) { return where_negative(v, spread(p[0]) * v, v); });
    case OutputActivation::restrict_range:
      return map(x, n, [&](Floats v, std::size_t) { return min(spread(p[1]), max(spread(p[0]), v)); });
    case OutputActivation::prelu:
      return map(x, n, [&](Floats v, std::size_t i) { return where_negative(v, load(p + i) * v, v); });
    case OutputActivation::elu:
      return map(x, n, [&](Floats v, std::size_t) {
        return where_negative(v, spread(p[0]) * Exponential(clamp(v, -kExpBound, kExpBound)).minus_one(), v);
      });
    case OutputActivation::hswish:
      return map(x, n, [&](Floats v, std::size_t) {
        return max(zero, min(spread(p[0]), v) + spread(p[0])) * spread(p[1]) * v;
      });
    case OutputActivation::mish:
      return map(x, n, [&](Floats v, std::size_t) { return mish(v, spread(p[0])); });
    case OutputActivation::hard_sigmoid:
      return map(x, n,
                 [&](Floats v, std::size_t) { return min(spread(1.0F), max(zero, v * spread(p[0]) + spread(p[1]))); });
    case OutputActivation::swish:
      return map(x, n, [&](Floats v, std::size_t) { return swish(v, spread(p[0])); });
    case OutputActivation::gelu:
      return map(x, n, [&](Floats v, std::size_t) { return gelu(v); });
  }
}

}  // namespace
}  // namespace octet::vector::OCTET_ISA
