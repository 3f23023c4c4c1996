// Activation functions of one register of float32 lanes (primitives/vector/lstm_kernels.hpp).
#pragma once

#include "primitives/vector/isa/lanes.hpp"
#include "primitives/vector/lstm_kernels.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

#ifdef __AVX512F__
/// x where the comparison of a and b holds, else y.
template <int kComparison>
OCTET_INLINE Floats where(Floats a, Floats b, Floats x, Floats y) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, kComparison), y, x);
}
OCTET_INLINE Floats magnitude(Floats x) { return _mm512_abs_ps(x); }
/// 2^k, where the lowest bits of `shifted` hold k.
OCTET_INLINE Floats power(Floats shifted) {
  const Ints exponent = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
  return _mm512_castsi512_ps(_mm512_add_epi32(exponent, _mm512_castps_si512(spread(1.0F))));
}
#else
template <int kComparison>
OCTET_INLINE Floats where(Floats a, Floats b, Floats x, Floats y) {
  return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, kComparison));
}
OCTET_INLINE Floats magnitude(Floats x) { return _mm256_andnot_ps(spread(-0.0F), x); }
OCTET_INLINE Floats power(Floats shifted) {
  const Ints exponent = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(exponent, _mm256_castps_si256(spread(1.0F))));
}
#endif

/// NaN stays.
OCTET_INLINE Floats clamp(Floats x, float lowest, float highest) {
  return max(spread(lowest), min(spread(highest), x));
}

OCTET_INLINE Floats where_negative(Floats a, Floats x, Floats y) { return where<_CMP_LT_OQ>(a, spread(0.0F), x, y); }

constexpr float kExpBound = 87;

/// exp(x) = s + s * p, where s is a power of 2: also exp(x) - 1 = (s - 1) + s * p without cancellation. |x| <= 87.
struct Exponential {
  Floats p, s;

  explicit OCTET_INLINE Exponential(Floats x) {
    const Floats round = spread(0x1.8p23F);  // adding it leaves the nearest integer in the lowest bits
    const Floats shifted = fma(x, spread(0x1.715476p+0F), round);
    const Floats k = shifted - round;
    const Floats r = fnma(k, spread(-0x1.05c610p-29F), fnma(k, spread(0x1.62e430p-1F), x));
    Floats q = spread(0x1.6d9960p-10F);
    q = fma(q, r, spread(0x1.12283ap-7F));
    q = fma(q, r, spread(0x1.555486p-5F));
    q = fma(q, r, spread(0x1.5554b0p-3F));
    q = fma(q, r, spread(0.5F));
    p = fma(r * r, q, r);
    s = power(shifted);
  }
  OCTET_INLINE Floats value() const { return fma(p, s, s); }
  OCTET_INLINE Floats minus_one() const { return fma(p, s, s - spread(1.0F)); }
};

OCTET_INLINE Floats sigmoid(Floats x) {
  const Exponential e(clamp(spread(0.0F) - x, -kExpBound, kExpBound));
  return div(spread(1.0F), spread(1.0F) + e.value());
}

OCTET_INLINE Floats tanh(Floats x) {
  const Floats m = Exponential(clamp(x + x, -20, 20)).minus_one();
  return div(m, m + spread(2.0F));
}

OCTET_INLINE Floats softplus(Floats x) {
  const Floats e = Exponential(clamp(spread(0.0F) - magnitude(x), -kExpBound, kExpBound)).value();
  const Floats z = div(e, e + spread(2.0F));
  const Floats z2 = z * z;
  Floats series = spread(1.0F / 15);
  for (int divisor = 13; divisor > 0; divisor -= 2) series = series * z2 + spread(1.0F / static_cast<float>(divisor));
  return max(spread(0.0F), x) + (z + z) * series;
}

OCTET_INLINE Floats activate(const ActivationFunction& function, Floats x) {
  const Floats alpha = spread(function.alpha), beta = spread(function.beta), zero = spread(0.0F);
  switch (function.kind) {
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::tanh:
      return tanh(x);
    case Activation::relu:
      return where_negative(x, zero, x);
    case Activation::affine:
      return alpha * x + beta;
    case Activation::leaky_relu:
      return where_negative(x, alpha * x, x);
    case Activation::thresholded_relu:
      return where<_CMP_LE_OQ>(x, alpha, zero, x);
    case Activation::scaled_tanh:
      return alpha * tanh(beta * x);
    case Activation::hard_sigmoid:
      return clamp(alpha * x + beta, 0, 1);
    case Activation::elu:
      return where_negative(x, alpha * Exponential(clamp(x, -kExpBound, kExpBound)).minus_one(), x);
    case Activation::softsign:
      return div(x, spread(1.0F) + magnitude(x));
    case Activation::softplus:
      return softplus(x);
  }
  return x;
}

}  // namespace
}  // namespace octet::vector::OCTET_ISA
