// The loops of the LSTM: from the sums of its two products to gates, cells and states.
//
// Units in blocks of 16, padded: a block's 64 columns are its gates i, o, f, c, 16 columns each, so that all that a
// cell needs stands together. Everything that has a value for each gate column has this order.
//
// Exponentials, with every operation rounded to float32 and fma rounded once:
//   expm1_parts(x): k = rint(x * log2(e));  r = x - k * ln 2 (two fma: ln 2 in two parts);
//                   p = r + r^2 * q(r), q of degree 4 (Horner's scheme of fma);  s = 2^k     so that exp(x) = s + s * p
//   sigmoid(x) = 1 / (1 + fma(p, s, s)) of -x clamped to [-87, 87]
//   tanh(x) = m / (m + 2), m = fma(p, s, s - 1) of 2 * x clamped to [-20, 20]
// Errors against the true function: sigmoid at most 2.5 units in the last place for x > -87 (below, it stays at
// 1.6e-38), tanh at most 2.6. NaN stays NaN. The bits are the same on every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "primitives/vector/rowwise_kernels.hpp"

namespace octet::vector {

constexpr std::int64_t kUnitBlock = 16;
constexpr std::int64_t kGates = 4;

constexpr std::int64_t padded_units(std::int64_t units) { return (units + kUnitBlock - 1) / kUnitBlock * kUnitBlock; }

/// The activation functions of ONNX's LSTM; a comparison with NaN is false.
enum class Activation {
  sigmoid,
  tanh,
  relu,              ///< x < 0 ? 0 : x
  affine,            ///< alpha * x + beta
  leaky_relu,        ///< x < 0 ? alpha * x : x
  thresholded_relu,  ///< x <= alpha ? 0 : x
  scaled_tanh,       ///< alpha * tanh(beta * x)
  hard_sigmoid,      ///< max(0, min(1, alpha * x + beta))
  elu,               ///< x < 0 ? alpha * fma(p, s, s - 1) of x clamped to [-87, 87] : x
  softsign,          ///< x / (1 + |x|)
  softplus,  ///< max(x, 0) + log(1 + e), e = exp(-|x|) = fma(p, s, s):  log(1 + e) = 2 * atanh(e / (2 + e)), series of
             ///< 8
};

struct ActivationFunction {
  Activation kind = Activation::sigmoid;
  float alpha = 0;
  float beta = 0;
};

/// One step of rows x columns / 4 cells, in place. With gate = inputs + value, each operation rounded:
///   i = f(clip(gate_i + peephole_i * c));  f = f(clip(gate_f + peephole_f * c)), or 1 - i where input_forget
///   c = f * c + i * g(clip(gate_c));       h = f(clip(gate_o + peephole_o * c)) * h(c)
struct CellStep {
  RowwiseSums sums;  ///< columns are a multiple of 64; acc is null where `inputs` has the value in it already
  const float* inputs;
  std::int64_t inputs_stride;
  const float* peephole;  ///< or null
  float* c;
  float* h;
  std::int64_t state_stride;  ///< of c and h
  ActivationFunction f, g, h_function;
  float clip;  ///< infinite: none
  bool input_forget;
};

struct LstmKernels {
  void (*cell_step)(const CellStep& step);
  /// y = function(x), for tests
  void (*activate)(const ActivationFunction& function, const float* x, std::size_t n, float* y);
};

}  // namespace octet::vector
