// Generated layers with their sequences, and everything a pass over them reads and writes.
#pragma once

#include <octet/training.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "test/training/lstm_twin.hpp"

namespace octet::test {

using Dims = std::vector<std::int64_t>;

struct Array {
  Dims dims;
  std::vector<float> values;

  TensorView view() const { return {values.data(), DataType::float32, dims}; }
};

/// Numbers of (-width, width).
Array random_array(std::mt19937& random, Dims dims, float width);
/// Filled with a number that no pass writes.
Array unwritten(Dims dims);
std::vector<double> doubles(const std::vector<float>& values);
/// What quantized weights stand for.
std::vector<float> dequantized(const QuantizedLstmTensor& weights);

struct LayerSize {
  std::int64_t steps, batch, input, hidden;
};

struct LayerCase {
  training::LstmDefinition definition;
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::optional<std::vector<std::int32_t>> lengths;
  Array x;
  std::optional<Array> initial_h, initial_c;
  Array dy, dy_h, dy_c;  ///< the loss is the sum of the outputs' products with these
  bool has_dy = true, has_dy_h = true, has_dy_c = true;
  std::vector<std::string> names;  ///< of the activations, three for each direction, with their parameters
  std::vector<TwinActivation> activations;

  /// Case `number` of a fixed sequence that goes through every attribute and every optional tensor.
  static LayerCase generated(int number);
  /// Its attributes and optional tensors with another size.
  static LayerCase generated(int number, const LayerSize& size);

  std::int64_t directions() const { return static_cast<std::int64_t>(names.size() / 3); }
  Dims y_dims() const { return {steps, directions(), batch, definition.hidden_size}; }
  Dims state_dims() const { return {directions(), batch, definition.hidden_size}; }
  TensorView lengths_view() const;
  training::LstmInputs inputs() const;
  training::LstmOutputs output_gradients() const;
  Twin twin() const;
  /// With the weights as the layer's quantizer makes them.
  TwinTensors twin_tensors(const training::Lstm& layer) const;
  double loss(const TwinOutputs& outputs) const;
  std::string describe() const;

 private:
  void choose_attributes(int number);
  void choose_quantization(int number, std::mt19937& random);
  Dims lengths_dims_;
};

}  // namespace octet::test
