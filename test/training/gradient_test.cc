// Derivatives of octet::training::Lstm against central differences of a float64 twin, its forward pass against the same
// twin, and the twin against the reference of DynamicQuantizeLSTM.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "test/reference/reference.hpp"
#include "test/training/layer_case.hpp"

namespace octet::test {
namespace {

#ifdef OCTET_SANITIZED
constexpr int kCases = 100;
constexpr std::size_t kElements = 40;  // of a tensor, to which differences are taken
#else
constexpr int kCases = 400;
constexpr std::size_t kElements = 250;
#endif

/// Everything that a forward and a backward pass write, with what they must not leave unwritten.
struct Passes {
  Array y, y_h, y_c;
  Array dx, dinitial_h, dinitial_c, dw, dr, db, dp;

  explicit Passes(const LayerCase& c)
      : y(unwritten(c.y_dims())),
        y_h(unwritten(c.state_dims())),
        y_c(unwritten(c.state_dims())),
        dx(unwritten(c.x.dims)),
        dinitial_h(unwritten(c.state_dims())),
        dinitial_c(unwritten(c.state_dims())),
        dw(unwritten({c.directions(), c.definition.input_size, 4 * c.definition.hidden_size})),
        dr(unwritten({c.directions(), c.definition.hidden_size, 4 * c.definition.hidden_size})),
        db(unwritten({c.directions(), 8 * c.definition.hidden_size})),
        dp(unwritten({c.directions(), 3 * c.definition.hidden_size})) {}

  training::LstmOutputs outputs() const { return {y.view(), y_h.view(), y_c.view()}; }
  training::LstmGradients gradients(const LayerCase& c) const {
    return {dx.view(),
            dinitial_h.view(),
            dinitial_c.view(),
            dw.view(),
            dr.view(),
            c.definition.b.empty() ? TensorView() : db.view(),
            c.definition.p.empty() ? TensorView() : dp.view()};
  }
};

/// Derivatives of the loss by the elements of a tensor of the twin: by all, or some of a large one, NaN for others.
std::vector<double> central_differences(const LayerCase& c, TwinTensors tensors,
                                        std::vector<double> TwinTensors::* which) {
  const Twin twin = c.twin();
  constexpr double kStep = 1e-6;
  std::vector<double> result((tensors.*which).size(), std::nan(""));
  for (std::size_t i = 0; i < result.size(); i += 1 + result.size() / kElements) {
    double& value = (tensors.*which)[i];
    const double before = value;
    value = before + kStep;
    const double above = c.loss(twin.run(tensors));
    value = before - kStep;
    const double below = c.loss(twin.run(tensors));
    value = before;
    result[i] = (above - below) / (2 * kStep);
  }
  return result;
}

void expect_near(const std::vector<float>& found, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double largest = 1;
  for (const double value : expected) largest = std::fmax(largest, std::fabs(value));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i])) continue;
    ASSERT_NEAR(static_cast<double>(found[i]), expected[i], tolerance * largest) << what << " at " << i;
  }
}

/// 1 where a weight is inside the range of the quantizer, by its definition.
std::vector<double> inside(const std::vector<float>& weights, const QuantizedLstmTensor& quantized) {
  const int lowest = quantized.type == DataType::int8 ? -128 : 0;
  const auto columns = static_cast<std::size_t>(quantized.dims[2]);
  const auto of_direction = static_cast<std::size_t>(quantized.dims[1]) * columns;
  std::vector<double> result;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t direction = i / of_direction;
    const std::size_t at = quantized.parameter_dims.size() == 1 ? direction : direction * columns + i % columns;
    const std::uint8_t byte = quantized.zero_point[at];
    const int zero_point =
        quantized.type == DataType::int8 ? static_cast<int>(static_cast<std::int8_t>(byte)) : static_cast<int>(byte);
    const double q = std::nearbyint(static_cast<double>(weights[i] / quantized.scale[at])) + zero_point;
    result.push_back(q >= lowest && q <= lowest + 255 ? 1.0 : 0.0);
  }
  return result;
}

class Generated : public testing::TestWithParam<int> {};

TEST_P(Generated, ForwardIsTheTwins) {
  const LayerCase c = LayerCase::generated(GetParam());
  SCOPED_TRACE(c.describe());
  training::Lstm layer(c.definition);
  Passes passes(c);
  layer.forward(c.inputs(), passes.outputs());
  const TwinOutputs expected = c.twin().run(c.twin_tensors(layer));
  expect_near(passes.y.values, expected.y, 4e-6, "Y");
  expect_near(passes.y_h.values, expected.y_h, 4e-6, "Y_h");
  expect_near(passes.y_c.values, expected.y_c, 4e-6, "Y_c");

  layer.set_training(false);
  const Passes again(c);
  layer.forward(c.inputs(), again.outputs());
  EXPECT_EQ(again.y.values, passes.y.values) << "outside training mode";
  EXPECT_EQ(again.y_h.values, passes.y_h.values);
  EXPECT_EQ(again.y_c.values, passes.y_c.values);
}

void expect_backward_is_central_differences(const LayerCase& c) {
  SCOPED_TRACE(c.describe());
  training::Lstm layer(c.definition);
  Passes passes(c);
  layer.forward(c.inputs(), {});
  layer.backward(c.output_gradients(), passes.gradients(c));
  const TwinTensors tensors = c.twin_tensors(layer);
  const auto check = [&](const Array& found, std::vector<double> TwinTensors::* which, const char* name,
                         const std::vector<double>& factors = {}, double factor = 1) {
    std::vector<double> expected = central_differences(c, tensors, which);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= factors.empty() ? factor : factors[i];
    expect_near(found.values, expected, 1e-5, name);
  };
  const QuantizedLstmWeights quantized = layer.quantize();
  check(passes.dx, &TwinTensors::x, "dX", {}, static_cast<double>(c.definition.lda_coeff));
  check(passes.dinitial_h, &TwinTensors::initial_h, "dinitial_h");
  check(passes.dinitial_c, &TwinTensors::initial_c, "dinitial_c");
  check(passes.dw, &TwinTensors::w, "dW", inside(c.definition.w, quantized.w));
  check(passes.dr, &TwinTensors::r, "dR", inside(c.definition.r, quantized.r));
  if (!c.definition.b.empty()) check(passes.db, &TwinTensors::b, "dB");
  if (!c.definition.p.empty()) check(passes.dp, &TwinTensors::p, "dP");
}

TEST_P(Generated, BackwardIsTheCentralDifferences) {
  expect_backward_is_central_differences(LayerCase::generated(GetParam()));
}

/// Long sequences, one or many, around the loops' blocks; 9, 28 and 29 are the usual functions forward, reverse and
/// both ways with sequences of full length, 0 has lengths.
TEST(Sizes, BackwardIsTheCentralDifferences) {
  for (const auto& [number, size] : std::vector<std::pair<int, LayerSize>>{{9, {600, 1, 3, 2}},
                                                                           {28, {100, 1, 2, 5}},
                                                                           {29, {70, 8, 2, 3}},
                                                                           {0, {30, 20, 3, 2}},
                                                                           {9, {3, 1, 3, 70}},
                                                                           {0, {3, 1, 70, 17}},
                                                                           {28, {3, 14, 3, 18}}})
    expect_backward_is_central_differences(LayerCase::generated(number, size));
}

/// The twin's outputs are those of the node that the layer exports, computed in float64 by the operator's reference.
TEST_P(Generated, TwinIsTheReference) {
  const LayerCase c = LayerCase::generated(GetParam());
  SCOPED_TRACE(c.describe());
  const training::Lstm layer(c.definition);
  const QuantizedLstmWeights weights = layer.quantize();
  Node node;
  node.op_type = "DynamicQuantizeLSTM";
  node.attributes = c.definition.attributes;
  node.attributes["lstm_quantization"] = std::string("none");
  const Dims b_dims{c.directions(), 8 * c.definition.hidden_size}, p_dims{c.directions(), 3 * c.definition.hidden_size};
  const auto optional = [](const std::vector<float>& values, const Dims& dims) {
    return values.empty() ? TensorView() : TensorView(values.data(), DataType::float32, dims);
  };
  const auto tensors = [](const QuantizedLstmTensor& tensor) {
    return std::vector<TensorView>{{tensor.values.data(), tensor.type, tensor.dims},
                                   {tensor.scale.data(), DataType::float32, tensor.parameter_dims},
                                   {tensor.zero_point.data(), tensor.type, tensor.parameter_dims}};
  };
  const std::vector<TensorView> w = tensors(weights.w), r = tensors(weights.r);
  const training::LstmInputs inputs = c.inputs();
  const Passes found(c);
  reference::run(node,
                 {inputs.x, w[0], r[0], optional(c.definition.b, b_dims), inputs.sequence_lens, inputs.initial_h,
                  inputs.initial_c, optional(c.definition.p, p_dims), w[1], w[2], r[1], r[2]},
                 {found.y.view(), found.y_h.view(), found.y_c.view()});
  const TwinOutputs expected = c.twin().run(c.twin_tensors(layer));
  expect_near(found.y.values, expected.y, 4e-7, "Y");
  expect_near(found.y_h.values, expected.y_h, 4e-7, "Y_h");
  expect_near(found.y_c.values, expected.y_c, 4e-7, "Y_c");
}

INSTANTIATE_TEST_SUITE_P(Cases, Generated, testing::Range(0, kCases));

}  // namespace
}  // namespace octet::test
