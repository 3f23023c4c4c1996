// DynamicQuantizeLSTM, by ONNX's equations of LSTM with gates in the order i, o, f, c. Three forms, by a further
// attribute `lstm_quantization` that only the reference knows:
//   per_row      (the default) rows of X and of the state are quantized each by its own range; then float32, as
//   published per_tensor   X is quantized once over the steps that belong to a sequence, the state at each step over
//   the batch none         float64 with dequantized weights: what the other two approximate
#include <algorithm>
#include <cmath>
#include <limits>

#include "test/reference/operators.hpp"
#include "test/reference/product.hpp"
#include "test/reference/tensor.hpp"

namespace octet::reference {
namespace {

enum Input { kX, kW, kR, kB, kLens, kInitialH, kInitialC, kP, kWScale, kWZero, kRScale, kRZero };

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// float32 functions as published (primitives/vector/lstm_kernels.hpp); overloads for double are the true functions.

float clamped(float x, float lowest, float highest) { return std::isnan(x) ? x : std::clamp(x, lowest, highest); }

struct Parts {
  float p, s;
  float exponential() const { return std::fma(p, s, s); }
  float minus_one() const { return std::fma(p, s, s - 1.0f); }
};

Parts exponential_parts(float x) {
  constexpr float kRound = 0x1.8p23f;
  const float k = std::fma(x, 0x1.715476p+0f, kRound) - kRound;
  const float r = std::fma(-k, -0x1.05c610p-29f, std::fma(-k, 0x1.62e430p-1f, x));
  float q = 0x1.6d9960p-10f;
  for (const float coefficient : {0x1.12283ap-7f, 0x1.555486p-5f, 0x1.5554b0p-3f, 0.5f})
    q = std::fma(q, r, coefficient);
  const float s = std::isnan(k) ? k : std::ldexp(1.0f, static_cast<int>(k));
  return {std::fma(r * r, q, r), s};
}

float sigmoid(float x) { return 1.0f / (1.0f + exponential_parts(clamped(-x, -87, 87)).exponential()); }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

float tangent(float x) {
  const float m = exponential_parts(clamped(x + x, -20, 20)).minus_one();
  return m / (m + 2.0f);
}
double tangent(double x) { return std::tanh(x); }

float exponential_minus_one(float x) { return exponential_parts(clamped(x, -87, 87)).minus_one(); }
double exponential_minus_one(double x) { return std::expm1(x); }

float softplus(float x) {
  const float e = exponential_parts(clamped(-std::fabs(x), -87, 87)).exponential();
  const float z = e / (e + 2.0f);
  const float z2 = z * z;
  float series = 1.0f / 15.0f;
  for (int divisor = 13; divisor > 0; divisor -= 2) series = series * z2 + 1.0f / static_cast<float>(divisor);
  return (x < 0 ? 0.0f : x) + (z + z) * series;
}
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

struct Function {
  std::string name;
  float alpha, beta;

  template <class Real>
  Real operator()(Real x) const {
    const Real a = alpha, b = beta;
    if (name == "sigmoid") return sigmoid(x);
    if (name == "tanh") return tangent(x);
    if (name == "relu") return x < 0 ? Real(0) : x;
    if (name == "affine") return a * x + b;
    if (name == "leakyrelu") return x < 0 ? a * x : x;
    if (name == "thresholdedrelu") return x <= a ? Real(0) : x;
    if (name == "scaledtanh") return a * tangent(b * x);
    if (name == "hardsigmoid") return std::isnan(x) ? x : std::clamp(a * x + b, Real(0), Real(1));
    if (name == "elu") return x < 0 ? a * exponential_minus_one(x) : x;
    if (name == "softsign") return x / (1 + std::fabs(x));
    if (name == "softplus") return softplus(x);
    fail("no such activation function: " + name);
  }
};

template <class T>
T attribute(const Node& node, const std::string& name, const T& missing) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? missing : std::get<T>(found->second);
}

std::vector<float> real_list(const Node& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return {};
  if (const auto* reals = std::get_if<std::vector<float>>(&found->second)) return *reals;
  const auto& integers = std::get<std::vector<std::int64_t>>(found->second);
  return std::vector<float>(integers.begin(), integers.end());
}

/// The functions of all directions, each with its parameters: given ones in their order, then those of ONNX's
/// operators.
std::vector<Function> functions(const Node& node, std::int64_t directions) {
  struct Missing {
    const char* name;
    bool has_alpha, has_beta;
    float alpha, beta;
  };
  constexpr Missing kMissing[] = {
      {"affine", true, true, 1, 0},     {"leakyrelu", true, false, 0.01f, 0},    {"thresholdedrelu", true, false, 1, 0},
      {"scaledtanh", true, true, 1, 1}, {"hardsigmoid", true, true, 0.2f, 0.5f}, {"elu", true, false, 1, 0}};
  std::vector<std::string> names;
  for (std::int64_t d = 0; d < directions; ++d) names.insert(names.end(), {"Sigmoid", "Tanh", "Tanh"});
  names = attribute(node, "activations", names);
  if (names.size() != index(3 * directions)) fail("activations are not three for each direction");
  std::vector<float> alphas = real_list(node, "activation_alpha"), betas = real_list(node, "activation_beta");
  const auto next = [](std::vector<float>& given, float missing) {
    if (given.empty()) return missing;
    const float value = given.front();
    given.erase(given.begin());
    return value;
  };
  std::vector<Function> result;
  for (std::string name : names) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    Function function{name, 0, 0};
    for (const Missing& missing : kMissing) {
      if (name != missing.name) continue;
      if (missing.has_alpha) function.alpha = next(alphas, missing.alpha);
      if (missing.has_beta) function.beta = next(betas, missing.beta);
    }
    result.push_back(function);
  }
  if (!alphas.empty() || !betas.empty()) fail("more activation parameters than the functions take");
  return result;
}

/// Weights of one direction.
struct Weights {
  Weights(const TensorView& tensor, const TensorView& scales, const TensorView& zero_points, std::int64_t direction) {
    const Dims dims = dims_of(tensor);
    k = dims[1];
    n = dims[2];
    const auto all = integers(tensor);
    values.assign(all.begin() + direction * k * n, all.begin() + (direction + 1) * k * n);
    const auto all_scales = floats(scales);
    const auto all_zeros = integers(zero_points);
    for (std::int64_t i = 0; i < n; ++i) {
      scale.push_back(all_scales[index(scales.rank == 1 ? direction : direction * n + i)]);
      zero_point.push_back(all_zeros[index(zero_points.rank == 1 ? direction : direction * n + i)]);
    }
  }
  std::int64_t weight(std::int64_t i, std::int64_t column) const {
    return values[index(i * n + column)] - zero_point[index(column)];
  }

  std::int64_t k = 0, n = 0;
  std::vector<std::int64_t> values, zero_point;
  std::vector<float> scale;
};

/// Quantized rows and float32.
struct Quantized {
  using Real = float;
  using Row = DynamicallyQuantized;
  bool per_tensor;

  std::vector<Row> rows(const std::vector<std::vector<Real>>& values) const {
    std::vector<Row> result;
    if (!per_tensor) {
      for (const auto& row : values) result.push_back(dynamically_quantized(row));
      return result;
    }
    std::vector<Real> all;
    for (const auto& row : values) all.insert(all.end(), row.begin(), row.end());
    const Row together = dynamically_quantized(all);
    auto next = together.values.begin();
    for (const auto& row : values) {
      const auto end = next + static_cast<std::ptrdiff_t>(row.size());
      result.push_back({{next, end}, together.scale, together.zero_point});
      next = end;
    }
    return result;
  }
  static Real product(const Row& row, const Weights& weights, std::int64_t column) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < weights.k; ++i)
      sum += (row.values[index(i)] - row.zero_point) * weights.weight(i, column);
    const Real scale = row.scale * weights.scale[index(column)];
    return static_cast<Real>(wrapped(sum)) * scale;
  }
};

/// Dequantized weights and float64.
struct Exact {
  using Real = double;
  using Row = std::vector<double>;

  static const std::vector<Row>& rows(const std::vector<Row>& values) { return values; }
  static Real product(const Row& row, const Weights& weights, std::int64_t column) {
    Real sum = 0;
    for (std::int64_t i = 0; i < weights.k; ++i)
      sum += row[index(i)] * static_cast<Real>(weights.weight(i, column)) * weights.scale[index(column)];
    return sum;
  }
};

template <class Form>
class Lstm {
 public:
  using Real = typename Form::Real;
  using Matrix = std::vector<std::vector<Real>>;

  Lstm(const Node& node, const Tensors& inputs, const Tensors& outputs, Form form)
      : node_(node), inputs_(inputs), outputs_(outputs), form_(form), x_(dims_of(inputs[kX])), r_(dims_of(inputs[kR])) {
    if (x_.size() != 3 || r_.size() != 3) fail("X and R do not have three dimensions");
    lens_.assign(index(batch()), steps());
    if (inputs[kLens].present()) lens_ = integers(inputs[kLens]);
    for (const std::int64_t length : lens_)
      if (length < 0 || length > steps()) fail("a sequence's length is out of range");
    clip_ = float_attribute(node, "clip", std::numeric_limits<float>::infinity());
    for (const TensorView& output : outputs)
      for (std::int64_t i = 0; output.present() && i < count(output); ++i) store_float(output, i, 0);
  }

  void run() {
    const std::int64_t longest = lens_.empty() ? 0 : *std::max_element(lens_.begin(), lens_.end());
    const std::vector<typename Form::Row> x = form_.rows(rows(inputs_[kX], longest * batch(), x_[2]));
    const std::vector<Function> all = functions(node_, r_[0]);
    const auto direction = attribute<std::string>(node_, "direction", "forward");
    for (std::int64_t d = 0; d < r_[0]; ++d) {
      f_ = all[index(3 * d)], g_ = all[index(3 * d + 1)], h_ = all[index(3 * d + 2)];
      run_direction(d, direction == "reverse" || d == 1, x, longest);
    }
  }

 private:
  std::int64_t steps() const { return x_[0]; }
  std::int64_t batch() const { return x_[1]; }
  std::int64_t hidden() const { return r_[1]; }

  /// The first `number` rows of a tensor, from row `first` on; zeros where it is absent.
  static Matrix rows(const TensorView& tensor, std::int64_t number, std::int64_t width, std::int64_t first = 0) {
    Matrix result(index(number), std::vector<Real>(index(width), Real(0)));
    if (!tensor.present()) return result;
    const std::vector<float> values = floats(tensor);
    for (std::int64_t i = 0; i < number; ++i)
      for (std::int64_t j = 0; j < width; ++j) result[index(i)][index(j)] = values[index((first + i) * width + j)];
    return result;
  }

  void run_direction(std::int64_t d, bool reverse, const std::vector<typename Form::Row>& x, std::int64_t longest) {
    const Weights w(inputs_[kW], inputs_[kWScale], inputs_[kWZero], d),
        r(inputs_[kR], inputs_[kRScale], inputs_[kRZero], d);
    const std::vector<Real> bias = rows(inputs_[kB], 1, 8 * hidden(), d)[0];
    peephole_ = rows(inputs_[kP], 1, 3 * hidden(), d)[0];
    Matrix h = rows(inputs_[kInitialH], batch(), hidden(), d * batch());
    Matrix c = rows(inputs_[kInitialC], batch(), hidden(), d * batch());
    for (std::int64_t step = 0; step < longest; ++step) {
      const std::vector<typename Form::Row> states = form_.rows(h);
      for (std::int64_t n = 0; n < batch(); ++n) {
        const std::int64_t length = lens_[index(n)];
        if (length <= step) {
          std::fill(h[index(n)].begin(), h[index(n)].end(), Real(0));
          continue;
        }
        const std::int64_t time = reverse ? length - 1 - step : step;
        const auto gate = [&](std::int64_t column) {
          const Real input = Form::product(x[index(time * batch() + n)], w, column) +
                             (bias[index(column)] + bias[index(4 * hidden() + column)]);
          return input + Form::product(states[index(n)], r, column);
        };
        for (std::int64_t unit = 0; unit < hidden(); ++unit)
          cell(gate, unit, h[index(n)][index(unit)], c[index(n)][index(unit)]);
        store(0, (time * r_[0] + d) * batch() + n, h[index(n)]);
        if (step + 1 < length) continue;
        store(1, d * batch() + n, h[index(n)]);
        store(2, d * batch() + n, c[index(n)]);
      }
    }
  }

  Real clipped(Real x) const { return std::isnan(x) ? x : std::clamp<Real>(x, -clip_, clip_); }

  template <class Gate>
  void cell(const Gate& gate, std::int64_t unit, Real& h, Real& c) const {
    const bool peeps = inputs_[kP].present();
    const auto peeping = [&](std::int64_t number, Real cell) {
      const Real value = gate(number * hidden() + unit);
      return peeps ? value + peephole_[index(number * hidden() + unit)] * cell : value;
    };
    const Real input = f_(clipped(peeping(0, c)));
    const Real forget = integer_attribute(node_, "input_forget", 0) != 0 ? 1 - input : f_(clipped(peeping(2, c)));
    const Real kept = forget * c, added = input * g_(clipped(gate(3 * hidden() + unit)));
    c = kept + added;
    h = f_(clipped(peeping(1, c))) * h_(c);
  }

  void store(std::size_t output, std::int64_t row, const std::vector<Real>& values) const {
    if (!outputs_[output].present()) return;
    for (std::int64_t i = 0; i < hidden(); ++i)
      store_float(outputs_[output], row * hidden() + i, static_cast<float>(values[index(i)]));
  }

  const Node& node_;
  const Tensors& inputs_;
  const Tensors& outputs_;
  Form form_;
  Dims x_, r_;
  std::vector<std::int64_t> lens_;
  float clip_ = 0;
  std::vector<Real> peephole_;
  Function f_, g_, h_;
};

}  // namespace

// Inputs: X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P?, W_scale, W_zero_point, R_scale, R_zero_point
// Outputs: Y?, Y_h?, Y_c?
void dynamic_quantize_lstm(const Node& node, const Tensors& inputs, const Tensors& outputs) {
  const auto form = attribute<std::string>(node, "lstm_quantization", "per_row");
  if (form == "none")
    Lstm<Exact>(node, inputs, outputs, {}).run();
  else
    Lstm<Quantized>(node, inputs, outputs, {form == "per_tensor"}).run();
}

}  // namespace octet::reference
