#include "test/training/layer_case.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

namespace octet::test {
namespace {

struct Function {
  const char* name;
  int parameters;
  float alpha, beta;  ///< where none are given
};
constexpr Function kFunctions[] = {{"Sigmoid", 0, 0, 0},       {"Tanh", 0, 0, 0},
                                   {"Relu", 0, 0, 0},          {"Affine", 2, 1, 0},
                                   {"LeakyRelu", 1, 0.01F, 0}, {"ThresholdedRelu", 1, 1, 0},
                                   {"ScaledTanh", 2, 1, 1},    {"HardSigmoid", 2, 0.2F, 0.5F},
                                   {"Elu", 1, 1, 0},           {"Softsign", 0, 0, 0},
                                   {"Softplus", 0, 0, 0}};
constexpr int kNumber = static_cast<int>(std::size(kFunctions));

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool one_in(int number, int n) { return number % n == n - 1; }

}  // namespace

Array random_array(std::mt19937& random, Dims dims, float width) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  std::uniform_real_distribution<float> uniform(-width, width);
  Array array{std::move(dims), std::vector<float>(count)};
  for (float& value : array.values) value = uniform(random);
  return array;
}

Array unwritten(Dims dims) {
  std::mt19937 random;
  Array array = random_array(random, std::move(dims), 1);
  std::fill(array.values.begin(), array.values.end(), 12345.0F);
  return array;
}

std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

std::vector<float> dequantized(const QuantizedLstmTensor& weights) {
  const auto integer = [&](std::uint8_t byte) {
    return weights.type == DataType::int8 ? static_cast<int>(static_cast<std::int8_t>(byte)) : static_cast<int>(byte);
  };
  const auto columns = static_cast<std::size_t>(weights.dims[2]);
  const auto of_direction = static_cast<std::size_t>(weights.dims[1]) * columns;
  std::vector<float> values;
  for (std::size_t i = 0; i < weights.values.size(); ++i) {
    const std::size_t direction = i / of_direction;
    const std::size_t at = weights.parameter_dims.size() == 1 ? direction : direction * columns + i % columns;
    values.push_back(static_cast<float>(integer(weights.values[i]) - integer(weights.zero_point[at])) *
                     weights.scale[at]);
  }
  return values;
}

void LayerCase::choose_attributes(int number) {
  constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};
  const int direction = number % 3;
  Attributes& attributes = definition.attributes;
  if (direction > 0 || number % 2 == 0) attributes["direction"] = std::string(kDirections[direction]);
  std::vector<float> alphas, betas;
  for (int i = 0; i < (direction == 2 ? 6 : 3); ++i) {
    // f goes through all functions, g through all of them for each f, h with both. Every third case has the usual ones.
    const int chosen[] = {number / 3, number / 3 / kNumber, number / 3 + number / 3 / kNumber};
    const int usual[] = {0, 1, 1};
    const int which = (number % 9 < 3 ? usual[i % 3] : chosen[i % 3] + i / 3) % kNumber;
    const Function& function = kFunctions[which];
    names.push_back(number % 2 == 0 ? function.name : lower(function.name));
    TwinActivation activation{lower(function.name), static_cast<double>(function.alpha),
                              static_cast<double>(function.beta)};
    if (number % 4 == 1 && function.parameters >= 1) {
      alphas.push_back(0.3F + 0.1F * static_cast<float>(i));
      activation.alpha = static_cast<double>(alphas.back());
    }
    if (number % 4 == 1 && function.parameters >= 2) {
      betas.push_back(0.6F - 0.05F * static_cast<float>(i));
      activation.beta = static_cast<double>(betas.back());
    }
    activations.push_back(activation);
  }
  if (number % 9 >= 3 || number % 2 == 0) attributes["activations"] = names;
  if (!alphas.empty()) attributes["activation_alpha"] = alphas;
  if (!betas.empty()) attributes["activation_beta"] = betas;
  if (one_in(number, 4)) attributes["clip"] = number % 8 == 3 ? 0.35F : 1.5F;
  if (number % 5 >= 3) attributes["input_forget"] = std::int64_t{number % 5 == 3};
  if (number % 2 == 0) attributes["hidden_size"] = definition.hidden_size;
}

void LayerCase::choose_quantization(int number, std::mt19937& random) {
  definition.quantization.type = number % 2 == 0 ? DataType::int8 : DataType::uint8;
  definition.quantization.per_channel = number / 2 % 2 == 0;
  definition.quantization.symmetric = number / 4 % 2 == 0;
  if (!one_in(number, 6)) return;
  // A range that some of the weights leave.
  const auto directions = static_cast<std::size_t>(this->directions());
  const std::size_t count = definition.quantization.per_channel
                                ? directions * 4 * static_cast<std::size_t>(definition.hidden_size)
                                : directions;
  std::uniform_real_distribution<float> scale(0.002F, 0.006F);
  for (std::size_t i = 0; i < count; ++i) {
    definition.w_scale.push_back(scale(random));
    definition.r_scale.push_back(scale(random));
    definition.w_zero_point.push_back(static_cast<std::uint8_t>(random() % 40 + 100));
    definition.r_zero_point.push_back(static_cast<std::uint8_t>(random() % 40 + 100));
  }
}

LayerCase LayerCase::generated(int number) {
  constexpr std::int64_t kHidden[] = {1, 3, 2, 8, 4, 17, 5};
  return generated(number, {one_in(number, 29) ? 0 : 1 + number % 5, one_in(number, 37) ? 0 : 1 + number / 2 % 4,
                            one_in(number, 41) ? 0 : 1 + number % 4, kHidden[number % 7]});
}

LayerCase LayerCase::generated(int number, const LayerSize& size) {
  std::mt19937 random(static_cast<std::uint32_t>(number));
  LayerCase c;
  training::LstmDefinition& definition = c.definition;
  definition.name = "case" + std::to_string(number);
  definition.hidden_size = size.hidden;
  definition.input_size = size.input;
  c.choose_attributes(number);
  c.choose_quantization(number, random);
  const std::int64_t directions = c.directions(), hidden = definition.hidden_size, gates = 4 * hidden;
  c.steps = size.steps;
  c.batch = size.batch;
  definition.w = random_array(random, {directions, definition.input_size, gates}, 1).values;
  // Not so wide that unbounded functions let a rounding error grow from step to step.
  const float width = 1 / std::sqrt(static_cast<float>(hidden));
  definition.r = random_array(random, {directions, hidden, gates}, width).values;
  if (number % 3 != 1) definition.b = random_array(random, {directions, 2 * gates}, 0.5F).values;
  if (number / 3 % 3 == 1) definition.p = random_array(random, {directions, 3 * hidden}, 0.7F).values;
  definition.lda_coeff = number % 4 == 2 ? 0.25F : 1.0F;
  c.x = random_array(random, {c.steps, c.batch, definition.input_size}, 1);
  if (number / 2 % 2 == 0) c.initial_h = random_array(random, c.state_dims(), 1);
  // A cell that starts at 0 may stay there, where some functions h have no derivative.
  const bool kinked = std::any_of(c.activations.begin(), c.activations.end(), [](const TwinActivation& activation) {
    return activation.name == "relu" || activation.name == "leakyrelu" || activation.name == "elu";
  });
  if (kinked || number / 3 % 2 == 0) c.initial_c = random_array(random, c.state_dims(), 1);
  if (number % 5 < 3) {
    c.lengths.emplace();
    for (std::int64_t n = 0; n < c.batch; ++n)
      c.lengths->push_back(static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(c.steps + 1)));
  }
  c.lengths_dims_ = {c.batch};
  c.dy = random_array(random, c.y_dims(), 1);
  c.dy_h = random_array(random, c.state_dims(), 1);
  c.dy_c = random_array(random, c.state_dims(), 1);
  c.has_dy = number % 7 != 6;
  c.has_dy_h = number % 3 != 0 || !c.has_dy;
  c.has_dy_c = number % 4 != 0;
  return c;
}

TensorView LayerCase::lengths_view() const {
  return lengths ? TensorView(lengths->data(), DataType::int32, lengths_dims_) : TensorView();
}

training::LstmInputs LayerCase::inputs() const {
  return {x.view(), lengths_view(), initial_h ? initial_h->view() : TensorView(),
          initial_c ? initial_c->view() : TensorView()};
}

training::LstmOutputs LayerCase::output_gradients() const {
  return {has_dy ? dy.view() : TensorView(), has_dy_h ? dy_h.view() : TensorView(),
          has_dy_c ? dy_c.view() : TensorView()};
}

Twin LayerCase::twin() const {
  Twin twin{};
  twin.steps = steps;
  twin.batch = batch;
  twin.input = definition.input_size;
  twin.hidden = definition.hidden_size;
  twin.directions = directions();
  const auto direction = definition.attributes.find("direction");
  twin.reverse = direction != definition.attributes.end() && std::get<std::string>(direction->second) == "reverse";
  twin.activations = activations;
  const auto clip = definition.attributes.find("clip");
  twin.clip = std::numeric_limits<double>::infinity();
  if (clip != definition.attributes.end()) twin.clip = static_cast<double>(std::get<float>(clip->second));
  const auto coupled = definition.attributes.find("input_forget");
  twin.input_forget = coupled != definition.attributes.end() && std::get<std::int64_t>(coupled->second) != 0;
  twin.lengths.assign(static_cast<std::size_t>(batch), steps);
  if (lengths) twin.lengths.assign(lengths->begin(), lengths->end());
  return twin;
}

TwinTensors LayerCase::twin_tensors(const training::Lstm& layer) const {
  const QuantizedLstmWeights weights = layer.quantize();
  const auto or_zeros = [&](const std::vector<float>& values, std::int64_t width) {
    return values.empty() ? std::vector<double>(static_cast<std::size_t>(directions() * width)) : doubles(values);
  };
  const std::vector<float> none;
  const std::int64_t hidden = definition.hidden_size;
  return {doubles(x.values),
          doubles(dequantized(weights.w)),
          doubles(dequantized(weights.r)),
          or_zeros(definition.b, 8 * hidden),
          or_zeros(definition.p, 3 * hidden),
          or_zeros(initial_h ? initial_h->values : none, batch * hidden),
          or_zeros(initial_c ? initial_c->values : none, batch * hidden)};
}

double LayerCase::loss(const TwinOutputs& outputs) const {
  double sum = 0;
  const auto add = [&](bool has, const std::vector<double>& values, const Array& by) {
    for (std::size_t i = 0; has && i < values.size(); ++i) sum += values[i] * static_cast<double>(by.values[i]);
  };
  add(has_dy, outputs.y, dy);
  add(has_dy_h, outputs.y_h, dy_h);
  add(has_dy_c, outputs.y_c, dy_c);
  return sum;
}

std::string LayerCase::describe() const {
  std::string text = definition.name + " [" + std::to_string(steps) + "," + std::to_string(batch) + "," +
                     std::to_string(definition.input_size) + "] hidden " + std::to_string(definition.hidden_size);
  for (const std::string& name : names) text += " " + name;
  for (const char* attribute : {"direction", "clip", "input_forget"})
    if (definition.attributes.count(attribute) > 0) text += std::string(" ") + attribute;
  return text;
}

}  // namespace octet::test
