// How float weights of an LSTM become 8-bit ones (include/octet/lstm_weights.hpp has the formulas).
#pragma once

#include <octet/lstm_weights.hpp>

namespace octet::core {

/// A scale, and a zero point as its byte.
struct WeightParameters {
  float scale;
  std::uint8_t zero_point;
};

/// Magnitudes up to 1e38: what a quantized weight stands for is a float32 number then. False for NaN.
inline bool is_weight(float value) noexcept { return value >= -1e38F && value <= 1e38F; }

/// `min` and `max` are of weights that share these parameters.
WeightParameters weight_parameters(const LstmQuantization& quantization, float min, float max) noexcept;

/// Throws octet::Error unless the type is one that weights have.
void check_quantization(const LstmQuantization& quantization);

/// The integer that a weight's or zero point's byte is.
inline std::int32_t integer_of(DataType type, std::uint8_t byte) noexcept {
  return type == DataType::int8 ? std::int32_t{static_cast<std::int8_t>(byte)} : std::int32_t{byte};
}

}  // namespace octet::core
