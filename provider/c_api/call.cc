// octet_operator and octet_call: running a node.
#include <algorithm>
#include <cstring>

#include "provider/c_api/error.hpp"
#include "provider/c_api/handles.hpp"
#include "provider/c_api/json.hpp"
#include "provider/core/operator_state.hpp"

using namespace octet;
using namespace octet::c_api;

std::string octet_call::input_label(std::uint64_t index) const {
  const auto& state = object->state();
  if (state.op().input_port(index) == nullptr || index >= kMaxPorts)
    refuse(state.label() + ": there is no input " + std::to_string(index));
  return state.label() + ": " + state.op().input_label(index);
}

std::string octet_call::output_label(std::uint64_t index) const {
  const auto& state = object->state();
  if (index >= state.op().outputs.size()) refuse(state.label() + ": there is no output " + std::to_string(index));
  return state.label() + ": " + state.op().output_label(index);
}

void octet_call::set_input(std::uint64_t index, std::int32_t dtype, const std::int64_t* dims, std::int32_t rank,
                           const void* data, std::uint64_t size_bytes, bool copy) {
  const std::string port = input_label(index);
  Tensor tensor;
  if (dtype != OCTET_TYPE_ABSENT) {
    tensor.type = checked_type(port, dtype);
    tensor.dims = checked_dims(port, dims, rank, 0);
    const std::uint64_t bytes = core::checked_bytes(port, tensor.view());
    if (copy) {
      check_buffer(port, data, size_bytes, bytes);
      tensor.own = copy_of(data, bytes);
      tensor.data = tensor.own.data();
    } else {
      if (data != nullptr) check_buffer(port, data, size_bytes, bytes);
      tensor.data = const_cast<void*>(data);
    }
  }
  grown(inputs, index) = std::move(tensor);
  input_views = views(inputs);
  has_inferred = false;
}

void octet_call::set_output(std::uint64_t index, std::int32_t dtype, const std::int64_t* dims, std::int32_t rank,
                            void* data, std::uint64_t size_bytes) {
  const std::string port = output_label(index);
  Tensor tensor;
  if (dtype != OCTET_TYPE_ABSENT) {
    tensor.type = checked_type(port, dtype);
    tensor.dims = checked_dims(port, dims, rank, 0);
    check_buffer(port, data, size_bytes, core::checked_bytes(port, tensor.view()));
    tensor.data = data;
  }
  grown(outputs, index) = std::move(tensor);
}

void octet_call::infer() {
  if (has_inferred) return;
  inferred = object->infer(input_views);
  has_inferred = true;
}

const std::vector<ValueInfo>& octet_call::inferred_outputs() const {
  if (!has_inferred) refuse(object->state().label() + ": octet_call_infer() comes first");
  return inferred;
}

const ValueInfo& octet_call::inferred_output(std::uint64_t index) const {
  const auto& infos = inferred_outputs();
  if (index >= infos.size()) refuse(object->state().label() + ": there is no output " + std::to_string(index));
  return infos[index];
}

TensorView octet_call::own_target(std::size_t index) {
  Tensor& own = own_outputs[index];
  const ValueInfo& info = inferred[index];
  if (info.dtype == DataType::undefined) return {};
  own.dims = *info.dims;
  own.own.resize(core::checked_bytes(output_label(index), {nullptr, info.dtype, own.dims}));
  own.data = own.own.data();
  return {own.data, info.dtype, own.dims};
}

void octet_call::run() {
  for (Tensor& own : own_outputs) own.type = DataType::undefined;  // nothing to copy until this run has succeeded
  infer();
  const std::size_t count = std::max(outputs.size(), inferred.size());
  const auto given = [&](std::size_t i) { return i < outputs.size() && outputs[i].type != DataType::undefined; };
  own_outputs.resize(inferred.size());
  targets.assign(count, TensorView());
  for (std::size_t i = 0; i < count; ++i) {
    if (given(i))
      targets[i] = outputs[i].view();
    else if (i < inferred.size())
      targets[i] = own_target(i);
  }
  object->run(input_views.data(), input_views.size(), targets.data(), count);
  for (std::size_t i = 0; i < inferred.size(); ++i)
    if (!given(i)) own_outputs[i].type = inferred[i].dtype;
}

void octet_call::copy_output(std::uint64_t index, void* data, std::uint64_t size_bytes) const {
  const std::string port = output_label(index);
  if (index >= own_outputs.size() || own_outputs[index].type == DataType::undefined)
    refuse(port + " is not held by this call: it is absent, or was given its memory, or no run has succeeded");
  const Bytes& bytes = own_outputs[index].own;
  check_buffer(port, data, size_bytes, bytes.size());
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
}

octet_operator* octet_operator_create(const octet_node* node) {
  return guarded_pointer([&] {
    const octet_node& source = required(node, "octet_operator_create", "node");
    return new octet_operator{std::make_shared<const Operator>(source.node, source.options)};
  });
}

void octet_operator_release(octet_operator* op) { delete op; }

octet_call* octet_call_create(const octet_operator* op) {
  return guarded_pointer([&] { return new octet_call(required(op, "octet_call_create", "op").object); });
}

void octet_call_release(octet_call* call) { delete call; }

octet_status* octet_call_set_input(octet_call* call, uint64_t index, int32_t dtype, const int64_t* dims, int32_t rank,
                                   const void* data, uint64_t size_bytes) {
  return guarded([&] {
    required(call, "octet_call_set_input", "call").set_input(index, dtype, dims, rank, data, size_bytes, false);
  });
}

octet_status* octet_call_copy_input(octet_call* call, uint64_t index, int32_t dtype, const int64_t* dims, int32_t rank,
                                    const void* data, uint64_t size_bytes) {
  return guarded([&] {
    required(call, "octet_call_copy_input", "call").set_input(index, dtype, dims, rank, data, size_bytes, true);
  });
}

octet_status* octet_call_infer(octet_call* call) {
  return guarded([&] { required(call, "octet_call_infer", "call").infer(); });
}

octet_status* octet_call_output_count(const octet_call* call, uint64_t* count) {
  static constexpr const char* kFunction = "octet_call_output_count";
  return guarded([&] {
    const octet_call& source = required(call, kFunction, "call");
    required(count, kFunction, "count") = source.inferred_outputs().size();
  });
}

octet_status* octet_call_output_info(const octet_call* call, uint64_t index, int32_t* dtype, int32_t* rank,
                                     uint64_t* size_bytes) {
  return guarded([&] {
    const octet_call& source = required(call, "octet_call_output_info", "call");
    const ValueInfo& info = source.inferred_output(index);
    const Dims dims = info.dims.value_or(Dims());
    const bool present = info.dtype != DataType::undefined;
    const std::uint64_t bytes =
        present ? core::checked_bytes(source.output_label(index), {nullptr, info.dtype, dims}) : 0;
    if (dtype != nullptr) *dtype = static_cast<std::int32_t>(info.dtype);
    if (rank != nullptr) *rank = static_cast<std::int32_t>(dims.size());
    if (size_bytes != nullptr) *size_bytes = bytes;
  });
}

octet_status* octet_call_output_dims(const octet_call* call, uint64_t index, int64_t* dims, uint64_t capacity) {
  static constexpr const char* kFunction = "octet_call_output_dims";
  return guarded([&] {
    const octet_call& source = required(call, kFunction, "call");
    const Dims extents = source.inferred_output(index).dims.value_or(Dims());
    if (extents.empty()) return;
    if (capacity < extents.size())
      refuse(source.output_label(index) + " has rank " + std::to_string(extents.size()) + ", but 'capacity' is " +
             std::to_string(capacity));
    std::copy(extents.begin(), extents.end(), &required(dims, kFunction, "dims"));
  });
}

octet_status* octet_call_explain(const octet_call* call, char* buffer, uint64_t* size) {
  static constexpr const char* kFunction = "octet_call_explain";
  return guarded([&] {
    const octet_call& source = required(call, kFunction, "call");
    write_text(decision_json(source.object->explain(source.input_views)), buffer, size, kFunction);
  });
}

octet_status* octet_call_set_output(octet_call* call, uint64_t index, int32_t dtype, const int64_t* dims, int32_t rank,
                                    void* data, uint64_t size_bytes) {
  return guarded(
      [&] { required(call, "octet_call_set_output", "call").set_output(index, dtype, dims, rank, data, size_bytes); });
}

octet_status* octet_call_run(octet_call* call) {
  return guarded([&] { required(call, "octet_call_run", "call").run(); });
}

octet_status* octet_call_copy_output(const octet_call* call, uint64_t index, void* data, uint64_t size_bytes) {
  return guarded([&] { required(call, "octet_call_copy_output", "call").copy_output(index, data, size_bytes); });
}
