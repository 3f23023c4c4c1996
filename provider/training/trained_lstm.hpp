// What an octet::training::Lstm is made of.
#pragma once

#include <initializer_list>
#include <octet/training.hpp>
#include <string>
#include <vector>

#include "provider/training/lstm_pass.hpp"

namespace octet::core {

class TrainedLstm {
 public:
  explicit TrainedLstm(training::LstmDefinition definition);

  TensorView w() const noexcept { return w_.view(); }
  TensorView r() const noexcept { return r_.view(); }
  TensorView b() const noexcept { return view(b_, b_dims_); }
  TensorView p() const noexcept { return view(p_, p_dims_); }
  void calibrate();
  QuantizedLstmWeights quantize() const { return {w_.quantize(), r_.quantize()}; }

  bool training() const noexcept { return training_; }
  void set_training(bool training) noexcept;
  float lda_coeff() const noexcept { return lda_coeff_; }
  std::size_t stored_bytes() const noexcept;

  void forward(const training::LstmInputs& inputs, const training::LstmOutputs& outputs);
  void backward(const training::LstmOutputs& outputs, const training::LstmGradients& gradients);

 private:
  using Dims = std::vector<std::int64_t>;
  /// What messages call a tensor: "gradient of 'W'".
  struct Tensor {
    const char* kind;
    const char* name;
    const TensorView& view;
  };

  static TensorView view(const std::vector<float>& values, const Dims& dims) noexcept {
    return values.empty() ? TensorView() : TensorView(values.data(), DataType::float32, dims);
  }
  std::int64_t directions() const noexcept { return static_cast<std::int64_t>(node_.directions.size()); }
  [[noreturn]] void fail(const std::string& text) const;
  void check(const Tensor& tensor, std::initializer_list<std::int64_t> dims, const char* meaning) const;
  void check_states(const Tensor& tensor, std::int64_t batch) const;
  void check_outputs(const char* kind, const training::LstmOutputs& outputs, std::int64_t steps,
                     std::int64_t batch) const;
  void check_gradients(const training::LstmGradients& gradients) const;
  void check_x(const TensorView& x) const;
  /// Into sequences_.
  void read_sequences(const training::LstmInputs& inputs);
  void clear_padding(const training::LstmOutputs& outputs, const LstmSequences& sequences) const;
  LstmPassOutputs pass_outputs(const training::LstmOutputs& outputs, std::int64_t direction, std::int64_t batch) const;

  std::string label_;
  LstmNode node_;
  std::int64_t input_, hidden_;
  TrainedWeights w_, r_;
  std::vector<float> b_, p_;
  Dims b_dims_, p_dims_;
  bool training_;
  float lda_coeff_;
  std::vector<LstmPass> passes_;  ///< one for each direction
  std::vector<std::int64_t> lengths_;
  LstmSequences sequences_;  ///< of the last forward pass
  bool stored_ = false;      ///< a forward pass whose backward pass has not come
};

}  // namespace octet::core
