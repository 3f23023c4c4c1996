// Cells and states of the LSTM.
#include "primitives/vector/isa/row_sums.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

/// The functions of nearly every LSTM, known while compiling.
struct UsualFunctions {
  explicit UsualFunctions(const CellStep&) {}
  OCTET_INLINE Floats with_peephole(std::int64_t, Floats, Floats gate) const { return gate; }
  OCTET_INLINE Floats f(Floats x) const { return sigmoid(x); }
  OCTET_INLINE Floats g(Floats x) const { return tanh(x); }
  OCTET_INLINE Floats h(Floats x) const { return tanh(x); }
  OCTET_INLINE Floats forget(Floats, Floats gate) const { return sigmoid(gate); }
};

struct AnyFunctions {
  const CellStep& step;

  explicit AnyFunctions(const CellStep& given) : step(given) {}
  /// The gate at column n with its peephole of c.
  OCTET_INLINE Floats with_peephole(std::int64_t n, Floats c, Floats gate) const {
    return step.peephole ? gate + load(step.peephole + n) * c : gate;
  }
  OCTET_INLINE Floats clip(Floats x) const { return clamp(x, -step.clip, step.clip); }
  Floats f(Floats x) const { return activate(step.f, clip(x)); }
  Floats g(Floats x) const { return activate(step.g, clip(x)); }
  Floats h(Floats x) const { return activate(step.h_function, x); }
  OCTET_INLINE Floats forget(Floats input, Floats gate) const {
    return step.input_forget ? spread(1.0F) - input : f(gate);
  }
};

/// Gates to which the product with the state is still to be added.
template <bool kZeroPoint>
struct InputGates {
  const RowwiseSums& sums;
  Row row;

  OCTET_INLINE InputGates(const RowwiseSums& given, std::int64_t m) : sums(given), row(given, m) {}
  OCTET_INLINE Floats gate(Floats inputs, std::int64_t n) const {
    return inputs + row.value(n, Columns<kZeroPoint>(sums, n));
  }
};

struct WholeGates {
  OCTET_INLINE WholeGates(const RowwiseSums&, std::int64_t) {}
  OCTET_INLINE Floats gate(Floats inputs, std::int64_t) const { return inputs; }
};

// First what needs the gates, with o in the state's place, then the states: two short chains of operations where one
// long one would leave the processor waiting.
template <class Gates, class Functions>
void cell_step_of(const CellStep& step) {
  const Functions functions(step);
  const std::int64_t units = step.sums.columns / kGates;
  for (std::int64_t m = 0; m < step.sums.rows; ++m) {
    const Gates gates(step.sums, m);
    const float* inputs = step.inputs + m * step.inputs_stride;
    float* cells = step.c + m * step.state_stride;
    float* states = step.h + m * step.state_stride;
    for (std::int64_t block = 0; block < units; block += kUnitBlock)
      for (std::int64_t unit = block; unit < block + kUnitBlock; unit += kWidth) {
        const std::int64_t at_i = kGates * block + unit - block;
        const std::int64_t at_o = at_i + kUnitBlock, at_f = at_o + kUnitBlock, at_c = at_f + kUnitBlock;
        const auto gate = [&](std::int64_t n)
                              __attribute__((always_inline)) { return gates.gate(load(inputs + n), n); };
        const Floats before = load(cells + unit);
        const Floats i = functions.f(functions.with_peephole(at_i, before, gate(at_i)));
        const Floats f = functions.forget(i, functions.with_peephole(at_f, before, gate(at_f)));
        const Floats c = f * before + i * functions.g(gate(at_c));
        store(cells + unit, c);
        store(states + unit, functions.f(functions.with_peephole(at_o, c, gate(at_o))));
      }
  }
  for (std::int64_t m = 0; m < step.sums.rows; ++m)
    for (std::int64_t at = m * step.state_stride; at < m * step.state_stride + units; at += kWidth)
      store(step.h + at, load(step.h + at) * functions.h(load(step.c + at)));
}

bool is_usual(const CellStep& step) {
  return step.f.kind == Activation::sigmoid && step.g.kind == Activation::tanh &&
         step.h_function.kind == Activation::tanh && step.clip == __builtin_inff() && !step.input_forget &&
         step.peephole == nullptr;
}

template <class Functions>
void cell_step_of(const CellStep& step) {
  if (step.sums.acc == nullptr) return cell_step_of<WholeGates, Functions>(step);
  step.sums.zero_point ? cell_step_of<InputGates<true>, Functions>(step)
                       : cell_step_of<InputGates<false>, Functions>(step);
}

void cell_step(const CellStep& step) {
  is_usual(step) ? cell_step_of<UsualFunctions>(step) : cell_step_of<AnyFunctions>(step);
}

void activate_all(const ActivationFunction& function, const float* x, std::size_t n, float* y) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, activate(function, load(x + i)));
  if (i == n) return;
  float rest[kLanes];
  store(rest, activate(function, load(x + i, n - i)));
  __builtin_memcpy(y + i, rest, (n - i) * sizeof *y);
}

}  // namespace

const LstmKernels kLstm = {cell_step, activate_all};

}  // namespace octet::vector::OCTET_ISA
