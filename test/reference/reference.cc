#include "test/reference/reference.hpp"

#include <string_view>

#include "test/reference/operators.hpp"
#include "test/reference/tensor.hpp"

namespace octet::reference {
namespace {

constexpr std::size_t kAnyNumber = ~std::size_t{0};

struct Entry {
  std::string_view domain;
  std::string_view op_type;
  std::size_t least_inputs;  ///< the first ones, which must be there; what follows is for `compute` to check
  std::size_t most_inputs, outputs;
  void (*compute)(const Node& node, const Tensors& inputs, const Tensors& outputs);
  bool outputs_are_optional = false;
};

constexpr Entry kEntries[] = {
    {"", "MatMulInteger", 2, 4, 1, mat_mul_integer},
    {"", "QLinearMatMul", 8, 8, 1, qlinear_mat_mul},
    {"", "QuantizeLinear", 2, 3, 1, quantize_linear},
    {"", "DequantizeLinear", 2, 3, 1, dequantize_linear},
    {"", "DynamicQuantizeLinear", 1, 1, 3, dynamic_quantize_linear},
    {"com.microsoft", "MatMulIntegerToFloat", 4, 7, 1, mat_mul_integer_to_float},
    {"com.microsoft", "DynamicQuantizeMatMul", 3, 5, 1, dynamic_quantize_mat_mul},
    {"com.microsoft", "QGemm", 6, 9, 1, qgemm},
    {"com.microsoft", "QuantizeLinear", 2, 3, 1, quantize_linear},
    {"com.microsoft", "DequantizeLinear", 2, 3, 1, dequantize_linear},
    {"com.microsoft", "QLinearAdd", 2, 8, 1, qlinear_add},
    {"com.microsoft", "QLinearMul", 2, 8, 1, qlinear_mul},
    {"com.microsoft", "MulInteger", 1, 4, 1, mul_integer},
    {"com.microsoft", "QLinearLeakyRelu", 2, 5, 1, qlinear_leaky_relu},
    {"com.microsoft", "QLinearSigmoid", 2, 5, 1, qlinear_sigmoid},
    {"com.microsoft", "ReduceSumInteger", 1, 1, 1, reduce_sum_integer},
    {"com.microsoft", "QLinearReduceMean", 2, 5, 1, qlinear_reduce_mean},
    {"com.microsoft", "DynamicQuantizeLSTM", 3, 12, 3, dynamic_quantize_lstm, true},
    {"com.microsoft", "QLinearConcat", 5, kAnyNumber, 1, qlinear_concat},
};

const Entry* find(std::string_view domain, std::string_view op_type) {
  if (domain == "ai.onnx") domain = "";
  for (const Entry& entry : kEntries)
    if (entry.domain == domain && entry.op_type == op_type) return &entry;
  return nullptr;
}

void check_tensor(const TensorView& tensor) {
  if (tensor.rank < 0 || (tensor.rank > 0 && tensor.dims == nullptr)) fail("a tensor has no extents");
  if (count(tensor) > 0 && tensor.data == nullptr) fail("a tensor has no data");
}

}  // namespace

bool knows(const std::string& domain, const std::string& op_type) { return find(domain, op_type) != nullptr; }

void run(const Node& node, const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs) {
  const Entry* entry = find(node.domain, node.op_type);
  if (entry == nullptr)
    throw Error(ErrorCode::not_implemented,
                "reference: no operator '" + node.op_type + "' in domain '" + node.domain + "'");
  Tensors all_inputs = inputs, all_outputs = outputs;
  if (all_inputs.size() > entry->most_inputs || all_outputs.size() > entry->outputs) fail("too many tensors");
  if (entry->most_inputs != kAnyNumber) all_inputs.resize(entry->most_inputs);
  if (all_inputs.size() < entry->least_inputs) fail("too few tensors");
  for (std::size_t i = 0; i < all_inputs.size(); ++i) {
    if (all_inputs[i].present()) check_tensor(all_inputs[i]);
    if (i < entry->least_inputs && !all_inputs[i].present()) fail("required input " + std::to_string(i) + " is absent");
  }
  if (entry->outputs_are_optional) all_outputs.resize(entry->outputs);
  if (all_outputs.size() != entry->outputs) fail("expected " + std::to_string(entry->outputs) + " outputs");
  for (const TensorView& output : all_outputs) {
    if (!output.present() && !entry->outputs_are_optional) fail("a required output is absent");
    if (output.present()) check_tensor(output);
  }
  entry->compute(node, all_inputs, all_outputs);
}

}  // namespace octet::reference
