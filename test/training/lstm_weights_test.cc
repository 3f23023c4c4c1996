// quantize_lstm_weights: layout, formulas, errors as reported, and wrong use.
#include <octet/lstm_weights.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace octet {
namespace {

using Dims = std::vector<std::int64_t>;

std::vector<float> random_weights(const Dims& dims, float width, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-width, width / 2);
  std::vector<float> values(static_cast<std::size_t>(dims[0] * dims[1] * dims[2]));
  for (float& value : values) value = uniform(random);
  return values;
}

TensorView view(const std::vector<float>& values, const Dims& dims) { return {values.data(), DataType::float32, dims}; }

int integer_of(DataType type, std::uint8_t byte) {
  return type == DataType::int8 ? static_cast<int>(static_cast<std::int8_t>(byte)) : static_cast<int>(byte);
}

class EveryForm : public testing::TestWithParam<LstmQuantization> {};

/// Values against their formula, one by one, from the node's side.
void check(const QuantizedLstmTensor& found, const LstmQuantization& form, const std::vector<float>& weights,
           const Dims& onnx) {
  const std::int64_t directions = onnx[0], columns = onnx[1], k = onnx[2];
  ASSERT_EQ(found.type, form.type);
  ASSERT_EQ(found.dims, (Dims{directions, k, columns}));
  ASSERT_EQ(found.parameter_dims, form.per_channel ? (Dims{directions, columns}) : Dims{directions});
  ASSERT_EQ(found.scale.size(), static_cast<std::size_t>(form.per_channel ? directions * columns : directions));
  ASSERT_EQ(found.zero_point.size(), found.scale.size());
  const int lowest = form.type == DataType::int8 ? -128 : 0;
  double largest = 0, squares = 0;
  for (std::int64_t d = 0; d < directions; ++d)
    for (std::int64_t n = 0; n < columns; ++n) {
      const auto parameter = static_cast<std::size_t>(form.per_channel ? d * columns + n : d);
      const float scale = found.scale[parameter];
      const int zero_point = integer_of(form.type, found.zero_point[parameter]);
      if (form.symmetric) {
        ASSERT_EQ(zero_point, lowest + 128);
      }
      for (std::int64_t i = 0; i < k; ++i) {
        const float weight = weights[static_cast<std::size_t>((d * columns + n) * k + i)];
        const int value = integer_of(form.type, found.values[static_cast<std::size_t>((d * k + i) * columns + n)]);
        const int expected = static_cast<int>(std::nearbyint(weight / scale)) + zero_point;
        ASSERT_EQ(value, std::clamp(expected, lowest, lowest + 255));
        const double error = static_cast<double>(static_cast<float>(value - zero_point) * scale) - weight;
        largest = std::max(largest, std::fabs(error));
        squares += error * error;
        ASSERT_LE(std::fabs(error), static_cast<double>(scale) * 1.001) << "the range does not hold its weights";
      }
    }
  EXPECT_FLOAT_EQ(found.largest_error, static_cast<float>(largest));
  EXPECT_FLOAT_EQ(found.rms_error, static_cast<float>(std::sqrt(squares / static_cast<double>(weights.size()))));
}

TEST_P(EveryForm, IsItsFormula) {
  for (const std::int64_t directions : {1, 2}) {
    const Dims w_dims{directions, 28, 5}, r_dims{directions, 28, 7};
    const std::vector<float> w = random_weights(w_dims, 0.7F, 1), r = random_weights(r_dims, 3, 2);
    const QuantizedLstmWeights found = quantize_lstm_weights(view(w, w_dims), view(r, r_dims), GetParam());
    check(found.w, GetParam(), w, w_dims);
    check(found.r, GetParam(), r, r_dims);
  }
}

TEST_P(EveryForm, UsesItsWholeRange) {
  const Dims dims{1, 4, 1};
  const std::vector<float> r = {-1, 0.5F, 0.25F, 1};
  const QuantizedLstmTensor found = quantize_lstm_weights(view(r, dims), view(r, dims), GetParam()).r;
  if (GetParam().per_channel) {
    EXPECT_FLOAT_EQ(found.scale[1], 0.5F / (GetParam().symmetric ? 127 : 255));
    EXPECT_LE(found.largest_error, 1e-7F);
  } else {
    EXPECT_FLOAT_EQ(found.scale[0], GetParam().symmetric ? 1.0F / 127 : 2.0F / 255);
  }
}

TEST_P(EveryForm, KeepsZerosAndExtremes) {
  const Dims dims{1, 4, 1};
  const float tiny = std::numeric_limits<float>::denorm_min(), most = 1e38F;
  for (const std::vector<float>& r : {std::vector<float>{0, 0, 0, 0}, {tiny, -tiny, 0, tiny}, {most, -most, 0, 1}}) {
    const QuantizedLstmTensor found = quantize_lstm_weights(view(r, dims), view(r, dims), GetParam()).r;
    for (const float scale : found.scale) EXPECT_TRUE(std::isnormal(scale) && scale > 0);
    for (std::size_t i = 0; i < r.size(); ++i) {
      const std::uint8_t zero_point = found.zero_point[GetParam().per_channel ? i : 0];
      if (r[i] == 0) {
        EXPECT_EQ(found.values[i], zero_point) << "zero must stay zero";
      }
    }
    EXPECT_TRUE(std::isfinite(found.largest_error));
    EXPECT_LE(found.largest_error, most / 100);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryForm,
    testing::Values(LstmQuantization{DataType::int8, true, true}, LstmQuantization{DataType::int8, true, false},
                    LstmQuantization{DataType::int8, false, true}, LstmQuantization{DataType::int8, false, false},
                    LstmQuantization{DataType::uint8, true, true}, LstmQuantization{DataType::uint8, true, false},
                    LstmQuantization{DataType::uint8, false, true}, LstmQuantization{DataType::uint8, false, false}));

std::string error_of(const Dims& w_dims, const Dims& r_dims, const LstmQuantization& form = {}, float value = 0) {
  const std::vector<float> values(1000, value);
  try {
    quantize_lstm_weights(view(values, w_dims), view(values, r_dims), form);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(QuantizeLstmWeights, WrongUseIsAnError) {
  EXPECT_EQ(error_of({1, 8, 3}, {1, 8, 2}), "");
  EXPECT_EQ(error_of({1, 8, 0}, {1, 8, 2}), "") << "no inputs are allowed";
  EXPECT_EQ(error_of({1, 8, 3}, {1, 9, 2}),
            "quantize_lstm_weights: input 'R' has shape [1,9,2], expected [num_directions,4*hidden_size,hidden_size]");
  EXPECT_NE(error_of({3, 8, 3}, {3, 8, 2}).find("1 or 2 directions"), std::string::npos);
  EXPECT_NE(error_of({2, 8, 3}, {1, 8, 2}).find("'W' has shape [2,8,3], expected [1,8,input_size]"), std::string::npos);
  EXPECT_NE(error_of({8, 3}, {1, 8, 2}).find("'W' has shape [8,3]"), std::string::npos);
  EXPECT_NE(error_of({1, 8, 3}, {1, 8, 2}, {DataType::int16, true, true}).find("type is int16, expected int8 or uint8"),
            std::string::npos);
  EXPECT_NE(error_of({1, 8, 3}, {1, 8, 2}, {}, std::nanf("")).find("'W' has nan at index 0"), std::string::npos);
  EXPECT_NE(error_of({1, 8, 3}, {1, 8, 2}, {}, -2e38F).find("expected magnitudes up to 1e38"), std::string::npos);
  const std::vector<float> values(48);
  const Dims w_dims{1, 8, 3}, r_dims{1, 8, 2};
  EXPECT_THROW(quantize_lstm_weights(TensorView(values.data(), DataType::int8, w_dims), view(values, r_dims)), Error);
  EXPECT_THROW(quantize_lstm_weights(TensorView(values.data(), DataType::float32, nullptr, 3), view(values, r_dims)),
               Error);
  EXPECT_THROW(quantize_lstm_weights(TensorView(nullptr, DataType::float32, w_dims), view(values, r_dims)), Error);
}

TEST(OneTensor, IsQuantizedAsWithTheOther) {
  const Dims w_dims{1, 8, 3}, r_dims{1, 8, 2};
  std::vector<float> w(24), r(16, 0.5F);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i) - 7;
  const LstmQuantization form{DataType::uint8, false, true};
  const QuantizedLstmTensor alone = quantize_lstm_weight(view(w, w_dims), form);
  const QuantizedLstmTensor both = quantize_lstm_weights(view(w, w_dims), view(r, r_dims), form).w;
  EXPECT_EQ(alone.values, both.values);
  EXPECT_EQ(alone.scale, both.scale);
  EXPECT_EQ(alone.zero_point, both.zero_point);
  EXPECT_EQ(alone.dims, (Dims{1, 3, 8}));
}

TEST(OneTensor, WrongUseIsAnError) {
  const std::vector<float> values(24);
  const auto error_of_dims = [&](const Dims& dims) {
    try {
      quantize_lstm_weight(view(values, dims));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(error_of_dims({3, 4, 2}).find("'weight' has shape [3,4,2]"), std::string::npos);
  EXPECT_NE(error_of_dims({1, 6, 4}).find("4*hidden_size"), std::string::npos);
  EXPECT_NE(error_of_dims({24}).find("has shape [24]"), std::string::npos);
  EXPECT_NE(error_of_dims({1, std::int64_t{1} << 40, std::int64_t{1} << 40}).find("memory"), std::string::npos);
}

}  // namespace
}  // namespace octet
