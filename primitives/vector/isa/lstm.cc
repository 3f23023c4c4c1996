// Gates, cells and states of the LSTM.
#include "primitives/vector/isa/activations.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

constexpr std::int64_t kWidth = static_cast<std::int64_t>(kLanes);

#ifdef __AVX512F__
inline Ints multiply(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }
inline Ints subtract(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
inline Floats to_float(Ints a) { return _mm512_cvtepi32_ps(a); }
#else
inline Ints multiply(Ints a, Ints b) { return _mm256_mullo_epi32(a, b); }
inline Ints subtract(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
inline Floats to_float(Ints a) { return _mm256_cvtepi32_ps(a); }
#endif

/// What a register of columns has in every row.
template <bool kZeroPoint>
struct Columns {
  Ints sum, zero_point;
  Floats scale;

  OCTET_INLINE Columns(const GateSums& sums, std::int64_t n)
      : sum(load(sums.column_sum + n)),
        zero_point(kZeroPoint ? load(sums.zero_point + n) : sum),
        scale(load(sums.column_scale + n)) {}
};

/// What a row has in every column.
struct Row {
  const std::int32_t* acc;
  Floats scale;
  Ints zero_point, term;

  OCTET_INLINE Row(const GateSums& sums, std::int64_t m)
      : acc(sums.acc + m * sums.acc_stride),
        scale(spread(sums.row_scale[m])),
        zero_point(spread(sums.row_zero_point[m])),
        term(spread(sums.row_term[m])) {}

  template <bool kZeroPoint>
  OCTET_INLINE Floats value(std::int64_t n, const Columns<kZeroPoint>& columns) const {
    Ints sum = subtract(load(acc + n), multiply(zero_point, columns.sum));
    if (kZeroPoint) sum = add(sum, multiply(term, columns.zero_point));
    return to_float(sum) * (scale * columns.scale);
  }
};

template <bool kZeroPoint>
void gate_inputs_of(const GateInputs& inputs) {
  constexpr int kRegisters = 4;
  for (std::int64_t n = 0; n < inputs.sums.columns; n += kRegisters * kWidth) {
    const auto columns = [&](int i) __attribute__((always_inline)) {
      return Columns<kZeroPoint>(inputs.sums, n + i * kWidth);
    };
    const Columns<kZeroPoint> group[kRegisters] = {columns(0), columns(1), columns(2), columns(3)};
    for (std::int64_t m = 0; m < inputs.sums.rows; ++m) {
      const Row row(inputs.sums, m);
      float* y = inputs.y + m * inputs.y_stride + n;
#pragma GCC unroll 4
      for (int i = 0; i < kRegisters; ++i)
        store(y + i * kWidth, row.value(n + i * kWidth, group[i]) + load(inputs.bias + n + i * kWidth));
    }
  }
}

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

// First what needs the gates, with o in the state's place, then the states: two short chains of operations where one
// long one would leave the processor waiting.
template <bool kZeroPoint, class Functions>
void cell_step_of(const CellStep& step) {
  const Functions functions(step);
  const std::int64_t units = step.sums.columns / kGates;
  for (std::int64_t m = 0; m < step.sums.rows; ++m) {
    const Row row(step.sums, m);
    const float* inputs = step.inputs + m * step.inputs_stride;
    float* cells = step.c + m * step.state_stride;
    float* states = step.h + m * step.state_stride;
    for (std::int64_t block = 0; block < units; block += kUnitBlock)
      for (std::int64_t unit = block; unit < block + kUnitBlock; unit += kWidth) {
        const std::int64_t at_i = kGates * block + unit - block;
        const std::int64_t at_o = at_i + kUnitBlock, at_f = at_o + kUnitBlock, at_c = at_f + kUnitBlock;
        const auto gate = [&](std::int64_t n) __attribute__((always_inline)) {
          return load(inputs + n) + row.value(n, Columns<kZeroPoint>(step.sums, n));
        };
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

void gate_inputs(const GateInputs& inputs) {
  inputs.sums.zero_point ? gate_inputs_of<true>(inputs) : gate_inputs_of<false>(inputs);
}

void cell_step(const CellStep& step) {
  if (is_usual(step))
    step.sums.zero_point ? cell_step_of<true, UsualFunctions>(step) : cell_step_of<false, UsualFunctions>(step);
  else
    step.sums.zero_point ? cell_step_of<true, AnyFunctions>(step) : cell_step_of<false, AnyFunctions>(step);
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

const LstmKernels kLstm = {gate_inputs, cell_step, activate_all};

}  // namespace octet::vector::OCTET_ISA
