// An LSTM in float64 by ONNX's equations, and a loss of it: what the derivatives of octet::training::Lstm are checked
// against by central differences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octet::test {

struct TwinActivation {
  std::string name;  ///< in lower case
  double alpha = 0;
  double beta = 0;

  double operator()(double x) const;
};

/// Everything that a loss depends on. Shapes are the node's, and absent tensors are filled with zeros.
struct TwinTensors {
  std::vector<double> x, w, r, b, p, initial_h, initial_c;
};

struct TwinOutputs {
  std::vector<double> y, y_h, y_c;
};

struct Twin {
  std::int64_t steps, batch, input, hidden, directions;
  bool reverse;                             ///< of the first direction
  std::vector<TwinActivation> activations;  ///< three for each direction
  double clip;                              ///< infinite: none
  bool input_forget;
  std::vector<std::int64_t> lengths;

  TwinOutputs run(const TwinTensors& tensors) const;

 private:
  void run_sequence(const TwinTensors& tensors, std::int64_t direction, std::int64_t place, TwinOutputs& outputs) const;
};

}  // namespace octet::test
