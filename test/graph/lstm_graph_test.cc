// The DynamicQuantizeLSTM node of the graph builder, and its weights.
#include <cmath>
#include <map>
#include <random>

#include "test/graph/graph_support.hpp"

namespace octet::test {
namespace {

using Strings = std::vector<std::string>;

constexpr std::int64_t kInput = 3;
constexpr std::int64_t kHidden = 2;

/// A graph with the inputs of a layer.
struct Layer {
  GraphBuilder graph;
  DynamicQuantizeLstmInputs inputs;

  explicit Layer(std::int64_t directions = 1) {
    const auto input = [&](const char* name, DataType type, const std::vector<GraphDim>& dims) {
      return graph.add_input(name, type, dims);
    };
    inputs.X = input("X", DataType::float32, {"sequence", "batch", kInput});
    inputs.W = input("W", DataType::int8, {directions, kInput, 4 * kHidden});
    inputs.R = input("R", DataType::int8, {directions, kHidden, 4 * kHidden});
    for (const auto& [value, name] : {std::pair{&inputs.W_scale, "W_scale"}, std::pair{&inputs.R_scale, "R_scale"}})
      *value = input(name, DataType::float32, {directions});
    inputs.W_zero_point = input("W_zero_point", DataType::int8, {directions});
    inputs.R_zero_point = input("R_zero_point", DataType::int8, {directions});
  }
  void add_optional(std::int64_t directions) {
    inputs.B = graph.add_input("B", DataType::float32, {directions, 8 * kHidden});
    inputs.sequence_lens = graph.add_input("sequence_lens", DataType::int32, {"batch"});
    inputs.initial_h = graph.add_input("initial_h", DataType::float32, {directions, "batch", kHidden});
    inputs.initial_c = graph.add_input("initial_c", DataType::float32, {directions, "batch", kHidden});
    inputs.P = graph.add_input("P", DataType::float32, {directions, 3 * kHidden});
  }
};

std::map<std::string, std::string> metadata(const onnx::NodeProto& node) {
  std::map<std::string, std::string> result;
  for (const auto& entry : node.metadata_props()) result[entry.key()] = entry.value();
  return result;
}

std::map<std::string, const onnx::AttributeProto*> attributes(const onnx::NodeProto& node) {
  std::map<std::string, const onnx::AttributeProto*> result;
  for (const auto& attribute : node.attribute()) result[attribute.name()] = &attribute;
  return result;
}

TEST(LstmGraph, DefaultsAreThoseOfTheToolkit) {
  Layer layer;
  const auto outputs = layer.graph.add_dynamic_quantize_lstm(layer.inputs);
  EXPECT_EQ(describe(layer.graph.info(outputs.Y)), "float[sequence,1,batch,2]");
  EXPECT_EQ(describe(layer.graph.info(outputs.Y_h)), "float[1,batch,2]");
  EXPECT_EQ(describe(layer.graph.info(outputs.Y_c)), "float[1,batch,2]");
  layer.graph.add_output(outputs.Y_h, "h");
  layer.graph.check();
  const onnx::ModelProto model = parsed(layer.graph);
  EXPECT_EQ(model.ir_version(), 10);
  const onnx::NodeProto& node = model.graph().node(0);
  EXPECT_EQ(Strings(node.output().begin(), node.output().end()), (Strings{"", "h"}));
  EXPECT_EQ(metadata(node), (std::map<std::string, std::string>{{"octet.lda_coeff", "1"}, {"octet.training", "1"}}));
  const auto found = attributes(node);
  EXPECT_EQ(found.size(), 3U);
  EXPECT_EQ(found.at("direction")->s(), "forward");
  EXPECT_EQ(found.at("hidden_size")->i(), kHidden);
  EXPECT_EQ(found.at("input_forget")->i(), 0);
}

TEST(LstmGraph, EveryParameterIsWrittenAndSurvivesSavingAndLoading) {
  Layer layer(2);
  layer.add_optional(2);
  DynamicQuantizeLstmParameters parameters;
  parameters.activation_alpha = {0.5F, 0.25F};
  parameters.activation_beta = {0.125F};
  parameters.activations = {"HardSigmoid", "Tanh", "Tanh", "LeakyRelu", "Tanh", "Tanh"};
  parameters.clip = 2.5F;
  parameters.direction = "bidirectional";
  parameters.hidden_size = kHidden;
  parameters.input_forget = true;
  parameters.training = false;
  parameters.lda_coeff = 0.1F;
  const auto outputs = layer.graph.add_dynamic_quantize_lstm(layer.inputs, parameters, "layer");
  for (const GraphValue output : {outputs.Y, outputs.Y_h, outputs.Y_c}) layer.graph.add_output(output);
  layer.graph.check();
  const onnx::ModelProto model = parsed(reloaded(layer.graph));
  const onnx::NodeProto& node = model.graph().node(0);
  EXPECT_EQ(node.name(), "layer");
  EXPECT_EQ(node.input_size(), 12);
  EXPECT_EQ(metadata(node), (std::map<std::string, std::string>{{kLdaCoeffKey, "0.1"}, {kTrainingKey, "0"}}));
  EXPECT_EQ(std::stof(metadata(node)[kLdaCoeffKey]), 0.1F);
  const auto found = attributes(node);
  EXPECT_EQ(found.size(), 7U);
  EXPECT_EQ(found.at("clip")->f(), 2.5F);
  EXPECT_EQ(found.at("input_forget")->i(), 1);
  EXPECT_EQ(found.at("activations")->strings_size(), 6);
  EXPECT_EQ(found.at("activation_alpha")->floats(1), 0.25F);
  EXPECT_EQ(found.at("activation_beta")->floats(0), 0.125F);
}

TEST(LstmGraph, WrongParametersAreErrors) {
  Layer layer;
  const auto error = [&](auto change) {
    DynamicQuantizeLstmParameters parameters;
    change(parameters);
    return error_of([&] { layer.graph.add_dynamic_quantize_lstm(layer.inputs, parameters, "layer"); });
  };
  const std::string begin = "DynamicQuantizeLSTM 'layer': ";
  EXPECT_EQ(error([](auto& p) { p.direction = "backward"; }),
            begin + "attribute 'direction' is 'backward', expected forward, reverse or bidirectional");
  EXPECT_EQ(error([](auto& p) { p.clip = -1; }), begin + "attribute 'clip' is -1.000000, expected 0 (none) or more");
  EXPECT_NE(error([](auto& p) { p.clip = NAN; }).find("'clip' is"), std::string::npos);
  EXPECT_EQ(error([](auto& p) { p.lda_coeff = INFINITY; }), begin + "parameter 'lda coeff' is not finite");
  EXPECT_EQ(error([](auto& p) { p.hidden_size = -3; }),
            begin + "attribute 'hidden_size' is -3, expected 1 to 2147483647");
  EXPECT_NE(error([](auto& p) { p.hidden_size = 3; }).find("input 'W' has shape"), std::string::npos);
  EXPECT_NE(error([](auto& p) { p.activations = {"Tanh"}; }).find("has 1 entries, expected 3"), std::string::npos);
  EXPECT_NE(error([](auto& p) { p.activations = {"Tanh", "Tanh", "Sine"}; }).find("'Sine'"), std::string::npos);
  layer.inputs.R = layer.graph.add_input("open", DataType::int8, {1, "hidden", "gates"});
  EXPECT_EQ(error([](auto&) {}),
            begin + "attribute 'hidden_size' is missing, and the shape of input 'R' does not tell it");
  layer.inputs.R = GraphValue();
  EXPECT_EQ(error([](auto& p) { p.hidden_size = kHidden; }), begin + "input 'R' is missing");
}

/// The plain form of add_node() writes what onnxruntime takes, too.
TEST(LstmGraph, AddNodeCompletesTheNode) {
  Layer layer;
  GraphNode node{"DynamicQuantizeLSTM"};
  node.inputs = {{"X", layer.inputs.X},
                 {"W", layer.inputs.W},
                 {"R", layer.inputs.R},
                 {"W_scale", layer.inputs.W_scale},
                 {"W_zero_point", layer.inputs.W_zero_point},
                 {"R_scale", layer.inputs.R_scale},
                 {"R_zero_point", layer.inputs.R_zero_point}};
  node.attributes = {{"clip", 0.0F}};
  layer.graph.add_output(layer.graph.add_node(node)[0]);
  const onnx::ModelProto model = parsed(layer.graph);
  const auto found = attributes(model.graph().node(0));
  EXPECT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at("hidden_size")->i(), kHidden);
  EXPECT_EQ(model.graph().node(0).metadata_props_size(), 0);
}

// --- weights --------------------------------------------------------------------------------------------------------

std::vector<float> random_weights(std::size_t count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-0.4F, 0.9F);
  std::vector<float> result(count);
  for (float& w : result) w = uniform(random);
  return result;
}

QuantizedLstmTensor quantized(const std::vector<float>& weights) {
  return quantize_lstm_weight({weights.data(), DataType::float32, {1, 4 * kHidden, kInput}});
}

TEST(LstmWeightValues, BecomeConstantsOfTheGraph) {
  const std::vector<float> weights = random_weights(4 * kHidden * kInput);
  Layer layer;
  const auto w = layer.graph.add_constants(quantized(weights), "weight");
  EXPECT_EQ(names(layer.graph, w), (Strings{"weight", "weight_scale", "weight_zero_point"}));
  layer.inputs.W = w[0];
  layer.inputs.W_scale = w[1];
  layer.inputs.W_zero_point = w[2];
  layer.graph.add_output(layer.graph.add_dynamic_quantize_lstm(layer.inputs).Y);
  layer.graph.check();
  EXPECT_NE(error_of([&] { layer.graph.add_constants({}, "weight"); }).find("already"), std::string::npos);
  QuantizedLstmTensor cut = quantized(weights);
  cut.values.pop_back();
  EXPECT_NE(error_of([&] { layer.graph.add_constants(cut, "cut"); }).find("do not fit"), std::string::npos);
}

}  // namespace
}  // namespace octet::test
