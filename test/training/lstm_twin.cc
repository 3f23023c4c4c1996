#include "test/training/lstm_twin.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace octet::test {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

double TwinActivation::operator()(double x) const {
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "tanh") return std::tanh(x);
  if (name == "relu") return std::max(x, 0.0);
  if (name == "affine") return alpha * x + beta;
  if (name == "leakyrelu") return x >= 0 ? x : alpha * x;
  if (name == "thresholdedrelu") return x > alpha ? x : 0;
  if (name == "scaledtanh") return alpha * std::tanh(beta * x);
  if (name == "hardsigmoid") return std::min(std::max(alpha * x + beta, 0.0), 1.0);
  if (name == "elu") return x >= 0 ? x : alpha * std::expm1(x);
  if (name == "softsign") return x / (1 + std::fabs(x));
  if (name == "softplus") return std::log1p(std::exp(x));
  throw std::invalid_argument("no such function: " + name);
}

TwinOutputs Twin::run(const TwinTensors& tensors) const {
  TwinOutputs outputs;
  outputs.y.assign(index(steps * directions * batch * hidden), 0);
  outputs.y_h.assign(index(directions * batch * hidden), 0);
  outputs.y_c = outputs.y_h;
  for (std::int64_t d = 0; d < directions; ++d)
    for (std::int64_t n = 0; n < batch; ++n)
      if (lengths[index(n)] > 0) run_sequence(tensors, d, n, outputs);
  return outputs;
}

// H[t] and C[t] of one sequence; gates stand as iofc in the columns of W and R.
void Twin::run_sequence(const TwinTensors& tensors, std::int64_t d, std::int64_t place, TwinOutputs& outputs) const {
  const auto first = index((d * batch + place) * hidden);
  const auto take = [&](const std::vector<double>& states) {
    const auto begin = states.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector<double>(begin, begin + hidden);
  };
  std::vector<double> h = take(tensors.initial_h), c = take(tensors.initial_c);
  const std::int64_t length = lengths[index(place)], gates = 4 * hidden;
  const bool backwards = d == 1 || reverse;
  const TwinActivation &f = activations[index(3 * d)], &g = activations[index(3 * d + 1)],
                       &h_function = activations[index(3 * d + 2)];
  const auto clipped = [&](double x) { return std::min(std::max(x, -clip), clip); };
  for (std::int64_t step = 0; step < length; ++step) {
    const std::int64_t t = backwards ? length - 1 - step : step;
    const auto gate = [&](std::int64_t number, std::int64_t unit) {
      const std::int64_t column = number * hidden + unit;
      double sum = tensors.b[index(d * 2 * gates + column)] + tensors.b[index(d * 2 * gates + gates + column)];
      for (std::int64_t i = 0; i < input; ++i)
        sum += tensors.x[index((t * batch + place) * input + i)] * tensors.w[index((d * input + i) * gates + column)];
      for (std::int64_t i = 0; i < hidden; ++i)
        sum += h[index(i)] * tensors.r[index((d * hidden + i) * gates + column)];
      return sum;
    };
    const auto peephole = [&](std::int64_t number, std::int64_t unit) {
      return tensors.p[index(d * 3 * hidden + number * hidden + unit)];
    };
    std::vector<double> next_h(index(hidden));
    for (std::int64_t unit = 0; unit < hidden; ++unit) {
      const double before = c[index(unit)];
      const double i = f(clipped(gate(0, unit) + peephole(0, unit) * before));
      const double forget = input_forget ? 1 - i : f(clipped(gate(2, unit) + peephole(2, unit) * before));
      const double now = forget * before + i * g(clipped(gate(3, unit)));
      const double o = f(clipped(gate(1, unit) + peephole(1, unit) * now));
      c[index(unit)] = now;
      next_h[index(unit)] = o * h_function(now);
    }
    h = next_h;
    std::copy(h.begin(), h.end(),
              outputs.y.begin() + static_cast<std::ptrdiff_t>(((t * directions + d) * batch + place) * hidden));
  }
  std::copy(h.begin(), h.end(), outputs.y_h.begin() + static_cast<std::ptrdiff_t>(first));
  std::copy(c.begin(), c.end(), outputs.y_c.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace octet::test
