// W or R of a layer in training: float32 numbers, and the quantizer through which passes see them.
#pragma once

#include <string>
#include <vector>

#include "primitives/vector/weight_kernels.hpp"

#include <octet/lstm_weights.hpp>

namespace octet::core {

class TrainedWeights {
 public:
  /// `dims` are [directions,k,columns], as many as there are weights. Scales and zero points as QuantizedLstmTensor has
  /// them; without scales they are made from the weights. `label` is for messages: "DynamicQuantizeLSTM 'lstm': W".
  TrainedWeights(std::string label, std::vector<std::int64_t> dims, std::vector<float> weights,
                 const LstmQuantization& quantization, std::vector<float> scale, std::vector<std::uint8_t> zero_point);

  /// The float32 weights, for their owner to change.
  TensorView view() const noexcept { return {weights_.data(), DataType::float32, dims_}; }

  /// Throws where a weight is NaN or too large for a quantizer.
  void check_weights() const;
  /// Scales and zero points that reach over the weights as they are, which must pass the check.
  void calibrate();

  /// The weights of one direction, [k,columns], with their quantizer.
  vector::WeightMatrix matrix(std::int64_t direction) const;

  QuantizedLstmTensor quantize() const;

 private:
  std::int64_t directions() const noexcept { return dims_[0]; }
  std::int64_t k() const noexcept { return dims_[1]; }
  std::int64_t columns() const noexcept { return dims_[2]; }
  std::size_t parameters() const noexcept {
    return static_cast<std::size_t>(quantization_.per_channel ? directions() * columns() : directions());
  }
  void check_parameters() const;
  void spread_parameters();

  std::string label_;
  std::vector<std::int64_t> dims_;
  std::vector<float> weights_;
  LstmQuantization quantization_;
  std::vector<float> scale_;
  std::vector<std::uint8_t> zero_point_;
  std::vector<float> column_scale_, column_lowest_, column_highest_;  ///< [directions,columns]
};

}  // namespace octet::core
