// Model: loading. Every node becomes a step, or the model is refused with a list of those that cannot.
#include <octet/model.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "provider/core/registry.hpp"
#include "provider/onnx/inference.hpp"
#include "provider/onnx/model_state.hpp"

namespace octet {
namespace onnx_side {

Attributes read_attributes(const onnx::NodeProto& node) {
  Attributes attributes;
  for (const auto& attribute : node.attribute())
    if (auto value = attribute_value(attribute)) attributes[attribute.name()] = std::move(*value);
  return attributes;
}

namespace {

/// A node of Octet's table.
class OperatorComputation : public Computation {
 public:
  OperatorComputation(const Node& node, const Options& options) : operator_(node, options) {}

  std::vector<RunValue> run(const std::vector<const RunValue*>& inputs, Memory& memory,
                            const Call& call) const override {
    std::vector<TensorView> views;
    for (const RunValue* input : inputs) views.push_back(input->view());
    std::vector<RunValue> results;
    std::vector<TensorView> targets;
    for (const ValueInfo& info : operator_.infer(views)) {
      const bool present = info.dtype != DataType::undefined;
      results.push_back(present ? made_value(memory, info.dtype, *info.dims) : RunValue());
    }
    for (const RunValue& result : results) targets.push_back(result.view());
    operator_.run(views, targets, call);
    return results;
  }

 private:
  Operator operator_;
};

GraphValueInfo info_of(const onnx::ValueInfoProto& value) {
  const auto& tensor = value.type().tensor_type();
  GraphValueInfo info{value.name(), static_cast<DataType>(tensor.elem_type())};
  if (!tensor.has_shape()) return info;
  info.dims.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    info.dims->emplace_back(dim.has_dim_value() ? dim.dim_value() : -1);
    info.dims->back().symbol = dim.dim_param();
  }
  return info;
}

class Loader {
 public:
  Loader(const onnx::ModelProto& model, std::filesystem::path directory, const Options& options)
      : model_(model), directory_(std::move(directory)), options_(options), state_(std::make_unique<ModelState>()) {
    for (const auto& import : model.opset_import()) opsets_[canonical_domain(import.domain())] = import.version();
    for (const auto& function : model.functions())
      functions_.insert({canonical_domain(function.domain()), function.name()});
    const onnx::GraphProto& graph = model.graph();
    for (const auto* list : {&graph.value_info(), &graph.output(), &graph.input()})
      for (const auto& value : *list)
        types_[value.name()] = static_cast<DataType>(value.type().tensor_type().elem_type());
  }

  std::unique_ptr<ModelState> load() {
    const onnx::GraphProto& graph = model_.graph();
    for (const auto& tensor : graph.initializer()) tensors_[tensor.name()] = &tensor;
    for (const auto& input : graph.input()) add_input(input);
    for (const auto& node : graph.node()) {
      if (auto constant = constant_of(node)) {
        constants_.push_back(std::make_unique<onnx::TensorProto>(std::move(*constant)));
        tensors_[node.output(0)] = constants_.back().get();
      } else {
        add_node(node);
      }
    }
    if (!unsupported_.empty()) refuse();
    for (const auto& output : graph.output()) {
      state_->outputs.push_back(info_of(output));
      state_->output_values.push_back(value(output.name()));
    }
    plan_lifetimes();
    return std::move(state_);
  }

 private:
  [[noreturn]] void refuse() const {
    std::string text;
    for (const std::string& node : unsupported_) text += (text.empty() ? "" : ", ") + node;
    throw Error(ErrorCode::not_implemented,
                "the model has " + std::to_string(unsupported_.size()) + " nodes that Octet does not run: " + text);
  }

  void add_input(const onnx::ValueInfoProto& input) {
    if (!input.type().has_tensor_type()) fail("input '" + input.name() + "' is no tensor");
    state_->inputs.push_back(info_of(input));
    state_->input_values.push_back(value(input.name()));
    varying_.insert(input.name());
  }

  /// The place of a value in a run; a constant is read when something asks for it.
  std::size_t value(const std::string& name) {
    const auto [found, is_new] = indices_.emplace(name, state_->values.size());
    if (!is_new) return found->second;
    state_->values.emplace_back();
    if (const auto tensor = tensors_.find(name); tensor != tensors_.end()) {
      state_->constants.push_back(read_tensor(*tensor->second, directory_));
      RunValue& constant = state_->values.back();
      constant.dtype = static_cast<DataType>(tensor->second->data_type());
      constant.dims = state_->constants.back().dims;
      constant.data = state_->constants.back().data.get();
    }
    return found->second;
  }

  bool is_constant(const std::string& name) const { return tensors_.count(name) != 0 && varying_.count(name) == 0; }

  void add_node(const onnx::NodeProto& node) {
    const std::string domain = canonical_domain(node.domain());
    const auto opset = opsets_.find(domain);
    const std::int64_t version = opset == opsets_.end() ? 0 : opset->second;
    const std::string label = node.name().empty() ? node.op_type() : node.op_type() + " '" + node.name() + "'";
    const bool is_function = functions_.count({domain, node.op_type()}) != 0;
    Step step;
    if (!is_function && core::find_op(domain, node.op_type(), version) != nullptr) {
      step = operator_step(node, version);
    } else if (!is_function && domain.empty()) {
      step.computation = make_glue({node.op_type(), label, version, read_attributes(node)});
      if (step.computation)
        for (const auto& name : node.input()) step.inputs.push_back(name.empty() ? kNone : value(name));
    }
    if (step.computation == nullptr) {
      unsupported_.push_back(domain.empty() ? label : domain + "." + label);
      return;
    }
    for (const auto& name : node.output()) step.outputs.push_back(name.empty() ? kNone : value(name));
    state_->steps.push_back(std::move(step));
  }

  /// Constant inputs go into the operator, which keeps them in a form of its own.
  Step operator_step(const onnx::NodeProto& proto, std::int64_t version) {
    Node node;
    node.op_type = proto.op_type();
    node.domain = proto.domain();
    node.opset_version = version;
    node.name = proto.name();
    node.attributes = read_attributes(proto);
    Step step;
    std::vector<TensorData> constants;
    for (const auto& name : proto.input()) {
      const bool constant = !name.empty() && is_constant(name);
      step.inputs.push_back(name.empty() || constant ? kNone : value(name));
      if (constant) {
        constants.push_back(read_tensor(*tensors_.at(name), directory_));
        node.inputs.push_back({static_cast<DataType>(tensors_.at(name)->data_type()), constants.back().dims,
                               constants.back().data.get()});
      } else {
        node.inputs.push_back({name.empty() ? DataType::undefined : type_of(name)});
      }
    }
    for (const auto& name : proto.output())
      node.outputs.push_back({name.empty() ? DataType::undefined : type_of(name)});
    step.computation = std::make_unique<OperatorComputation>(node, options_);
    return step;
  }

  DataType type_of(const std::string& name) const {
    const auto found = types_.find(name);
    if (found == types_.end() || found->second == DataType::undefined)
      throw Error(ErrorCode::not_implemented, "the type of value '" + name + "' cannot be inferred");
    return found->second;
  }

  void plan_lifetimes() {
    std::vector<std::size_t> last_use(state_->values.size(), kNone);
    for (std::size_t s = 0; s < state_->steps.size(); ++s)
      for (const auto* list : {&state_->steps[s].inputs, &state_->steps[s].outputs})
        for (const std::size_t index : *list)
          if (index != kNone) last_use[index] = s;
    for (const std::size_t output : state_->output_values) last_use[output] = kNone;
    for (std::size_t index = 0; index < last_use.size(); ++index)
      if (last_use[index] != kNone) state_->steps[last_use[index]].last_uses.push_back(index);
  }

  const onnx::ModelProto& model_;
  std::filesystem::path directory_;
  Options options_;
  std::unique_ptr<ModelState> state_;
  std::map<std::string, std::int64_t> opsets_;
  std::set<std::pair<std::string, std::string>> functions_;
  std::unordered_map<std::string, DataType> types_;
  std::unordered_map<std::string, const onnx::TensorProto*> tensors_;
  std::vector<std::unique_ptr<onnx::TensorProto>> constants_;  ///< of Constant nodes
  std::unordered_set<std::string> varying_;
  std::unordered_map<std::string, std::size_t> indices_;
  std::vector<std::string> unsupported_;
};

/// Models may leave the rank of an input or output open, as onnxruntime lets them; ONNX's checker, which does not, sees
/// a scalar there.
void check_but_for_open_ranks(onnx::ModelProto& model, const std::filesystem::path& directory) {
  std::vector<onnx::TypeProto::Tensor*> open;
  for (auto* list : {model.mutable_graph()->mutable_input(), model.mutable_graph()->mutable_output()})
    for (auto& value : *list)
      if (value.type().has_tensor_type() && !value.type().tensor_type().has_shape())
        open.push_back(value.mutable_type()->mutable_tensor_type());
  for (auto* tensor : open) tensor->mutable_shape();
  check_model(model, directory);
  for (auto* tensor : open) tensor->clear_shape();
}

std::unique_ptr<ModelState> load(onnx::ModelProto model, const std::filesystem::path& directory,
                                 const Options& options) {
  infer_shapes(model, directory, false);
  check_but_for_open_ranks(model, directory);
  return Loader(model, directory, options).load();
}

}  // namespace
}  // namespace onnx_side

Model::Model(std::unique_ptr<onnx_side::ModelState> state) : state_(std::move(state)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Model Model::from_bytes(const void* model, std::size_t size, const std::string& directory, const Options& options) {
  onnx::ModelProto parsed = onnx_side::parse_model(model, size);
  return onnx_side::reading("", [&] { return Model(onnx_side::load(std::move(parsed), directory, options)); });
}

Model Model::from_file(const std::string& path, const Options& options) {
  onnx::ModelProto model = onnx_side::read_model(path);
  return onnx_side::reading(path + ": ", [&] {
    return Model(onnx_side::load(std::move(model), std::filesystem::path(path).parent_path(), options));
  });
}

const std::vector<GraphValueInfo>& Model::inputs() const { return state_->inputs; }
const std::vector<GraphValueInfo>& Model::outputs() const { return state_->outputs; }

}  // namespace octet
