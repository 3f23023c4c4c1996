// Steps of the LSTM's training.
#include "primitives/vector/isa/activations.hpp"
#include "primitives/vector/isa/for_lanes.hpp"
#include "primitives/vector/lstm_training_kernels.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

/// y is function(x).
OCTET_INLINE Floats derivative(const ActivationFunction& function, Floats x, Floats y) {
  const Floats alpha = spread(function.alpha), beta = spread(function.beta), zero = spread(0.0F), one = spread(1.0F);
  const auto where_positive = [&](Floats inside, Floats outside) __attribute__((always_inline)) {
    return where<_CMP_GT_OQ>(x, zero, inside, outside);
  };
  switch (function.kind) {
    case Activation::sigmoid:
      return y * (one - y);
    case Activation::tanh:
      return one - y * y;
    case Activation::relu:
      return where_positive(one, zero);
    case Activation::affine:
      return alpha;
    case Activation::leaky_relu:
      return where_positive(one, alpha);
    case Activation::thresholded_relu:
      return where<_CMP_GT_OQ>(x, alpha, one, zero);
    case Activation::scaled_tanh: {
      const Floats t = tanh(beta * x);
      return alpha * beta * (one - t * t);
    }
    case Activation::hard_sigmoid:
      return where<_CMP_GT_OQ>(y, zero, where<_CMP_LT_OQ>(y, one, alpha, zero), zero);
    case Activation::elu:
      return where_positive(one, y + alpha);
    case Activation::softsign: {
      const Floats d = one + magnitude(x);
      return div(one, d * d);
    }
    case Activation::softplus:
      return sigmoid(x);
  }
  return one;
}

/// The functions of nearly every LSTM, known while compiling; their derivatives follow from their values, which is what
/// the forward pass leaves for the backward pass.
struct UsualFunctions {
  explicit UsualFunctions(const LstmCell&) {}
  template <class Lanes>
  OCTET_INLINE Floats with_peephole(const Lanes&, std::int64_t, Floats, Floats gate) const {
    return gate;
  }
  OCTET_INLINE Floats f(Floats x) const { return sigmoid(x); }
  OCTET_INLINE Floats g(Floats x) const { return tanh(x); }
  OCTET_INLINE Floats h(Floats x) const { return tanh(x); }
  OCTET_INLINE Floats kept(Floats, Floats value) const { return value; }
  OCTET_INLINE Floats f_value(Floats kept) const { return kept; }
  OCTET_INLINE Floats g_value(Floats kept) const { return kept; }
  OCTET_INLINE Floats f_derivative(Floats, Floats y) const { return y * (spread(1.0F) - y); }
  OCTET_INLINE Floats g_derivative(Floats, Floats y) const { return spread(1.0F) - y * y; }
  OCTET_INLINE Floats h_derivative(Floats, Floats y) const { return spread(1.0F) - y * y; }
  static constexpr bool kUsual = true;
};

/// Any functions: the forward pass leaves their arguments.
struct AnyFunctions {
  const LstmCell& cell;

  explicit AnyFunctions(const LstmCell& given) : cell(given) {}
  template <class Lanes>
  OCTET_INLINE Floats with_peephole(const Lanes& lanes, std::int64_t at, Floats c, Floats gate) const {
    return cell.peephole ? gate + lanes.get(cell.peephole + at) * c : gate;
  }
  OCTET_INLINE Floats clip(Floats x) const { return clamp(x, -cell.clip, cell.clip); }
  Floats f(Floats x) const { return activate(cell.f, clip(x)); }
  Floats g(Floats x) const { return activate(cell.g, clip(x)); }
  Floats h(Floats x) const { return activate(cell.h, x); }
  OCTET_INLINE Floats kept(Floats argument, Floats) const { return argument; }
  Floats f_value(Floats kept) const { return f(kept); }
  Floats g_value(Floats kept) const { return g(kept); }
  OCTET_INLINE Floats inside_clip(Floats x, Floats slope) const {
    return where<_CMP_LE_OQ>(magnitude(x), spread(cell.clip), slope, spread(0.0F));
  }
  Floats f_derivative(Floats x, Floats y) const { return inside_clip(x, derivative(cell.f, clip(x), y)); }
  Floats g_derivative(Floats x, Floats y) const { return inside_clip(x, derivative(cell.g, clip(x), y)); }
  Floats h_derivative(Floats x, Floats y) const { return derivative(cell.h, x, y); }
  static constexpr bool kUsual = false;
};

template <class Functions>
void forward_of(const LstmCell& cell, const CellForward& step) {
  const Functions functions(cell);
  const std::int64_t units = cell.units;
  for_lanes(units, [&](std::int64_t unit, const auto& lanes) __attribute__((always_inline)) {
    const std::int64_t at_i = unit, at_o = units + unit, at_f = 2 * units + unit, at_c = 3 * units + unit;
    const auto gate = [&](std::int64_t at) __attribute__((always_inline)) {
      const Floats input = lanes.get(step.gates + at) + lanes.get(cell.bias + at);
      return step.state ? input + lanes.get(step.state + at) : input;
    };
    const Floats before = lanes.get(step.c_before + unit);
    const Floats gate_i = functions.with_peephole(lanes, at_i, before, gate(at_i));
    const Floats gate_f = functions.with_peephole(lanes, at_f, before, gate(at_f));
    const Floats gate_c = gate(at_c);
    const Floats i = functions.f(gate_i), g = functions.g(gate_c);
    const bool coupled = !Functions::kUsual && cell.input_forget;
    const Floats f = coupled ? spread(1.0F) - i : functions.f(gate_f);
    const Floats c = fma(f, before, i * g);
    const Floats gate_o = functions.with_peephole(lanes, at_o, c, gate(at_o));
    const Floats o = functions.f(gate_o), activated = functions.h(c);
    lanes.put(step.gates + at_i, functions.kept(gate_i, i));
    lanes.put(step.gates + at_o, functions.kept(gate_o, o));
    lanes.put(step.gates + at_f, functions.kept(gate_f, f));
    lanes.put(step.gates + at_c, functions.kept(gate_c, g));
    lanes.put(step.c + unit, c);
    lanes.put(step.activated_c + unit, activated);
    lanes.put(step.h + unit, o * activated);
  });
}

template <class Lanes>
OCTET_INLINE void add_to(const Lanes& lanes, float* sum, Floats value) {
  lanes.put(sum, lanes.get(sum) + value);
}

template <class Functions>
void backward_of(const LstmCell& cell, const CellBackward& step) {
  const Functions functions(cell);
  const std::int64_t units = cell.units;
  const Floats zero = spread(0.0F);
  for_lanes(units, [&](std::int64_t unit, const auto& lanes) __attribute__((always_inline)) {
    const std::int64_t at_i = unit, at_o = units + unit, at_f = 2 * units + unit, at_c = 3 * units + unit;
    const bool coupled = !Functions::kUsual && cell.input_forget;
    const bool peeps = !Functions::kUsual && cell.peephole != nullptr;
    const Floats x_i = lanes.get(step.gates + at_i), x_o = lanes.get(step.gates + at_o);
    const Floats x_f = lanes.get(step.gates + at_f), x_c = lanes.get(step.gates + at_c);
    const Floats i = functions.f_value(x_i), o = functions.f_value(x_o), g = functions.g_value(x_c);
    const Floats f = coupled ? spread(1.0F) - i : functions.f_value(x_f);
    const Floats before = lanes.get(step.c_before + unit), c = lanes.get(step.c + unit);
    const Floats activated = lanes.get(step.activated_c + unit);
    Floats dh = step.dh ? lanes.get(step.dh + unit) : zero;
    if (step.dy) dh = dh + lanes.get(step.dy + unit);
    const Floats d_o = dh * activated * functions.f_derivative(x_o, o);
    Floats dc = fma(dh * o, functions.h_derivative(c, activated), lanes.get(step.dc + unit));
    if (peeps) dc = fma(d_o, lanes.get(cell.peephole + at_o), dc);
    const Floats d_i = dc * (coupled ? g - before : g) * functions.f_derivative(x_i, i);
    const Floats d_f = coupled ? zero : dc * before * functions.f_derivative(x_f, f);
    const Floats d_c = dc * i * functions.g_derivative(x_c, g);
    Floats dc_before = dc * f;
    if (peeps) {
      dc_before = fma(d_i, lanes.get(cell.peephole + at_i), dc_before);
      dc_before = fma(d_f, lanes.get(cell.peephole + at_f), dc_before);
      add_to(lanes, step.dpeephole + at_i, d_i * before);
      add_to(lanes, step.dpeephole + at_o, d_o * c);
      add_to(lanes, step.dpeephole + at_f, d_f * before);
    }
    lanes.put(step.dc + unit, dc_before);
    const Floats derivatives[] = {d_i, d_o, d_f, d_c};
    for (std::int64_t gate = 0; gate < kGates; ++gate) {
      lanes.put(step.gates + gate * units + unit, derivatives[gate]);
      add_to(lanes, step.dbias + gate * units + unit, derivatives[gate]);
    }
  });
}

bool is_usual(const LstmCell& cell) {
  return cell.f.kind == Activation::sigmoid && cell.g.kind == Activation::tanh && cell.h.kind == Activation::tanh &&
         cell.clip == __builtin_inff() && !cell.input_forget && cell.peephole == nullptr;
}

void forward(const LstmCell& cell, const CellForward& step) {
  is_usual(cell) ? forward_of<UsualFunctions>(cell, step) : forward_of<AnyFunctions>(cell, step);
}

void backward(const LstmCell& cell, const CellBackward& step) {
  is_usual(cell) ? backward_of<UsualFunctions>(cell, step) : backward_of<AnyFunctions>(cell, step);
}

}  // namespace

const LstmTrainingKernels kLstmTraining = {forward, backward};

}  // namespace octet::vector::OCTET_ISA
