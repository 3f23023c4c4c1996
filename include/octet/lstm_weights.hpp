// From the float weights of an ONNX LSTM to the 8-bit weights of a DynamicQuantizeLSTM node.
//
//   const auto node = octet::quantize_lstm_weights({w, octet::DataType::float32, w_dims},
//                                                  {r, octet::DataType::float32, r_dims});
//
// Both operators have their gates in the order i, o, f, c; their weights are the transpose of each other.
#pragma once

#include <cstdint>
#include <vector>

#include <octet/octet.hpp>

namespace octet {

/// The forms of weights that DynamicQuantizeLSTM has. Every weight w becomes
///   q = saturate(rint(w / scale) + zero_point)      (float32 division, ties to even)
/// and stands for (q - zero_point) * scale. With min and max taken over a channel or a direction, and 0:
///   symmetric   scale = max(-min, max) / 127, zero_point = 0 (int8) or 128 (uint8)
///   else        scale = (max - min) / 255, zero_point = lowest + rint(-min / scale), `lowest` being -128 or 0
/// scale is 1 where all weights are 0, or so small that it would not be a normal number.
struct LstmQuantization {
  DataType type = DataType::int8;  ///< int8 or uint8
  bool symmetric = true;
  bool per_channel = true;  ///< a scale and a zero point for each gate column, else for each direction
};

/// One tensor of quantized weights, in the node's layout.
struct QuantizedLstmTensor {
  DataType type = DataType::undefined;       ///< of values and zero points
  std::vector<std::int64_t> dims;            ///< [num_directions,k,4*hidden_size], k being input_size or hidden_size
  std::vector<std::uint8_t> values;          ///< their bytes
  std::vector<std::int64_t> parameter_dims;  ///< [num_directions], or [num_directions,4*hidden_size] per channel
  std::vector<float> scale;
  std::vector<std::uint8_t> zero_point;  ///< their bytes
  float largest_error = 0;               ///< of what a value stands for, against the float weight
  float rms_error = 0;                   ///< root of the mean square; 0 where there are no weights
};

/// The inputs W, W_scale, W_zero_point and R, R_scale, R_zero_point of a node.
struct QuantizedLstmWeights {
  QuantizedLstmTensor w, r;
};

/// `w` is float32 [num_directions,4*hidden_size,input_size], `r` float32 [num_directions,4*hidden_size,hidden_size], as
/// ONNX's LSTM has them; num_directions is 1 or 2. Throws octet::Error where they are not, or hold NaN or
/// magnitudes over 1e38.
OCTET_API QuantizedLstmWeights quantize_lstm_weights(const TensorView& w, const TensorView& r,
                                                     const LstmQuantization& quantization = {});

/// One of the two: float32 [num_directions,4*hidden_size,k], the last extent being input_size of W, hidden_size of R.
OCTET_API QuantizedLstmTensor quantize_lstm_weight(const TensorView& weight, const LstmQuantization& quantization = {});

}  // namespace octet
