#include "provider/training/trained_weights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "primitives/vector/kernels.hpp"
#include "provider/ops/lstm_weights.hpp"

namespace octet::core {

TrainedWeights::TrainedWeights(std::string label, std::vector<std::int64_t> dims, std::vector<float> weights,
                               const LstmQuantization& quantization, std::vector<float> scale,
                               std::vector<std::uint8_t> zero_point)
    : label_(std::move(label)),
      dims_(std::move(dims)),
      weights_(std::move(weights)),
      quantization_(quantization),
      scale_(std::move(scale)),
      zero_point_(std::move(zero_point)) {
  check_quantization(quantization_);
  check_weights();
  if (scale_.empty() && zero_point_.empty()) {
    calibrate();
  } else {
    check_parameters();
    spread_parameters();
  }
}

void TrainedWeights::check_parameters() const {
  const auto fail = [&](const std::string& text) { throw Error(ErrorCode::invalid_argument, label_ + text); };
  const std::string expected = ", expected " + std::to_string(parameters());
  if (scale_.size() != parameters()) fail("_scale has " + std::to_string(scale_.size()) + " elements" + expected);
  if (zero_point_.size() != parameters())
    fail("_zero_point has " + std::to_string(zero_point_.size()) + " elements" + expected);
  for (const float scale : scale_)
    if (!(scale > 0) || !std::isfinite(scale))
      fail("_scale has the element " + std::to_string(scale) + ", expected finite numbers over 0");
}

void TrainedWeights::check_weights() const {
  const auto bad = std::find_if_not(weights_.begin(), weights_.end(), is_weight);
  if (bad != weights_.end())
    throw Error(ErrorCode::invalid_argument, label_ + " has " + std::to_string(*bad) + " at index " +
                                                 std::to_string(bad - weights_.begin()) +
                                                 ", expected magnitudes up to 1e38");
}

void TrainedWeights::calibrate() {
  const auto width = static_cast<std::size_t>(columns());
  scale_.clear();
  zero_point_.clear();
  for (std::int64_t d = 0; d < directions(); ++d) {
    std::vector<float> min(width), max(width);
    for (std::int64_t i = 0; i < k(); ++i) {
      const float* row = weights_.data() + (d * k() + i) * columns();
      for (std::size_t n = 0; n < width; ++n) {
        min[n] = std::min(min[n], row[n]);
        max[n] = std::max(max[n], row[n]);
      }
    }
    if (!quantization_.per_channel) {
      min = {std::accumulate(min.begin(), min.end(), 0.0F, [](float x, float y) { return std::min(x, y); })};
      max = {std::accumulate(max.begin(), max.end(), 0.0F, [](float x, float y) { return std::max(x, y); })};
    }
    for (std::size_t n = 0; n < min.size(); ++n) {
      const WeightParameters made = weight_parameters(quantization_, min[n], max[n]);
      scale_.push_back(made.scale);
      zero_point_.push_back(made.zero_point);
    }
  }
  spread_parameters();
}

void TrainedWeights::spread_parameters() {
  column_scale_.clear();
  column_lowest_.clear();
  column_highest_.clear();
  const float lowest = quantization_.type == DataType::int8 ? -128.0F : 0.0F;
  for (std::int64_t d = 0; d < directions(); ++d)
    for (std::int64_t n = 0; n < columns(); ++n) {
      const auto at = static_cast<std::size_t>(quantization_.per_channel ? d * columns() + n : d);
      const auto zero_point = static_cast<float>(integer_of(quantization_.type, zero_point_[at]));
      column_scale_.push_back(scale_[at]);
      column_lowest_.push_back(lowest - zero_point);
      column_highest_.push_back(lowest + 255 - zero_point);
    }
}

vector::WeightMatrix TrainedWeights::matrix(std::int64_t direction) const {
  return {k(),
          columns(),
          weights_.data() + direction * k() * columns(),
          column_scale_.data() + direction * columns(),
          column_lowest_.data() + direction * columns(),
          column_highest_.data() + direction * columns()};
}

QuantizedLstmTensor TrainedWeights::quantize() const {
  check_weights();
  QuantizedLstmTensor result;
  result.type = quantization_.type;
  result.dims = dims_;
  result.parameter_dims = {directions()};
  if (quantization_.per_channel) result.parameter_dims.push_back(columns());
  result.scale = scale_;
  result.zero_point = zero_point_;
  result.values.resize(weights_.size());
  const float lowest = quantization_.type == DataType::int8 ? -128.0F : 0.0F;
  std::vector<float> meant(static_cast<std::size_t>(k() * columns()));
  double square_sum = 0;
  for (std::int64_t d = 0; d < directions(); ++d) {
    const vector::WeightMatrix weights = matrix(d);
    vector::kernels().weights->fake_quantize(weights, meant.data());
    for (std::size_t i = 0; i < meant.size(); ++i) {
      const auto column = static_cast<std::int64_t>(i) % columns();
      const double error = static_cast<double>(meant[i]) - static_cast<double>(weights.weights[i]);
      result.largest_error = std::max(result.largest_error, static_cast<float>(std::fabs(error)));
      square_sum += error * error;
      const float integer = std::nearbyint(meant[i] / weights.scale[column]) - weights.lowest[column] + lowest;
      const std::size_t at = static_cast<std::size_t>(d) * meant.size() + i;
      result.values[at] = static_cast<std::uint8_t>(static_cast<std::int32_t>(integer));
    }
  }
  if (!weights_.empty())
    result.rms_error = static_cast<float>(std::sqrt(square_sum / static_cast<double>(weights_.size())));
  return result;
}

}  // namespace octet::core
