// Trains an 8-bit LSTM on the adding problem (Hochreiter and Schmidhuber, 1997): a sequence of pairs, a number of
// [0, 1) and a marker that is 1 in two of the steps; the answer is the sum of the two marked numbers. To answer 1
// always has a mean squared error of 1/6.
//
//   example_training FOLDER    writes FOLDER/loss.csv and, for each seed, the 8-bit model FOLDER/seed<n>.onnx
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <octet/graph_builder.hpp>
#include <octet/training.hpp>
#include <random>
#include <string>

namespace {

using octet::DataType;
using octet::TensorView;
using Dims = std::vector<std::int64_t>;
using Floats = std::vector<float>;

constexpr std::int64_t kSteps = 40, kHidden = 32, kBatch = 64, kTestBatch = 1000;
constexpr int kUpdates = 2000, kReported = 20;
constexpr float kRate = 0.005F, kLargestNorm = 1.0F;
constexpr double kStatedLoss = 0.003;

struct Sequences {
  Floats x;  ///< [kSteps,batch,2]
  Floats sums;

  Sequences(std::int64_t batch, std::mt19937& random)
      : x(static_cast<std::size_t>(kSteps * batch * 2)), sums(static_cast<std::size_t>(batch)) {
    std::uniform_real_distribution<float> uniform;
    for (std::size_t i = 0; i < x.size(); i += 2) x[i] = uniform(random);
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t half = 0; half < 2; ++half) {  // one marker in each half
        const std::int64_t t = half * kSteps / 2 + static_cast<std::int64_t>(random() % (kSteps / 2));
        float* pair = x.data() + (t * batch + n) * 2;
        pair[1] = 1;
        sums[static_cast<std::size_t>(n)] += pair[0];
      }
  }
};

/// Adam for one array of parameters.
class Adam {
 public:
  explicit Adam(std::size_t size) : mean_(size), square_(size) {}

  void update(float* parameters, const Floats& gradient, float factor) {
    ++updates_;
    const float mean_share = 1 - std::pow(0.9F, static_cast<float>(updates_));
    const float square_share = 1 - std::pow(0.999F, static_cast<float>(updates_));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const float g = gradient[i] * factor;
      mean_[i] = 0.9F * mean_[i] + 0.1F * g;
      square_[i] = 0.999F * square_[i] + 0.001F * g * g;
      parameters[i] -= kRate * (mean_[i] / mean_share) / (std::sqrt(square_[i] / square_share) + 1e-8F);
    }
  }

 private:
  Floats mean_, square_;
  int updates_ = 0;
};

/// The layer, and a linear readout of its last state.
struct Model {
  octet::training::Lstm lstm;
  Floats readout;  ///< kHidden weights and a bias

  explicit Model(std::mt19937& random) : lstm(definition(random)), readout(filled(kHidden, random)) {
    readout.push_back(0);
  }

  /// The readout's answers to last states, into `answers`; the mean squared error.
  double loss(const Floats& states, const Floats& sums, Floats& answers) const {
    double sum = 0;
    answers.assign(sums.size(), readout[kHidden]);
    for (std::size_t n = 0; n < sums.size(); ++n) {
      for (std::size_t i = 0; i < kHidden; ++i) answers[n] += readout[i] * states[n * kHidden + i];
      sum += std::pow(static_cast<double>(answers[n] - sums[n]), 2);
    }
    return sum / static_cast<double>(sums.size());
  }

  double test(const Sequences& sequences) {
    const auto batch = static_cast<std::int64_t>(sequences.sums.size());
    const Dims x_dims{kSteps, batch, 2}, state_dims{1, batch, kHidden};
    Floats states(sequences.sums.size() * kHidden), answers;
    lstm.set_training(false);
    lstm.forward({{sequences.x.data(), DataType::float32, x_dims}, {}, {}, {}},
                 {{}, {states.data(), DataType::float32, state_dims}, {}});
    lstm.set_training(true);
    return loss(states, sequences.sums, answers);
  }

 private:
  static Floats filled(std::int64_t count, std::mt19937& random) {
    const float width = 1 / std::sqrt(static_cast<float>(kHidden));
    std::uniform_real_distribution<float> uniform(-width, width);
    Floats values(static_cast<std::size_t>(count));
    for (float& value : values) value = uniform(random);
    return values;
  }

  static octet::training::LstmDefinition definition(std::mt19937& random) {
    octet::training::LstmDefinition result;
    result.name = "adding";
    result.attributes["hidden_size"] = kHidden;
    result.input_size = 2;
    result.hidden_size = kHidden;
    result.w = filled(2 * 4 * kHidden, random);
    result.r = filled(kHidden * 4 * kHidden, random);
    result.b.assign(8 * kHidden, 0);
    std::fill_n(result.b.begin() + 2 * kHidden, kHidden, 1.0F);  // cells remember at first
    result.quantization = {DataType::int8, true, true};
    return result;
  }
};

/// Derivatives of the loss for one batch of sequences, and the updates that follow from them.
class Trainer {
 public:
  explicit Trainer(Model& model)
      : model_(model), dw_(2 * 4 * kHidden), dr_(kHidden * 4 * kHidden), db_(8 * kHidden), dreadout_(kHidden + 1) {}

  double update(const Sequences& sequences) {
    const Dims x_dims{kSteps, kBatch, 2}, state_dims{1, kBatch, kHidden};
    Floats states(kBatch * kHidden), dstates(kBatch * kHidden), answers;
    model_.lstm.forward({{sequences.x.data(), DataType::float32, x_dims}, {}, {}, {}},
                        {{}, {states.data(), DataType::float32, state_dims}, {}});
    const double loss = model_.loss(states, sequences.sums, answers);
    std::fill(dreadout_.begin(), dreadout_.end(), 0.0F);
    for (std::size_t n = 0; n < kBatch; ++n) {
      const float danswer = 2 * (answers[n] - sequences.sums[n]) / kBatch;
      for (std::size_t i = 0; i < kHidden; ++i) {
        dstates[n * kHidden + i] = danswer * model_.readout[i];
        dreadout_[i] += danswer * states[n * kHidden + i];
      }
      dreadout_[kHidden] += danswer;
    }
    const auto view = [](const Floats& values, const TensorView& of) {
      return TensorView(values.data(), of.dtype, of.dims, of.rank);
    };
    octet::training::Lstm& lstm = model_.lstm;
    lstm.backward({{}, {dstates.data(), DataType::float32, state_dims}, {}},
                  {{}, {}, {}, view(dw_, lstm.w()), view(dr_, lstm.r()), view(db_, lstm.b()), {}});
    apply();
    return loss;
  }

 private:
  /// Gradients that are long are shortened. The quantizer follows the weights.
  void apply() {
    double square = 0;
    for (const Floats* gradient : {&dw_, &dr_, &db_, &dreadout_})
      for (const float value : *gradient) square += static_cast<double>(value * value);
    const float factor = std::min(1.0F, kLargestNorm / (static_cast<float>(std::sqrt(square)) + 1e-6F));
    octet::training::Lstm& lstm = model_.lstm;
    w_.update(lstm.w().as<float>(), dw_, factor);
    r_.update(lstm.r().as<float>(), dr_, factor);
    b_.update(lstm.b().as<float>(), db_, factor);
    readout_.update(model_.readout.data(), dreadout_, factor);
    lstm.calibrate();
  }

  Model& model_;
  Floats dw_, dr_, db_, dreadout_;
  Adam w_{2 * 4 * kHidden}, r_{kHidden * 4 * kHidden}, b_{8 * kHidden}, readout_{kHidden + 1};
};

/// X [kSteps,batch,2] in, sum [1,batch,1] out: the layer with the weights that it was trained with, and the readout as
/// an 8-bit product too.
void export_model(const Model& model, const std::string& path) {
  octet::GraphBuilder graph;
  const octet::QuantizedLstmWeights weights = model.lstm.quantize();
  const auto w = graph.add_constants(weights.w, "W"), r = graph.add_constants(weights.r, "R");
  octet::DynamicQuantizeLstmInputs inputs;
  inputs.X = graph.add_input("X", DataType::float32, {kSteps, "batch", 2});
  inputs.W = w[0], inputs.W_scale = w[1], inputs.W_zero_point = w[2];
  inputs.R = r[0], inputs.R_scale = r[1], inputs.R_zero_point = r[2];
  inputs.B = graph.add_constant(model.lstm.b(), "B");
  const auto lstm = graph.add_dynamic_quantize_lstm(inputs, {}, "adding");

  const float* readout = model.readout.data();
  const float scale = std::abs(*std::max_element(readout, readout + kHidden,
                                                 [](float a, float b) { return std::abs(a) < std::abs(b); })) /
                      127;
  std::vector<std::int8_t> rounded;
  for (std::int64_t i = 0; i < kHidden; ++i)
    rounded.push_back(static_cast<std::int8_t>(std::nearbyint(readout[i] / scale)));
  octet::GraphNode product{"DynamicQuantizeMatMul", "com.microsoft", "readout"};
  product.inputs = {{"A", lstm.Y_h},
                    {"B", graph.add_constant({rounded.data(), DataType::int8, {kHidden, 1}}, "readout_weights")},
                    {"b_scale", graph.add_constant({&scale, DataType::float32, {1}}, "readout_scale")},
                    {"bias", graph.add_constant({readout + kHidden, DataType::float32, {1}}, "readout_bias")}};
  graph.add_output(graph.add_node(product)[0], "sum");
  graph.check();
  graph.save(path);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : ".";
  std::ofstream curve(folder + "/loss.csv");
  curve << "seed,update,loss\n";
  bool reached = true;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    std::mt19937 random(seed);
    Model model(random);
    Trainer trainer(model);
    double sum = 0;
    for (int update = 1; update <= kUpdates; ++update) {
      sum += trainer.update(Sequences(kBatch, random));
      if (update % kReported != 0) continue;
      curve << seed << "," << update << "," << sum / kReported << "\n";
      sum = 0;
    }
    const double loss = model.test(Sequences(kTestBatch, random));
    std::printf("seed %u: mean squared error %.5f of %lld new sequences\n", seed, loss,
                static_cast<long long>(kTestBatch));
    reached = reached && loss < kStatedLoss;
    export_model(model, folder + "/seed" + std::to_string(seed) + ".onnx");
  }
  std::printf("%s the stated %.3f; a constant answer has 0.167\n", reached ? "below" : "NOT below", kStatedLoss);
  return reached && curve ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "example_training: %s\n", error.what());
  return 1;
}
