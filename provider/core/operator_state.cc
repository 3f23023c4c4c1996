#include "provider/core/operator_state.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "provider/core/dispatch.hpp"
#include "provider/core/infer.hpp"
#include "provider/core/options.hpp"
#include "provider/core/registry.hpp"
#include "provider/core/scratch.hpp"

namespace octet::core {
namespace {

TypeAndShape type_and_shape(const ValueInfo& value) {
  TypeAndShape result{value.dtype != DataType::undefined, value.dtype, std::nullopt};
  if (result.present && value.dims) {
    Shape shape;
    for (const std::int64_t dim : *value.dims) shape.push_back(dim < 0 ? Dim() : Dim(dim));
    result.shape = std::move(shape);
  }
  return result;
}

TypeAndShape type_and_shape(const TensorView& view) {
  if (!view.present()) return {};
  return {true, view.dtype, Shape(view.dims, view.dims + view.rank)};
}

/// 0 for an absent view.
std::int64_t elements(const TensorView& view) {
  std::int64_t count = view.present() ? 1 : 0;
  for (std::int32_t d = 0; d < view.rank; ++d) count *= view.dims[d];
  return count;
}

/// Whether code may read elements as what they are: callers' tensors may begin anywhere.
bool is_aligned(const void* data, DataType type) noexcept {
  constexpr std::uintptr_t kWidest = 8;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return address % kWidest == 0 || address % static_cast<std::uintptr_t>(std::max(1, bit_width(type) / 8)) == 0;
}
bool is_aligned(const TensorView& view) noexcept { return is_aligned(view.data, view.dtype); }

/// Runs a plan on aligned copies of the tensors that are not.
class AlignedRun {
 public:
  AlignedRun(const PlanEntry& entry, const TensorView* inputs, std::size_t num_inputs, const TensorView* outputs)
      : entry_(entry), inputs_(inputs, inputs + num_inputs), outputs_(entry.outputs.size()) {
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (entry.outputs[i].present()) outputs_[i] = outputs[i];
  }

  void run(const Call& call) {
    std::vector<Move> before, after;
    for (TensorView& view : inputs_)
      add(view, *byte_count(view.dtype, view.dims, static_cast<std::size_t>(view.rank)), before);
    for (std::size_t i = 0; i < outputs_.size(); ++i) add(outputs_[i], entry_.outputs[i].bytes(), after);
    const Scratch memory(layout_.total());
    for (const std::vector<Move>* moves : {&before, &after})
      for (const Move& move : *moves) move.view->data = memory.bytes() + move.at;
    for (const Move& move : before) std::memcpy(move.view->data, move.given, move.bytes);
    entry_.plan->run(call, inputs_.data(), outputs_.data());
    for (const Move& move : after) std::memcpy(move.given, move.view->data, move.bytes);
  }

 private:
  struct Move {
    TensorView* view;
    void* given;
    std::size_t bytes;
    std::size_t at;
  };
  void add(TensorView& view, std::size_t bytes, std::vector<Move>& moves) {
    if (!is_aligned(view) && bytes > 0) moves.push_back({&view, view.data, bytes, layout_.add(bytes)});
  }

  Layout layout_;
  const PlanEntry& entry_;
  std::vector<TensorView> inputs_, outputs_;
};

Node checked(const Node& node) {
  Node copy = node;
  copy.domain = canonical_domain(copy.domain);
  while (!copy.inputs.empty() && copy.inputs.back().dtype == DataType::undefined) copy.inputs.pop_back();
  return copy;
}

/// Where no output has an element.
class EmptyPlan final : public Plan {
 public:
  EmptyPlan() : Plan({"none", "empty output", {}}) {}
  void run(const Call&, const TensorView*, const TensorView*) const override {}
};

}  // namespace

OperatorState::OperatorState(const Node& given, const Options& options) : node_name_(given.name), options_(options) {
  Node node = checked(given);
  op_ = find_op(node.domain, node.op_type, node.opset_version);
  if (op_ == nullptr)
    throw Error(ErrorCode::not_implemented, "node '" + node.name + "': Octet has no operator '" + node.op_type +
                                                "' in domain '" + node.domain + "' at version " +
                                                std::to_string(node.opset_version));
  label_ = node_label(*op_, node.name);
  check_options(label_, options);

  std::vector<TypeAndShape> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueInfo& value = node.inputs[i];
    if (value.constant != nullptr) {
      if (!value.dims) throw Error(ErrorCode::invalid_argument, label_ + ": a constant input needs extents");
      checked_bytes(input_label(i), {value.constant, value.dtype, *value.dims});
    }
    inputs.push_back(type_and_shape(value));
  }
  std::vector<TypeAndShape> outputs;
  for (const ValueInfo& value : node.outputs) outputs.push_back(type_and_shape(value));
  InferContext context(*op_, node.name, node.attributes, std::move(inputs), std::move(outputs));
  check_and_infer(context);

  std::vector<std::vector<unsigned char>> aligned_constants;
  for (ValueInfo& value : node.inputs) {
    if (is_aligned(value.constant, value.dtype)) continue;
    const auto* bytes = static_cast<const unsigned char*>(value.constant);
    aligned_constants.emplace_back(bytes, bytes + TensorInfo{value.dtype, *value.dims}.bytes());
    value.constant = aligned_constants.back().data();
  }
  node.inputs.resize(std::max(node.inputs.size(), op_->inputs.size()));
  attributes_ = node.attributes;
  declared_outputs_ = node.outputs;
  kernel_ = kernel_maker(*op_)(NodeContext{*op_, node, options_, label_});
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    Constant constant;
    const ValueInfo& value = node.inputs[i];
    constant.dtype = value.dtype;
    if (value.constant != nullptr) {
      constant.given = true;
      constant.info = {value.dtype, *value.dims};
      const std::size_t bytes = constant.info.bytes();
      if (!kernel_->holds(i) && bytes > 0) {
        constant.bytes.resize(bytes);
        std::memcpy(constant.bytes.data(), value.constant, bytes);
      }
    }
    if (!constant.given) varying_.push_back(i);
    constants_.push_back(std::move(constant));
  }
}

std::string OperatorState::input_label(std::size_t i) const { return label_ + ": " + op_->input_label(i); }

bool OperatorState::holds(std::size_t input) const noexcept {
  return input < constants_.size() && constants_[input].given;
}

void OperatorState::fill_constants(const TensorView* given, std::size_t num_given, TensorView* inputs) const {
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    const Constant& constant = constants_[i];
    if (constant.given)
      new (inputs + i) TensorView(constant.bytes.data(), constant.info.dtype, constant.info.dims);
    else if (i < num_given && given[i].present())
      new (inputs + i) TensorView(given[i]);
    else
      new (inputs + i) TensorView();
  }
}

void OperatorState::refuse_excess(const TensorView* given, std::size_t num_given) const {
  for (std::size_t i = constants_.size(); i < num_given; ++i)
    if (given[i].present())
      throw Error(ErrorCode::invalid_argument, label_ + ": input " + std::to_string(i) +
                                                   " is given, expected at most " + std::to_string(constants_.size()) +
                                                   " inputs");
}

template <class Function>
auto OperatorState::with_inputs(const TensorView* given, std::size_t num_given, const Function& function) const {
  constexpr std::size_t kFew = 16;
  if (constants_.size() <= kFew) {
    std::aligned_storage_t<sizeof(TensorView), alignof(TensorView)> room[kFew];  // only what is used gets written
    auto* inputs = reinterpret_cast<TensorView*>(room);
    fill_constants(given, num_given, inputs);
    return function(inputs);
  }
  const Scratch memory(constants_.size() * sizeof(TensorView));
  auto* inputs = memory.as<TensorView>();
  fill_constants(given, num_given, inputs);
  return function(inputs);
}

std::shared_ptr<const PlanEntry> OperatorState::plan(const TensorView* given, std::size_t num_given) const {
  refuse_excess(given, num_given);
  const VaryingInputs varying{given, num_given, varying_};
  return cache_.get(varying, [&] {
    std::vector<TensorInfo> outputs;
    auto plan = with_inputs(given, num_given, [&](const TensorView* inputs) { return make_plan(inputs, outputs); });
    return std::make_shared<PlanEntry>(PlanEntry{PlanKey(varying), std::move(outputs), std::move(plan)});
  });
}

std::unique_ptr<const Plan> OperatorState::make_plan(const TensorView* views, std::vector<TensorInfo>& outputs) const {
  std::vector<TypeAndShape> inputs;
  std::vector<TensorInfo> infos;
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    if (views[i].present()) checked_bytes(input_label(i), views[i]);
    inputs.push_back(type_and_shape(views[i]));
    infos.push_back({views[i].dtype, {views[i].dims, views[i].dims + views[i].rank}});
  }
  std::vector<TypeAndShape> declared;
  for (const ValueInfo& value : declared_outputs_) declared.push_back(type_and_shape(value));
  InferContext context(*op_, node_name_, attributes_, std::move(inputs), std::move(declared));
  check_and_infer(context);
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    if (!infos[i].present() || infos[i].dtype == constants_[i].dtype) continue;
    const auto fail = [&](const std::string& text) { throw Error(ErrorCode::invalid_argument, input_label(i) + text); };
    if (constants_[i].dtype == DataType::undefined) fail(" is given, but the node was built without it");
    fail(std::string(" has type ") + data_type_name(infos[i].dtype) + ", expected " +
         data_type_name(constants_[i].dtype) + " as when the operator was created");
  }

  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    TensorInfo info;
    if (context.has_output(i)) {
      info.dtype = context.output(i).dtype;
      for (const Dim& dim : *context.output(i).shape) info.dims.push_back(dim.value);
      checked_bytes(label_ + ": " + op_->output_label(i), {nullptr, info.dtype, info.dims});
    }
    outputs.push_back(std::move(info));
  }
  const auto present = [](const TensorInfo& output) { return output.present(); };
  const auto has_elements = [](const TensorInfo& output) { return output.present() && output.elements() > 0; };
  const bool is_empty = std::any_of(outputs.begin(), outputs.end(), present) &&
                        std::none_of(outputs.begin(), outputs.end(), has_elements);
  std::unique_ptr<const Plan> plan = std::make_unique<const EmptyPlan>();
  if (!is_empty) plan = kernel_->plan(PlanRequest{infos, outputs, options_, label_});
  trace(label_, plan->decision());
  return plan;
}

void OperatorState::check_outputs(const PlanEntry& entry, const TensorView* outputs, std::size_t num_outputs) const {
  for (std::size_t i = entry.outputs.size(); i < num_outputs; ++i)
    if (outputs[i].present())
      throw Error(ErrorCode::invalid_argument, label_ + ": " + std::to_string(num_outputs) +
                                                   " outputs are given, expected " +
                                                   std::to_string(entry.outputs.size()));
  for (std::size_t i = 0; i < entry.outputs.size(); ++i) {
    const TensorInfo& expected = entry.outputs[i];
    const bool present = i < num_outputs && outputs[i].present();
    const auto fail = [&](const std::string& text) {
      throw Error(ErrorCode::invalid_argument, label_ + ": " + op_->output_label(i) + " " + text);
    };
    if (present != expected.present()) fail(present ? "is given, but the node has none" : "is missing");
    if (!present) continue;
    const TensorView& given = outputs[i];
    if (given.dtype != expected.dtype)
      fail(std::string("has type ") + data_type_name(given.dtype) + ", expected " + data_type_name(expected.dtype));
    if (given.rank < 0 || (given.rank > 0 && given.dims == nullptr)) fail("has no extents");
    const bool same = given.rank == static_cast<std::int32_t>(expected.dims.size()) &&
                      std::equal(expected.dims.begin(), expected.dims.end(), given.dims);
    if (!same)
      fail("has shape " + to_string(Shape(given.dims, given.dims + std::max(0, given.rank))) + ", expected " +
           to_string(Shape(expected.dims.begin(), expected.dims.end())));
    if (given.data == nullptr && expected.elements() > 0) fail("has no data");
  }
}

void OperatorState::run(const PlanEntry& entry, const TensorView* given, std::size_t num_given,
                        const TensorView* outputs, const Call& call) const {
  with_inputs(given, num_given, [&](const TensorView* inputs) { run_complete(entry, inputs, outputs, call); });
}

std::vector<TensorView> OperatorState::constants() const {
  std::vector<TensorView> views(constants_.size());
  fill_constants(nullptr, 0, views.data());
  return views;
}

void OperatorState::run_complete(const PlanEntry& entry, const TensorView* inputs, const TensorView* outputs,
                                 const Call& call) const {
  bool aligned = true;
  for (const std::size_t i : varying_) {
    if (inputs[i].data == nullptr && elements(inputs[i]) > 0)
      throw Error(ErrorCode::invalid_argument, input_label(i) + " has no data");
    aligned = aligned && is_aligned(inputs[i]);
  }
  // Absent outputs at the end need not be given.
  for (std::size_t i = 0; i < entry.outputs.size(); ++i)
    aligned = aligned && (!entry.outputs[i].present() || is_aligned(outputs[i]));
  if (aligned)
    entry.plan->run(call, inputs, outputs);
  else
    AlignedRun(entry, inputs, constants_.size(), outputs).run(call);
  runs_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace octet::core
