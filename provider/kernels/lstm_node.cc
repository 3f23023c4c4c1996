#include "provider/kernels/lstm_node.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

namespace octet::core {
namespace {

using vector::Activation;
using vector::ActivationFunction;

/// Parameters that a function has, and their values where the node gives none.
struct ActivationDef {
  Activation kind;
  int parameters;  ///< 1: alpha; 2: alpha and beta
  float alpha = 0;
  float beta = 0;
};
/// In the order of kLstmActivations.
constexpr ActivationDef kActivations[] = {
    {Activation::relu, 0},
    {Activation::tanh, 0},
    {Activation::sigmoid, 0},
    {Activation::affine, 2, 1.0F, 0.0F},
    {Activation::leaky_relu, 1, 0.01F},
    {Activation::thresholded_relu, 1, 1.0F},
    {Activation::scaled_tanh, 2, 1.0F, 1.0F},
    {Activation::hard_sigmoid, 2, 0.2F, 0.5F},
    {Activation::elu, 1, 1.0F},
    {Activation::softsign, 0},
    {Activation::softplus, 0},
};
static_assert(std::size(kActivations) == kLstmActivations.size());

/// The values of activation_alpha or activation_beta, which functions take in their order.
class Parameters {
 public:
  Parameters(const NodeContext& node, const char* attribute) : node_(node), attribute_(attribute) {
    if (const auto* given = find_attribute<std::vector<float>>(node.node.attributes, attribute)) values_ = *given;
  }
  float next(float missing) { return taken_ < values_.size() ? values_[taken_++] : missing; }
  void check_all_taken() const {
    if (taken_ < values_.size())
      node_.fail(std::string("attribute '") + attribute_ + "' has " + std::to_string(values_.size()) +
                 " values, but the activation functions take " + std::to_string(taken_));
  }

 private:
  const NodeContext& node_;
  const char* attribute_;
  std::vector<float> values_;
  std::size_t taken_ = 0;
};

std::vector<LstmDirection> directions_of(const NodeContext& node) {
  const auto direction = node.attribute<std::string>("direction");
  if (direction == "bidirectional") return {LstmDirection{false, {}, {}, {}}, LstmDirection{true, {}, {}, {}}};
  return {LstmDirection{direction == "reverse", {}, {}, {}}};
}

}  // namespace

LstmNode::LstmNode(const NodeContext& node)
    : directions(directions_of(node)),
      clip(attribute_or(node.node.attributes, "clip", std::numeric_limits<float>::infinity())),
      input_forget(node.attribute<std::int64_t>("input_forget") != 0),
      per_tensor(node.options.lstm_quantization == "per_tensor") {
  if (!(clip >= 0)) node.fail("attribute 'clip' is " + std::to_string(clip) + ", expected at least 0");
  auto names = attribute_or(node.node.attributes, "activations", std::vector<std::string>{});
  while (names.size() < 3 * directions.size()) names.insert(names.end(), {"sigmoid", "tanh", "tanh"});
  Parameters alphas(node, "activation_alpha"), betas(node, "activation_beta");
  const auto function = [&](const std::string& name) {
    const ActivationDef& def = kActivations[find_lstm_activation(name).value()];
    ActivationFunction result{def.kind, def.alpha, def.beta};
    if (def.parameters >= 1) result.alpha = alphas.next(def.alpha);
    if (def.parameters >= 2) result.beta = betas.next(def.beta);
    return result;
  };
  for (std::size_t d = 0; d < directions.size(); ++d) {
    directions[d].f = function(names[3 * d]);
    directions[d].g = function(names[3 * d + 1]);
    directions[d].h = function(names[3 * d + 2]);
  }
  alphas.check_all_taken();
  betas.check_all_taken();
}

}  // namespace octet::core
