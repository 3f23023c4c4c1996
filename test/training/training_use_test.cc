// What octet::training::Lstm promises beyond its numbers: exact zeros, what it stores, the quantizer's life, the same
// bits again, and clear errors for wrong use.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "test/support/error_of.hpp"
#include "test/training/layer_case.hpp"

namespace octet::test {
namespace {

struct Small {
  training::LstmDefinition definition;
  std::int64_t steps = 4, batch = 3;
  Array x, y, states;

  Small() {
    std::mt19937 random(3);
    definition.name = "small";
    definition.input_size = 5;
    definition.hidden_size = 6;
    definition.w = random_array(random, {1, 5, 24}, 1).values;
    definition.r = random_array(random, {1, 6, 24}, 0.5F).values;
    definition.b = random_array(random, {1, 48}, 0.5F).values;
    x = random_array(random, {steps, batch, 5}, 1);
    y = random_array(random, {steps, 1, batch, 6}, 1);
    states = random_array(random, {1, batch, 6}, 1);
  }
};

TEST(TrainingZeros, WherePaddingIs) {
  const Small small;
  training::Lstm layer(small.definition);
  const std::vector<std::int32_t> lengths = {2, 0, 4};
  const Dims lengths_dims{3};
  Array x = small.x, dy = small.y;
  const float nan = std::nanf("");
  for (std::int64_t t = 0; t < 4; ++t)
    for (std::int64_t n = 0; n < 3; ++n) {
      if (t < lengths[static_cast<std::size_t>(n)]) continue;
      std::fill_n(x.values.begin() + (t * 3 + n) * 5, 5, nan);
      std::fill_n(dy.values.begin() + (t * 3 + n) * 6, 6, nan);
    }
  const Array y = unwritten(small.y.dims), y_h = unwritten(small.states.dims), y_c = unwritten(small.states.dims);
  const Array dx = unwritten(x.dims), dh = unwritten(small.states.dims), dc = unwritten(small.states.dims);
  layer.forward({x.view(), {lengths.data(), DataType::int32, lengths_dims}, small.states.view(), small.states.view()},
                {y.view(), y_h.view(), y_c.view()});
  layer.backward({dy.view(), small.states.view(), small.states.view()},
                 {dx.view(), dh.view(), dc.view(), {}, {}, {}, {}});
  for (std::int64_t t = 0; t < 4; ++t)
    for (std::int64_t n = 0; n < 3; ++n)
      for (std::int64_t i = 0; i < 6; ++i) {
        const bool padding = t >= lengths[static_cast<std::size_t>(n)];
        const float found = y.values[static_cast<std::size_t>((t * 3 + n) * 6 + i)];
        EXPECT_EQ(found == 0, padding);
        if (i < 5) {
          EXPECT_EQ(dx.values[static_cast<std::size_t>((t * 3 + n) * 5 + i)] == 0, padding);
        }
      }
  for (const Array* array : {&y_h, &y_c, &dh, &dc})
    for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(array->values[i] == 0, i / 6 == 1) << i;
}

TEST(TrainingStore, IsLinearInTheSequenceAndEmptyOutsideTrainingMode) {
  const Small small;
  training::Lstm layer(small.definition);
  EXPECT_EQ(layer.stored_bytes(), 0U);
  std::mt19937 random(1);
  for (const std::int64_t steps : {1, 10, 100}) {
    const Array x = random_array(random, {steps, 3, 5}, 1);
    layer.forward({x.view(), {}, {}, {}}, {});
    EXPECT_EQ(layer.stored_bytes(), static_cast<std::size_t>(steps * 3 * (5 + 7 * 6)) * sizeof(float));
  }
  layer.set_training(false);
  EXPECT_EQ(layer.stored_bytes(), 0U);
  layer.forward({small.x.view(), {}, {}, {}}, {});
  EXPECT_EQ(layer.stored_bytes(), 0U);
}

TEST(TrainingQuantizer, StaysUntilItIsCalibrated) {
  const Small small;
  training::Lstm layer(small.definition);
  const QuantizedLstmWeights before = layer.quantize();
  auto* w = layer.w().as<float>();
  for (std::int64_t i = 0; i < 5 * 24; ++i) w[i] *= 3;
  const QuantizedLstmWeights saturated = layer.quantize();
  EXPECT_EQ(saturated.w.scale, before.w.scale);
  EXPECT_GT(saturated.w.largest_error, 10 * before.w.largest_error);
  layer.calibrate();
  const QuantizedLstmWeights after = layer.quantize();
  EXPECT_EQ(after.w.values, before.w.values) << "three times the weights on three times the scale";
  EXPECT_EQ(after.r.scale, before.r.scale);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_FLOAT_EQ(after.w.scale[i], 3 * before.w.scale[i]);
}

/// The layer's own quantizer is the function for the weights of ONNX's LSTM, which are the transpose.
TEST(TrainingQuantizer, IsThatOfTheHelper) {
  const Small small;
  const auto transposed = [](const std::vector<float>& values, std::size_t k) {
    std::vector<float> result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) result[i % 24 * k + i / 24] = values[i];
    return result;
  };
  const std::vector<float> w = transposed(small.definition.w, 5), r = transposed(small.definition.r, 6);
  const Dims w_dims{1, 24, 5}, r_dims{1, 24, 6};
  for (int form = 0; form < 8; ++form) {
    training::LstmDefinition definition = small.definition;
    definition.quantization = {form % 2 == 0 ? DataType::int8 : DataType::uint8, form / 2 % 2 == 0, form / 4 == 0};
    const QuantizedLstmWeights found = training::Lstm(definition).quantize();
    const QuantizedLstmWeights expected = quantize_lstm_weights(
        {w.data(), DataType::float32, w_dims}, {r.data(), DataType::float32, r_dims}, definition.quantization);
    for (const auto tensor : {&QuantizedLstmWeights::w, &QuantizedLstmWeights::r}) {
      EXPECT_EQ((found.*tensor).values, (expected.*tensor).values);
      EXPECT_EQ((found.*tensor).scale, (expected.*tensor).scale);
      EXPECT_EQ((found.*tensor).zero_point, (expected.*tensor).zero_point);
      EXPECT_EQ((found.*tensor).dims, (expected.*tensor).dims);
      EXPECT_EQ((found.*tensor).parameter_dims, (expected.*tensor).parameter_dims);
      EXPECT_FLOAT_EQ((found.*tensor).largest_error, (expected.*tensor).largest_error);
      EXPECT_FLOAT_EQ((found.*tensor).rms_error, (expected.*tensor).rms_error);
    }
  }
}

TEST(TrainingPasses, GiveTheSameBitsAgain) {
  const LayerCase c = LayerCase::generated(50);
  std::vector<float> first;
  for (int repetition = 0; repetition < 3; ++repetition) {
    training::Lstm layer(c.definition);
    const Array dx = unwritten(c.x.dims),
                dw = unwritten({c.directions(), c.definition.input_size, 4 * c.definition.hidden_size});
    if (repetition == 2) layer.forward(c.inputs(), {});  // what an earlier pass has left does not matter
    layer.forward(c.inputs(), {});
    layer.backward(c.output_gradients(), {dx.view(), {}, {}, dw.view(), {}, {}, {}});
    std::vector<float> found = dx.values;
    found.insert(found.end(), dw.values.begin(), dw.values.end());
    if (repetition == 0) first = found;
    EXPECT_EQ(std::memcmp(found.data(), first.data(), found.size() * sizeof(float)), 0);
  }
}

TEST(TrainingPasses, OfNothingAfterOthers) {
  const Small small;
  training::Lstm layer(small.definition);
  layer.forward({small.x.view(), {}, {}, {}}, {});
  layer.set_training(false);
  layer.set_training(true);
  const std::vector<std::int32_t> lengths = {0, 0, 0};
  const Dims lengths_dims{3};
  layer.forward({small.x.view(), {lengths.data(), DataType::int32, lengths_dims}, {}, {}}, {});
  const Array dx = unwritten(small.x.dims), dw = unwritten({1, 5, 24}), dr = unwritten({1, 6, 24}),
              db = unwritten({1, 48}), dh = unwritten(small.states.dims);
  layer.backward({small.y.view(), {}, {}}, {dx.view(), dh.view(), {}, dw.view(), dr.view(), db.view(), {}});
  for (const Array* array : {&dx, &dw, &dr, &db, &dh})
    EXPECT_TRUE(std::all_of(array->values.begin(), array->values.end(), [](float value) { return value == 0; }));
}

/// From an absent first state there is no product with R in the forward pass, but its derivative has one.
TEST(TrainingPasses, OfOneStepFromNoState) {
  for (const std::int64_t batch : {1, 3, 20}) {
    std::mt19937 random(1);
    const Small small;
    training::Lstm layer(small.definition);
    const Array x = random_array(random, {1, batch, 5}, 1), dy = random_array(random, {1, 1, batch, 6}, 1);
    const Array zeros{{1, batch, 6}, std::vector<float>(static_cast<std::size_t>(batch * 6))};
    const Array of_none = unwritten(zeros.dims), of_zeros = unwritten(zeros.dims);
    layer.forward({x.view(), {}, {}, {}}, {});
    layer.backward({dy.view(), {}, {}}, {{}, of_none.view(), {}, {}, {}, {}, {}});
    layer.forward({x.view(), {}, zeros.view(), zeros.view()}, {});
    layer.backward({dy.view(), {}, {}}, {{}, of_zeros.view(), {}, {}, {}, {}, {}});
    EXPECT_EQ(of_none.values, of_zeros.values) << batch;
    EXPECT_NE(of_none.values, zeros.values) << batch;
  }
}

TEST(TrainingPasses, SurviveAMove) {
  const Small small;
  training::Lstm layer(small.definition);
  const TensorView w = layer.w();
  layer.forward({small.x.view(), {}, {}, {}}, {});
  training::Lstm moved = std::move(layer);
  EXPECT_EQ(moved.w().data, w.data);
  const Array dx = unwritten(small.x.dims);
  moved.backward({small.y.view(), {}, {}}, {dx.view(), {}, {}, {}, {}, {}, {}});
  EXPECT_TRUE(std::none_of(dx.values.begin(), dx.values.end(), [](float value) { return value == 12345.0F; }));
}

TEST(TrainingMisuse, OfBackward) {
  const Small small;
  training::Lstm layer(small.definition);
  const training::LstmOutputs dy{small.y.view(), {}, {}};
  EXPECT_EQ(error_of([&] { layer.backward(dy, {}); }),
            "DynamicQuantizeLSTM 'small': a backward pass needs a forward pass of its own before it");
  layer.forward({small.x.view(), {}, {}, {}}, {});
  EXPECT_NE(error_of([&] { layer.backward({small.states.view(), {}, {}}, {}); })
                .find("gradient of 'Y' has shape [1,3,6], expected "
                      "[seq_length,num_directions,batch_size,hidden_size]=[4,1,3,6]"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              layer.backward(dy, {{}, {}, {}, {}, {}, {}, small.states.view()});
            }).find("gradient of 'P' is asked for, but the layer has no P"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              layer.backward(dy, {{}, {}, {}, small.x.view(), {}, {}, {}});
            }).find("gradient of 'W' has shape [4,3,5], expected [num_directions,input_size,4*hidden_size]=[1,5,24]"),
            std::string::npos);
  layer.backward(dy, {});  // none of these has used up what was stored
  EXPECT_NE(error_of([&] { layer.backward(dy, {}); }).find("needs a forward pass"), std::string::npos);
  layer.forward({small.x.view(), {}, {}, {}}, {});
  layer.set_training(false);
  EXPECT_NE(error_of([&] { layer.backward(dy, {}); }).find("no backward pass outside training mode"),
            std::string::npos);
  layer.set_training(true);
  EXPECT_NE(error_of([&] { layer.backward(dy, {}); }).find("needs a forward pass"), std::string::npos);
  training::LstmDefinition inference = small.definition;
  inference.training = false;
  training::Lstm other(inference);
  other.forward({small.x.view(), {}, {}, {}}, {});
  EXPECT_NE(error_of([&] { other.backward(dy, {}); }).find("no backward pass outside training mode"),
            std::string::npos);
}

TEST(TrainingMisuse, OfForward) {
  const Small small;
  training::Lstm layer(small.definition);
  const auto expect = [&](const training::LstmInputs& inputs, const training::LstmOutputs& outputs, const char* text) {
    const std::string found = error_of([&] { layer.forward(inputs, outputs); });
    EXPECT_NE(found.find(text), std::string::npos) << found;
  };
  const TensorView x = small.x.view();
  expect({}, {}, "input 'X' is missing");
  expect({small.states.view(), {}, {}, {}}, {}, "input 'X' has shape [1,3,6], expected");
  expect({TensorView(small.x.values.data(), DataType::int8, small.x.dims), {}, {}, {}}, {}, "has type int8");
  expect({TensorView(nullptr, DataType::float32, small.x.dims), {}, {}, {}}, {}, "input 'X' has no data");
  const Dims negative{-1, 3, 5}, huge{std::int64_t{1} << 60, 3, 5}, flat{60};
  for (const Dims& dims : {negative, huge, flat})
    expect({TensorView(small.x.values.data(), DataType::float32, dims), {}, {}, {}}, {}, "input 'X' has shape");
  expect({TensorView(small.x.values.data(), DataType::float32, nullptr, 3), {}, {}, {}}, {}, "has no extents");
  expect({x, small.states.view(), {}, {}}, {}, "input 'sequence_lens' has type float, expected int32");
  const std::vector<std::int32_t> lengths = {1, 5, 2};
  const Dims three{3}, two{2};
  expect({x, {lengths.data(), DataType::int32, two}, {}, {}}, {}, "'sequence_lens' has shape [2], expected");
  expect({x, {lengths.data(), DataType::int32, three}, {}, {}}, {},
         "'sequence_lens' has 5 at index 1, expected 0 to seq_length=4");
  expect({x, {}, small.x.view(), {}}, {}, "input 'initial_h' has shape [4,3,5], expected");
  expect({x, {}, {}, small.y.view()}, {}, "input 'initial_c' has shape");
  expect({x, {}, {}, {}}, {small.x.view(), {}, {}}, "output 'Y' has shape");
  expect({x, {}, {}, {}}, {{}, {}, small.x.view()}, "output 'Y_c' has shape");
}

TEST(TrainingMisuse, OfDefinitions) {
  const auto expect = [](const std::function<void(training::LstmDefinition&)>& change, const char* text) {
    training::LstmDefinition definition = Small().definition;
    change(definition);
    const std::string found = error_of([&] { training::Lstm layer(definition); });
    EXPECT_NE(found.find(text), std::string::npos) << found;
  };
  using Definition = training::LstmDefinition;
  expect([](Definition& d) { d.w.pop_back(); }, "'W' has 119 elements, expected [1,5,24]");
  expect([](Definition& d) { d.r.clear(); }, "'R' has 0 elements, expected [1,6,24]");
  expect([](Definition& d) { d.b.push_back(0); }, "'B' has 49 elements");
  expect([](Definition& d) { d.p = {1}; }, "'P' has 1 elements, expected [1,18]");
  expect([](Definition& d) { d.hidden_size = -6; }, "hidden_size is -6");
  expect([](Definition& d) { d.input_size = std::int64_t{1} << 62; }, "input_size is");
  expect([](Definition& d) { d.attributes["hidden_size"] = std::int64_t{7}; }, "expected");
  expect([](Definition& d) { d.attributes["direction"] = std::string("sideways"); }, "'direction' is 'sideways'");
  expect([](Definition& d) { d.attributes["clip"] = -1.0F; }, "'clip'");
  expect([](Definition& d) { d.attributes["layout"] = std::int64_t{0}; }, "layout");
  expect([](Definition& d) { d.attributes["activations"] = std::vector<std::string>{"Sigmoid"}; }, "has 1 entries");
  expect([](Definition& d) { d.attributes["activation_alpha"] = std::vector<float>{1}; }, "'activation_alpha'");
  expect([](Definition& d) { d.quantization.type = DataType::int16; }, "type is int16, expected int8 or uint8");
  expect([](Definition& d) { d.lda_coeff = std::nanf(""); }, "lda_coeff is nan");
  expect([](Definition& d) { d.w[3] = std::nanf(""); }, "W has nan at index 3");
  expect([](Definition& d) { d.r[3] = std::numeric_limits<float>::infinity(); }, "R has inf at index 3");
  expect([](Definition& d) { d.w_scale = {1, 2}; }, "W_scale has 2 elements, expected 24");
  expect([](Definition& d) { d.w_zero_point.assign(24, 0); }, "W_scale has 0 elements");
  expect(
      [](Definition& d) {
        d.r_scale.assign(24, 0);
        d.r_zero_point.assign(24, 0);
      },
      "R_scale has the element 0.000000");
}

TEST(TrainingMisuse, WeightsThatAreNoNumbers) {
  training::Lstm layer(Small().definition);
  layer.r().as<float>()[2] = std::nanf("");
  EXPECT_NE(error_of([&] { layer.calibrate(); }).find("R has nan at index 2"), std::string::npos);
  EXPECT_NE(error_of([&] { layer.quantize(); }).find("R has nan at index 2"), std::string::npos);
}

}  // namespace
}  // namespace octet::test
