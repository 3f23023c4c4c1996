// Training of a DynamicQuantizeLSTM node: an LSTM whose weights W and R are float32 numbers that an optimizer moves,
// while every pass sees them as the node's 8-bit quantizer makes them.
//
//   octet::training::Lstm lstm = octet::training::from_model(model.data(), model.size(), "lstm");   // or from arrays
//   lstm.forward({x}, {y});
//   lstm.backward({dy}, {{}, {}, {}, dw, dr, db});
//   ...                                         // change what lstm.w(), lstm.r(), lstm.b() point to
//   lstm.calibrate();
//   octet::QuantizedLstmWeights node = lstm.quantize();
//
// What is computed: docs/training.md. In short, the equations of ONNX's LSTM in float32, with
//   (saturate(rint(w / scale) + zero_point) - zero_point) * scale
// in the place of every weight w of W and R ("fake quantization"). Activations are not rounded, so that there is a
// derivative; that of the rounding is taken as 1 where it does not saturate and 0 where it does ("straight-through").
//
// Threads: passes run on the calling thread, and start no others. An Lstm must not be used by two threads at a time.
// The same calls give the same bits in one process; another instruction set may change the last ones.
// Memory: after a forward pass in training mode an Lstm holds, for each direction and each step of each sequence that
// is not padding, input_size + 7 * hidden_size floats; beside the weights, and little else.
// Tensors: dense, row-major, float32 (sequence_lens: int32); nothing that is passed in is kept, outputs must not
// overlap inputs. Errors are thrown as octet::Error and leave outputs unspecified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <octet/lstm_weights.hpp>

namespace octet::training {

/// A layer: a DynamicQuantizeLSTM node with float32 weights. num_directions is 2 where the attribute `direction` is
/// bidirectional, else 1. Gates are in the order i, o, f, c.
struct LstmDefinition {
  std::string name;       ///< used in messages
  Attributes attributes;  ///< of the node; clip must be left out where there is none
  std::int64_t input_size = 0;
  std::int64_t hidden_size = 0;
  std::vector<float> w;  ///< [num_directions,input_size,4*hidden_size]
  std::vector<float> r;  ///< [num_directions,hidden_size,4*hidden_size]
  std::vector<float> b;  ///< [num_directions,8*hidden_size], or empty: 0, and not trained
  std::vector<float> p;  ///< [num_directions,3*hidden_size], or empty: 0, and not trained

  LstmQuantization quantization;
  /// Scales and zero points of w and r, as QuantizedLstmTensor has them for `quantization`; where a scale is empty,
  /// both are made from the weights, as Lstm::calibrate() does.
  std::vector<float> w_scale, r_scale;
  std::vector<std::uint8_t> w_zero_point, r_zero_point;

  bool training = true;  ///< false: forward passes store nothing, and there is no backward pass
  float lda_coeff = 1;   ///< by which the derivative of X is multiplied before it goes to the layer below
};

/// Tensors of a forward pass. The names are those of the node's inputs; all but x may be absent.
struct LstmInputs {
  TensorView x;              ///< [seq_length,batch_size,input_size]
  TensorView sequence_lens;  ///< int32 [batch_size]; absent: seq_length
  TensorView initial_h;      ///< [num_directions,batch_size,hidden_size]; absent: 0
  TensorView initial_c;      ///< likewise
};

/// The node's outputs, or the loss's derivatives of them; each may be absent.
struct LstmOutputs {
  TensorView y;    ///< [seq_length,num_directions,batch_size,hidden_size]
  TensorView y_h;  ///< [num_directions,batch_size,hidden_size]
  TensorView y_c;  ///< likewise
};

/// The loss's derivatives that a backward pass writes, in the shapes of what they are of; absent ones are not computed.
struct LstmGradients {
  TensorView x, initial_h, initial_c;
  TensorView w, r, b, p;
};

}  // namespace octet::training

namespace octet::core {
class TrainedLstm;
}

namespace octet::training {

class OCTET_API Lstm {
 public:
  /// Checks the definition as a node is checked, and copies it.
  explicit Lstm(LstmDefinition definition);
  ~Lstm();
  Lstm(Lstm&&) noexcept;
  Lstm& operator=(Lstm&&) noexcept;

  /// The float32 weights, in the shapes of the definition; absent where it has none. They may be written to, except
  /// between a forward pass and its backward pass. The views hold as long as this object, wherever it is moved.
  TensorView w() const noexcept;
  TensorView r() const noexcept;
  TensorView b() const noexcept;
  TensorView p() const noexcept;

  /// Makes the scales and zero points of W and R anew, so that they reach over the weights as they are now
  /// (quantize_lstm_weights' formulas). Without it they stay, and weights that leave their range have derivatives of 0.
  /// Throws where a weight is NaN or its magnitude over 1e38. Not between a forward pass and its backward pass.
  void calibrate();

  /// The node's inputs W, W_scale, W_zero_point, R, R_scale, R_zero_point: exactly the weights of the passes.
  QuantizedLstmWeights quantize() const;

  bool training() const noexcept;
  void set_training(bool training) noexcept;  ///< false also gives up what is stored
  float lda_coeff() const noexcept;

  /// Writes the outputs. Steps past a sequence's length are not read, and 0 in Y; a sequence of length 0 has 0 in all
  /// outputs, whatever its first state, as DynamicQuantizeLSTM defines.
  void forward(const LstmInputs& inputs, const LstmOutputs& outputs);

  /// Writes the derivatives of a loss, of which those by the outputs of the last forward pass are given; absent: 0.
  /// That of X is multiplied by lda_coeff. Steps past a sequence's length are not read in `outputs`, and exactly 0 in
  /// that of X; so is everything of a sequence of length 0, its first states' derivatives too. At a kink of an
  /// activation function its left derivative counts, at the bounds of HardSigmoid 0, at those of the clip 1. Uses up
  /// what the forward pass has stored: there is one backward pass for each, and an error where there is none.
  void backward(const LstmOutputs& outputs, const LstmGradients& gradients);

  /// Bytes for what forward passes store: as many as the largest one needed, kept for the next. 0 outside training
  /// mode.
  std::size_t stored_bytes() const noexcept;

 private:
  std::unique_ptr<core::TrainedLstm> state_;
};

/// The layer that a DynamicQuantizeLSTM node of a model is: its attributes; W, R, B and P, which must be constant
/// (initializers or Constant nodes), with the scales and zero points that it has; and the node's metadata
/// `octet.training` ("1" or "0") and `octet.lda_coeff` (a decimal number), both 1 where absent. `model` is a serialized
/// ModelProto, whose external data lies in `directory` (empty: the current one); `node` the name of a node of its
/// graph. Throws octet::Error. Part of the static target Octet::onnx, beside which a program links Octet::octet.
Lstm from_model(const void* model, std::size_t size, const std::string& node, const std::string& directory = {});
/// The same of a file, beside which its external data lies.
Lstm from_file(const std::string& path, const std::string& node);

}  // namespace octet::training
