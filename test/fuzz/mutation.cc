#include "test/fuzz/mutation.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "provider/core/registry.hpp"

namespace octet::test {
namespace {

constexpr std::size_t kMostBytes = 1 << 16;  // of a tensor that really exists

std::vector<DataType> types() {
  std::vector<DataType> result;
  for (int type = 0; type <= 28; ++type) result.push_back(static_cast<DataType>(type));
  result.push_back(static_cast<DataType>(-1));
  result.push_back(static_cast<DataType>(1000));
  return result;
}

std::int64_t odd_integer(Dice& dice) {
  static const std::vector<std::int64_t> values{0,
                                                1,
                                                -1,
                                                2,
                                                -2,
                                                3,
                                                7,
                                                8,
                                                64,
                                                255,
                                                -128,
                                                1 << 20,
                                                std::int64_t{1} << 31,
                                                -(std::int64_t{1} << 31),
                                                (std::int64_t{1} << 62),
                                                std::numeric_limits<std::int64_t>::max(),
                                                std::numeric_limits<std::int64_t>::min()};
  return dice.chance(3) ? static_cast<std::int64_t>(dice.word()) : dice.pick(values);
}

float odd_float(Dice& dice) {
  static const std::vector<float> values{0.0F,
                                         -0.0F,
                                         1.0F,
                                         -1.0F,
                                         1e-45F,
                                         3e38F,
                                         std::numeric_limits<float>::infinity(),
                                         -std::numeric_limits<float>::infinity(),
                                         std::numeric_limits<float>::quiet_NaN()};
  return dice.pick(values);
}

AttributeValue odd_attribute(Dice& dice) {
  switch (dice.roll(6)) {
    case 0:
      return odd_integer(dice);
    case 1:
      return odd_float(dice);
    case 2:
      return std::string(dice.roll(20), 'x');
    case 3:
      return std::vector<std::int64_t>(dice.roll(5), odd_integer(dice));
    case 4:
      return std::vector<float>(dice.roll(5), odd_float(dice));
    default:
      return std::vector<std::string>(dice.roll(3), "forward");
  }
}

void change_dims(Dice& dice, Dims& dims) {
  switch (dice.roll(6)) {
    case 0:
      if (!dims.empty()) dims[dice.roll(dims.size())] = odd_integer(dice);
      break;
    case 1:
      if (!dims.empty()) dims[dice.roll(dims.size())] = static_cast<std::int64_t>(dice.roll(9));
      break;
    case 2:
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(dice.roll(dims.size() + 1)),
                  static_cast<std::int64_t>(dice.roll(4)));
      break;
    case 3:
      if (!dims.empty()) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(dice.roll(dims.size())));
      break;
    case 4:
      std::reverse(dims.begin(), dims.end());
      break;
    default:
      dims = Dims(dice.roll(9), static_cast<std::int64_t>(dice.roll(3)));
  }
}

MutatedTensor tensor_of(const PortSpec& port, const Tensor& contents, Dice& dice) {
  MutatedTensor result;
  if (!port.present()) return result;
  result.node_type = result.call_type = port.dtype;
  result.node_dims = result.call_dims = port.dims;
  result.node_knows_dims = port.constant || dice.chance(2);
  result.constant = port.constant && dice.chance(2);
  result.memory.assign(contents.data(), contents.data() + contents.bytes());
  return result;
}

void change_tensor(Dice& dice, MutatedTensor& tensor) {
  static const std::vector<DataType> all_types = types();
  switch (dice.roll(12)) {
    case 0:
      tensor.node_type = tensor.call_type = dice.pick(all_types);
      break;
    case 1:
      tensor.call_type = dice.pick(all_types);
      break;
    case 2:
      tensor.node_type = dice.pick(all_types);
      break;
    case 3:
      change_dims(dice, tensor.call_dims);
      tensor.node_dims = tensor.call_dims;
      break;
    case 4:
      change_dims(dice, tensor.call_dims);
      break;
    case 5:
      change_dims(dice, tensor.node_dims);
      break;
    case 6:
      tensor = MutatedTensor();
      break;
    case 7:
      tensor.call_has_data = false;
      break;
    case 8:
      tensor.call_has_dims = false;
      break;
    case 9:
      tensor.constant = !tensor.constant;
      break;
    case 10:
      tensor.node_knows_dims = !tensor.node_knows_dims;
      break;
    default:
      for (std::size_t i = dice.roll(4) + 1; i > 0 && !tensor.memory.empty(); --i)
        tensor.memory[dice.roll(tensor.memory.size())] = static_cast<unsigned char>(dice.word());
  }
}

void change_attributes(Dice& dice, Attributes& attributes) {
  static const std::vector<std::string> names{
      "axis",  "block_size", "output_dtype", "precision", "saturate", "transA", "transB",
      "alpha", "axes",       "keepdims",     "direction", "unknown",  ""};
  if (!attributes.empty() && dice.chance(3)) {
    attributes.erase(std::next(attributes.begin(), static_cast<std::ptrdiff_t>(dice.roll(attributes.size()))));
    return;
  }
  attributes[dice.pick(names)] = odd_attribute(dice);
}

void change_options(Dice& dice, Options& options) {
  static const std::vector<std::string> backends{"auto", "onednn", "vector", "eigen", "", "cuda"};
  static const std::vector<std::string> accuracies{"exact", "fast", ""};
  static const std::vector<std::int32_t> threads{1, 2, 3, 0, -1, std::numeric_limits<std::int32_t>::min()};
  options.backend = dice.pick(backends);
  options.accuracy = dice.pick(accuracies);
  options.threads = dice.pick(threads);
}

void change_list(Dice& dice, std::vector<MutatedTensor>& tensors) {
  switch (dice.roll(4)) {
    case 0:
      if (!tensors.empty()) tensors.pop_back();
      break;
    case 1:
      if (!tensors.empty()) tensors.push_back(tensors[dice.roll(tensors.size())]);
      break;
    case 2:
      if (!tensors.empty()) std::swap(tensors[dice.roll(tensors.size())], tensors[dice.roll(tensors.size())]);
      break;
    default:
      tensors.resize(dice.roll(24));
  }
}

void change_operator(Dice& dice, MutatedNode& node) {
  if (dice.chance(2)) {
    const core::OpDef& other = dice.pick(core::op_defs());
    node.op_type = other.name;
    node.domain = other.domain;
  }
  node.opset_version = dice.chance(2) ? static_cast<std::int64_t>(dice.roll(30)) : odd_integer(dice);
}

std::string change(Dice& dice, MutatedNode& node) {
  const std::size_t what = dice.roll(16);
  if (what < 8 && !node.inputs.empty()) {
    const std::size_t i = dice.roll(node.inputs.size());
    change_tensor(dice, node.inputs[i]);
    return "input " + std::to_string(i);
  }
  if (what < 10 && !node.outputs.empty()) {
    const std::size_t i = dice.roll(node.outputs.size());
    change_tensor(dice, node.outputs[i]);
    return "output " + std::to_string(i);
  }
  switch (what) {
    case 10:
      change_list(dice, node.inputs);
      return "list of inputs";
    case 11:
      change_list(dice, node.outputs);
      return "list of outputs";
    case 12:
      change_operator(dice, node);
      return "operator";
    case 13:
      change_options(dice, node.options);
      return "options";
    default:
      change_attributes(dice, node.attributes);
      return "attributes";
  }
}

/// Memory behind a tensor must hold what its extents claim: nobody could notice if it did not.
void provide_memory(MutatedTensor& tensor) {
  std::size_t by_node = 0, by_call = 0;
  const bool node_fits = byte_size(tensor.node_type, tensor.node_dims, kMostBytes, by_node);
  const bool call_fits = byte_size(tensor.call_type, tensor.call_dims, kMostBytes, by_call);
  if (!node_fits) tensor.constant = false, by_node = 0;
  if (!call_fits) tensor.call_has_data = false, by_call = 0;
  tensor.memory.resize(std::max({tensor.memory.size(), by_node, by_call}), 0x5A);
  tensor.call_rank = static_cast<std::int32_t>(tensor.call_dims.size());
}

}  // namespace

bool byte_size(DataType type, const Dims& dims, std::size_t most, std::size_t& bytes) {
  std::int64_t bits = std::max(core::bit_width(type), 1);
  for (const std::int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(bits, std::max<std::int64_t>(dim, 1), &bits)) return false;
  for (const std::int64_t dim : dims)
    if (dim == 0) bits = 0;
  bytes = static_cast<std::size_t>((bits + 7) / 8);
  return bytes <= most;
}

Node MutatedNode::node() const {
  Node result;
  result.op_type = op_type;
  result.domain = domain;
  result.opset_version = opset_version;
  result.name = "node";
  result.attributes = attributes;
  const auto infos = [](const std::vector<MutatedTensor>& tensors) {
    std::vector<ValueInfo> list;
    for (const MutatedTensor& tensor : tensors) {
      ValueInfo info{tensor.node_type};
      if (tensor.node_knows_dims) info.dims = tensor.node_dims;
      if (tensor.constant) info.constant = tensor.memory.data();
      list.push_back(std::move(info));
    }
    return list;
  };
  result.inputs = infos(inputs);
  if (declares_outputs) result.outputs = infos(outputs);
  return result;
}

std::vector<TensorView> MutatedNode::call_inputs() const {
  std::vector<TensorView> result;
  for (const MutatedTensor& tensor : inputs)
    result.emplace_back(tensor.call_has_data ? tensor.memory.data() : nullptr, tensor.call_type,
                        tensor.call_has_dims ? tensor.call_dims.data() : nullptr, tensor.call_rank);
  return result;
}

std::string MutatedNode::description() const {
  std::string text = origin + ", changed:";
  for (const std::string& one : changes) text += " " + one + ";";
  return text + " as " + domain + "." + op_type + " " + std::to_string(opset_version);
}

MutatedNode mutated_node(const std::vector<Case>& corpus, std::uint64_t seed) {
  Dice dice(seed);
  const Case& origin = dice.pick(corpus);
  MutatedNode node;
  node.origin = origin.qualified_op() + "/" + origin.name;
  node.op_type = origin.op_type;
  node.domain = origin.domain;
  node.opset_version = origin.opset_version;
  node.attributes = origin.attributes;
  node.declares_outputs = dice.chance(2);
  const std::vector<Tensor> inputs = make_inputs(origin), outputs = make_outputs(origin);
  for (std::size_t i = 0; i < inputs.size(); ++i) node.inputs.push_back(tensor_of(origin.inputs[i], inputs[i], dice));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    node.outputs.push_back(tensor_of(origin.outputs[i], outputs[i], dice));
  for (std::size_t changes = dice.roll(4); changes > 0; --changes) node.changes.push_back(change(dice, node));
  for (MutatedTensor& tensor : node.inputs) provide_memory(tensor);
  for (MutatedTensor& tensor : node.outputs) provide_memory(tensor);
  return node;
}

std::vector<Case> fuzz_corpus() {
  constexpr std::int64_t kMostElements = 2000;
  std::vector<Case> corpus;
  for (const auto& file : table_files()) {
    for (Case& test_case : load_table(file)) {
      const bool small = std::all_of(test_case.inputs.begin(), test_case.inputs.end(),
                                     [](const PortSpec& port) { return elements_of(port.dims) <= kMostElements; });
      if (small) corpus.push_back(std::move(test_case));
    }
  }
  return corpus;
}

std::uint64_t fuzz_count(std::uint64_t standard) {
  const char* count = std::getenv("OCTET_FUZZ_COUNT");
  return count == nullptr ? standard : std::strtoull(count, nullptr, 10);
}

}  // namespace octet::test
