#include "provider/ops/lstm_weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "provider/core/infer.hpp"

namespace octet {
namespace {

constexpr std::int64_t kGates = 4;

[[noreturn]] void fail(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, "quantize_lstm_weights: " + text);
}

std::string dims_text(const TensorView& tensor) {
  if (tensor.dims == nullptr) return "[]";
  std::string text = "[";
  for (std::int32_t i = 0; i < tensor.rank; ++i) text += (i > 0 ? "," : "") + std::to_string(tensor.dims[i]);
  return text + "]";
}

void check_weights(const char* name, const TensorView& weights, const char* expected) {
  if (weights.dtype != DataType::float32)
    fail(std::string("input '") + name + "' is " + data_type_name(weights.dtype) + ", expected float");
  const std::size_t bytes = core::checked_bytes(std::string("quantize_lstm_weights: input '") + name + "'", weights);
  if (weights.rank != 3)
    fail(std::string("input '") + name + "' has shape " + dims_text(weights) + ", expected " + expected);
  const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
  if (count > 0 && weights.data == nullptr) fail(std::string("input '") + name + "' has no data");
  for (std::int64_t i = 0; i < count; ++i)
    if (!core::is_weight(weights.as<const float>()[i]))
      fail(std::string("input '") + name + "' has " + std::to_string(weights.as<const float>()[i]) + " at index " +
           std::to_string(i) + ", expected magnitudes up to 1e38");
}

void check_shapes(const TensorView& w, const TensorView& r) {
  check_weights("W", w, "[num_directions,4*hidden_size,input_size]");
  check_weights("R", r, "[num_directions,4*hidden_size,hidden_size]");
  const std::int64_t directions = r.dims[0], hidden = r.dims[2];
  if (directions != 1 && directions != 2)
    fail("input 'R' has shape " + dims_text(r) + ", expected 1 or 2 directions first");
  if (r.dims[1] != kGates * hidden)
    fail("input 'R' has shape " + dims_text(r) + ", expected [num_directions,4*hidden_size,hidden_size]");
  if (w.dims[0] != directions || w.dims[1] != r.dims[1])
    fail("input 'W' has shape " + dims_text(w) + ", expected [" + std::to_string(directions) + "," +
         std::to_string(r.dims[1]) + ",input_size], as 'R' has " + dims_text(r));
}

std::uint8_t quantized(DataType type, float weight, const core::WeightParameters& parameters) {
  const float lowest = type == DataType::int8 ? -128.0F : 0.0F;
  const auto zero_point = static_cast<float>(core::integer_of(type, parameters.zero_point));
  const float value = std::nearbyint(weight / parameters.scale) + zero_point;
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::clamp(value, lowest, lowest + 255)));
}

/// The weights of one direction, ONNX's layout to the node's.
void quantize_direction(const float* weights, std::int64_t columns, std::int64_t k, const LstmQuantization& form,
                        std::uint8_t* values, QuantizedLstmTensor& result, double& square_sum) {
  core::WeightParameters parameters{};
  const auto add_parameters = [&](const float* begin, std::int64_t count) {
    float min = 0, max = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      min = std::min(min, begin[i]);
      max = std::max(max, begin[i]);
    }
    parameters = core::weight_parameters(form, min, max);
    result.scale.push_back(parameters.scale);
    result.zero_point.push_back(parameters.zero_point);
  };
  if (!form.per_channel) add_parameters(weights, columns * k);
  for (std::int64_t n = 0; n < columns; ++n) {
    const float* column = weights + n * k;
    if (form.per_channel) add_parameters(column, k);
    const std::int32_t zero_point = core::integer_of(form.type, parameters.zero_point);
    for (std::int64_t i = 0; i < k; ++i) {
      std::uint8_t& value = values[i * columns + n];
      value = quantized(form.type, column[i], parameters);
      const float meant = static_cast<float>(core::integer_of(form.type, value) - zero_point) * parameters.scale;
      const double error = static_cast<double>(meant) - static_cast<double>(column[i]);
      result.largest_error = std::max(result.largest_error, static_cast<float>(std::fabs(error)));
      square_sum += error * error;
    }
  }
}

QuantizedLstmTensor quantize(const TensorView& weights, const LstmQuantization& form) {
  const std::int64_t directions = weights.dims[0], columns = weights.dims[1], k = weights.dims[2];
  QuantizedLstmTensor result;
  result.type = form.type;
  result.dims = {directions, k, columns};
  result.parameter_dims = {directions};
  if (form.per_channel) result.parameter_dims.push_back(columns);
  result.values.resize(static_cast<std::size_t>(directions * k * columns));
  double square_sum = 0;
  for (std::int64_t d = 0; d < directions; ++d)
    quantize_direction(weights.as<const float>() + d * columns * k, columns, k, form,
                       result.values.data() + d * k * columns, result, square_sum);
  if (!result.values.empty())
    result.rms_error = static_cast<float>(std::sqrt(square_sum / static_cast<double>(result.values.size())));
  return result;
}

}  // namespace

namespace core {

void check_quantization(const LstmQuantization& quantization) {
  if (quantization.type != DataType::int8 && quantization.type != DataType::uint8)
    throw Error(ErrorCode::invalid_argument, std::string("LstmQuantization: type is ") +
                                                 data_type_name(quantization.type) + ", expected int8 or uint8");
}

// In double, where neither the range nor its quotients overflow.
WeightParameters weight_parameters(const LstmQuantization& quantization, float min, float max) noexcept {
  const double least = std::min(static_cast<double>(min), 0.0), greatest = std::max(static_cast<double>(max), 0.0);
  const std::int32_t lowest = quantization.type == DataType::int8 ? -128 : 0;
  const double steps = quantization.symmetric ? std::max(-least, greatest) / 127 : (greatest - least) / 255;
  auto scale = static_cast<float>(steps);
  if (scale < std::numeric_limits<float>::min()) scale = 1;
  std::int32_t zero_point = lowest + 128;
  if (!quantization.symmetric)
    zero_point = lowest + static_cast<std::int32_t>(std::nearbyint(-least / static_cast<double>(scale)));
  return {scale, static_cast<std::uint8_t>(zero_point)};
}

}  // namespace core

QuantizedLstmWeights quantize_lstm_weights(const TensorView& w, const TensorView& r,
                                           const LstmQuantization& quantization) {
  core::check_quantization(quantization);
  check_shapes(w, r);
  return {quantize(w, quantization), quantize(r, quantization)};
}

QuantizedLstmTensor quantize_lstm_weight(const TensorView& weight, const LstmQuantization& quantization) {
  constexpr const char* kExpected = "[num_directions,4*hidden_size,input_size or hidden_size]";
  core::check_quantization(quantization);
  check_weights("weight", weight, kExpected);
  if (weight.dims[0] < 1 || weight.dims[0] > 2 || weight.dims[1] % kGates != 0)
    fail("input 'weight' has shape " + dims_text(weight) + ", expected " + kExpected);
  return quantize(weight, quantization);
}

}  // namespace octet
