// Model: running, and the memory of a run.
#include <algorithm>
#include <cstring>
#include <map>
#include <new>

#include "provider/onnx/model_state.hpp"

namespace octet {
namespace onnx_side {
namespace {

constexpr std::align_val_t kAlignment{64};

std::string shape_text(const TensorView& tensor) {
  std::string text;
  for (std::int32_t d = 0; d < tensor.rank; ++d) text += (d == 0 ? "" : ",") + std::to_string(tensor.dims[d]);
  return "[" + text + "]";
}

std::string shape_text(const std::vector<GraphDim>& dims) {
  std::string text;
  for (const GraphDim& dim : dims)
    text += (text.empty() ? "" : ",") + (dim.value >= 0       ? std::to_string(dim.value)
                                         : dim.symbol.empty() ? "?"
                                                              : dim.symbol);
  return "[" + text + "]";
}

/// Extents that symbols stand for in a run.
using Symbols = std::map<std::string, std::int64_t>;

void check_input(const GraphValueInfo& declared, const TensorView& given, Symbols& symbols) {
  const std::string what = "input '" + declared.name + "'";
  if (given.dtype != declared.dtype)
    fail(what + " has type " + data_type_name(given.dtype) + ", expected " + data_type_name(declared.dtype));
  if (core::checked_bytes(what, given) > 0 && given.data == nullptr) fail(what + " has no data");
  if (!declared.dims) return;
  bool fits = static_cast<std::size_t>(given.rank) == declared.dims->size();
  for (std::size_t d = 0; fits && d < declared.dims->size(); ++d) {
    const GraphDim& dim = (*declared.dims)[d];
    fits = dim.value < 0 || dim.value == given.dims[d];
    if (!fits || dim.value >= 0 || dim.symbol.empty()) continue;
    const auto [known, is_new] = symbols.emplace(dim.symbol, given.dims[d]);
    if (!is_new && known->second != given.dims[d])
      fail(what + " has shape " + shape_text(given) + ", but '" + dim.symbol + "' is " + std::to_string(known->second) +
           " in an input before it");
  }
  if (!fits) fail(what + " has shape " + shape_text(given) + ", expected " + shape_text(*declared.dims));
}

}  // namespace

void Memory::Free::operator()(unsigned char* bytes) const noexcept { ::operator delete(bytes, kAlignment); }

Memory::Block Memory::take(std::size_t bytes) {
  Entry* best = nullptr;
  for (const auto& entry : entries_) {
    if (entry->used) continue;
    const bool fits = entry->capacity >= bytes;
    const bool best_fits = best != nullptr && best->capacity >= bytes;
    // The smallest that suffices, else the largest, which then grows.
    if (best == nullptr ||
        (fits ? !best_fits || entry->capacity < best->capacity : !best_fits && entry->capacity > best->capacity))
      best = entry.get();
  }
  if (best == nullptr) best = entries_.emplace_back(std::make_unique<Entry>()).get();
  if (best->bytes == nullptr || best->capacity < bytes) {
    size_ -= best->capacity;
    best->bytes.reset();
    best->capacity = 0;
    const std::size_t capacity = std::max<std::size_t>(bytes, 64);
    best->bytes.reset(static_cast<unsigned char*>(::operator new(capacity, kAlignment)));
    best->capacity = capacity;
    size_ += capacity;
  }
  best->used = true;
  return {best->bytes.get(), [best](unsigned char*) { best->used = false; }};
}

std::size_t RunValue::count() const noexcept {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  return count;
}

std::size_t RunValue::bytes() const noexcept {
  return (count() * static_cast<std::size_t>(core::bit_width(dtype)) + 7) / 8;
}

RunValue made_value(Memory& memory, DataType dtype, std::vector<std::int64_t> dims) {
  RunValue value{dtype, std::move(dims)};
  value.block = memory.take(core::checked_bytes("a value", {nullptr, dtype, value.dims}));
  value.data = value.block.get();
  return value;
}

ModelState::Lease::Lease(ModelState& model) : model_(model) {
  const std::lock_guard<std::mutex> lock(model.mutex);
  if (model.idle.empty()) {
    memory_ = std::make_unique<Memory>();
    return;
  }
  memory_ = std::move(model.idle.back());
  model.idle.pop_back();
  model.memory -= memory_->size();
}

ModelState::Lease::~Lease() {
  try {
    const std::lock_guard<std::mutex> lock(model_.mutex);
    const std::size_t size = memory_->size();
    model_.idle.push_back(std::move(memory_));
    model_.memory += size;
  } catch (...) {  // then the memory is freed
  }
}

}  // namespace onnx_side

using onnx_side::fail;
using onnx_side::kNone;
using onnx_side::RunValue;

namespace {

std::vector<RunValue> first_values(const onnx_side::ModelState& model, const std::vector<TensorView>& inputs) {
  if (inputs.size() > model.inputs.size())
    fail("there are " + std::to_string(inputs.size()) + " inputs, expected " + std::to_string(model.inputs.size()));
  std::vector<RunValue> values = model.values;
  onnx_side::Symbols symbols;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    RunValue& value = values[model.input_values[i]];
    if (i >= inputs.size() || !inputs[i].present()) {
      if (!value.present()) fail("input '" + model.inputs[i].name + "' is missing");
      continue;  // its initializer
    }
    onnx_side::check_input(model.inputs[i], inputs[i], symbols);
    value = {inputs[i].dtype, {inputs[i].dims, inputs[i].dims + inputs[i].rank}, inputs[i].as<unsigned char>()};
  }
  return values;
}

}  // namespace

std::vector<ModelTensor> Model::run(const std::vector<TensorView>& inputs, const Call& call) const {
  onnx_side::ModelState::Lease lease(*state_);  // outlives the values, which lie in its memory
  std::vector<RunValue> values = first_values(*state_, inputs);
  const RunValue absent;
  std::vector<const RunValue*> arguments;
  for (const onnx_side::Step& step : state_->steps) {
    arguments.clear();
    for (const std::size_t input : step.inputs) arguments.push_back(input == kNone ? &absent : &values[input]);
    std::vector<RunValue> results = step.computation->run(arguments, lease.memory(), call);
    for (std::size_t i = 0; i < step.outputs.size(); ++i)
      if (step.outputs[i] != kNone) values[step.outputs[i]] = std::move(results[i]);
    results.clear();
    for (const std::size_t index : step.last_uses) values[index] = {};
  }
  std::vector<ModelTensor> outputs;
  for (const std::size_t index : state_->output_values) {
    const RunValue& value = values[index];
    outputs.push_back({value.dtype, value.dims, std::vector<unsigned char>(value.bytes())});
    if (value.bytes() > 0) std::memcpy(outputs.back().data.data(), value.data, value.bytes());
  }
  return outputs;
}

std::size_t Model::memory() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->memory;
}

}  // namespace octet
