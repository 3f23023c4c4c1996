// A training step of an LSTM against the same step written with Eigen.
#include <algorithm>
#include <cmath>
#include <istream>
#include <octet/training.hpp>

#include "scripts/benchmark/eigen_lstm.hpp"
#include "scripts/benchmark/native.hpp"

namespace octet::benchmark {
namespace {

using Floats = std::vector<float>;

/// One layer's tensors, and what the contenders write.
struct Job {
  bool backward;
  LstmShape shape{};
  Floats w, r, b, x, dy;

  explicit Job(std::istream& words) {
    std::string pass;
    words >> pass >> shape.steps >> shape.batch >> shape.input >> shape.hidden;
    if (!words || (pass != "forward" && pass != "step") || shape.steps < 1 || shape.batch < 1 || shape.input < 1 ||
        shape.hidden < 1)
      throw Error(ErrorCode::invalid_argument,
                  "octet_bench: lstm_training needs forward or step, steps, batch, input "
                  "and hidden");
    backward = pass == "step";
    const float width = 1 / std::sqrt(static_cast<float>(shape.hidden));
    const auto scaled = [&](std::int64_t count, std::uint32_t seed) {
      Floats values = random_floats(count, seed);
      for (float& value : values) value *= width;
      return values;
    };
    w = scaled(shape.input * 4 * shape.hidden, 1);
    r = scaled(shape.hidden * 4 * shape.hidden, 2);
    b = scaled(8 * shape.hidden, 3);
    x = random_floats(shape.steps * shape.batch * shape.input, 4);
    dy = random_floats(shape.steps * shape.batch * shape.hidden, 5);
  }
};

struct Results {
  Floats y, dx, dw, dr, db;

  explicit Results(const Job& job)
      : y(job.dy.size()), dx(job.x.size()), dw(job.w.size()), dr(job.r.size()), db(job.b.size()) {}
};

class OctetLstm {
 public:
  explicit OctetLstm(const Job& job)
      : job_(job),
        x_dims_{job.shape.steps, job.shape.batch, job.shape.input},
        y_dims_{job.shape.steps, 1, job.shape.batch, job.shape.hidden},
        w_dims_{1, job.shape.input, 4 * job.shape.hidden},
        r_dims_{1, job.shape.hidden, 4 * job.shape.hidden},
        b_dims_{1, 8 * job.shape.hidden},
        layer_(definition(job)),
        results(job) {}

  void run() {
    const auto view = [](const Floats& values, const std::vector<std::int64_t>& dims) {
      return TensorView(values.data(), DataType::float32, dims);
    };
    layer_.forward({view(job_.x, x_dims_), {}, {}, {}}, {view(results.y, y_dims_), {}, {}});
    if (job_.backward)
      layer_.backward({view(job_.dy, y_dims_), {}, {}}, {view(results.dx, x_dims_),
                                                         {},
                                                         {},
                                                         view(results.dw, w_dims_),
                                                         view(results.dr, r_dims_),
                                                         view(results.db, b_dims_),
                                                         {}});
  }
  QuantizedLstmWeights weights() const { return layer_.quantize(); }

 private:
  static training::LstmDefinition definition(const Job& job) {
    training::LstmDefinition result;
    result.name = "benchmark";
    result.input_size = job.shape.input;
    result.hidden_size = job.shape.hidden;
    result.w = job.w;
    result.r = job.r;
    result.b = job.b;
    return result;
  }

  const Job& job_;
  std::vector<std::int64_t> x_dims_, y_dims_, w_dims_, r_dims_, b_dims_;
  training::Lstm layer_;

 public:
  Results results;
};

/// Elements that differ by more than what sums in another order may.
std::int64_t count_differing(const Floats& found, const Floats& expected) {
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::fabs(value));
  std::int64_t count = 0;
  for (std::size_t i = 0; i < found.size(); ++i) count += !(std::fabs(found[i] - expected[i]) <= 1e-4F * largest);
  return count;
}

}  // namespace

Outcome run_lstm_training(std::istream& words, double seconds) {
  const Job job(words);
  OctetLstm octet(job);
  const QuantizedLstmWeights weights = octet.weights();
  EigenLstm eigen(job.shape, job.w.data(), weights.w.scale.data(), job.r.data(), weights.r.scale.data(), job.b.data());
  Results results(job);
  const auto run_eigen = [&] {
    eigen.forward(job.x.data(), results.y.data());
    if (job.backward)
      eigen.backward(job.x.data(), job.dy.data(), results.dx.data(), results.dw.data(), results.dr.data(),
                     results.db.data());
  };
  Outcome outcome;
  outcome.contenders.push_back({"octet", "training", [&](std::size_t) { octet.run(); }});
  outcome.contenders.push_back({"eigen", "eigen", [&](std::size_t) { run_eigen(); }});
  measure(outcome.contenders, 1, seconds);
  outcome.differing = 0;
  for (const auto member : {&Results::y, &Results::dx, &Results::dw, &Results::dr, &Results::db})
    outcome.differing += count_differing(octet.results.*member, results.*member);
  return outcome;
}

}  // namespace octet::benchmark
