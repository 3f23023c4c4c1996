// The loops of the LSTM's training: one step of one sequence forward and back. Gates stand one after the other, i, o,
// f, c; peepholes i, o, f.
#pragma once

#include "primitives/vector/lstm_kernels.hpp"

namespace octet::vector {

/// What all steps of one direction share.
struct LstmCell {
  std::int64_t units;
  ActivationFunction f, g, h;
  float clip;  ///< infinite: none
  bool input_forget;
  const float* bias;      ///< [4 * units]
  const float* peephole;  ///< [3 * units], or null
};

/// With gate = gates + state + bias, in place of the inference's CellStep:
///   i = f(clip(gate_i + P_i * c'));  f = f(clip(gate_f + P_f * c')), or 1 - i;  c = f * c' + i * g(clip(gate_c))
///   h = f(clip(gate_o + P_o * c)) * h(c),                                       where c' is c_before
struct CellForward {
  float* gates;           ///< [4 * units]: of the inputs; becomes what CellBackward takes
  const float* state;     ///< [4 * units]: the product with the state; null: 0
  const float* c_before;  ///< [units]
  float* c;               ///< may be c_before
  float* activated_c;     ///< h(c)
  float* h;
};

/// The chain rule through CellForward. At a kink of an activation function its left derivative counts, at the bounds of
/// the clip and of HardSigmoid the inner and the outer one.
struct CellBackward {
  float* gates;  ///< as CellForward left them; becomes the derivatives of gate_i, gate_o, gate_f, gate_c
  const float* c_before;
  const float* c;
  const float* activated_c;
  const float* dh;   ///< [units]: of h by the next step, or of Y_h; null: 0
  const float* dy;   ///< [units]: of h as an element of Y; null: 0
  float* dc;         ///< [units]: derivative of c, becomes that of c_before
  float* dbias;      ///< [4 * units]: the gates' derivatives are added
  float* dpeephole;  ///< [3 * units]: the peepholes' derivatives are added; not used where there are none
};

struct LstmTrainingKernels {
  void (*forward)(const LstmCell& cell, const CellForward& step);
  void (*backward)(const LstmCell& cell, const CellBackward& step);
};

}  // namespace octet::vector
