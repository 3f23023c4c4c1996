// octet_node: the description of an operator.
#include "provider/c_api/error.hpp"
#include "provider/c_api/handles.hpp"
#include "provider/core/infer.hpp"
#include "provider/core/options.hpp"
#include "provider/core/registry.hpp"

using namespace octet;
using namespace octet::c_api;

namespace {

const core::OpDef* find_op(const Node& node) { return core::find_op(node.domain, node.op_type, node.opset_version); }

}  // namespace

std::string octet_node::label() const {
  if (const core::OpDef* op = find_op(node)) return core::node_label(*op, node.name);
  return node.name.empty() ? node.op_type : node.op_type + " '" + node.name + "'";
}

std::string octet_node::input_label(std::uint64_t index) const {
  if (index >= kMaxPorts) refuse(label() + ": there is no input " + std::to_string(index));
  const core::OpDef* op = find_op(node);
  return label() + ": " + (op ? op->input_label(index) : "input " + std::to_string(index));
}

void octet_node::set_input(std::uint64_t index, ValueInfo info, Bytes constant) {
  grown(constants, index) = std::move(constant);
  grown(node.inputs, index) = std::move(info);
}

void octet_node::set_output(std::uint64_t index, std::int32_t dtype) {
  if (index >= kMaxPorts) refuse(label() + ": there is no output " + std::to_string(index));
  const bool absent = dtype == OCTET_TYPE_ABSENT;
  const DataType type =
      absent ? DataType::undefined : checked_type(label() + ": output " + std::to_string(index), dtype);
  grown(node.outputs, index).dtype = type;
}

octet_node* octet_node_create(const char* domain, const char* op_type, int64_t opset_version, const char* name) {
  return guarded_pointer([&] {
    auto node = std::make_unique<octet_node>();
    node->node.domain = text_or_empty(domain);
    node->node.op_type = &required(op_type, "octet_node_create", "op_type");
    node->node.opset_version = opset_version;
    node->node.name = text_or_empty(name);
    return node.release();
  });
}

void octet_node_release(octet_node* node) { delete node; }

octet_status* octet_node_set_int(octet_node* node, const char* attribute, int64_t value) {
  return guarded([&] { set_attribute(node, attribute, "octet_node_set_int", value); });
}

octet_status* octet_node_set_float(octet_node* node, const char* attribute, float value) {
  return guarded([&] { set_attribute(node, attribute, "octet_node_set_float", value); });
}

octet_status* octet_node_set_string(octet_node* node, const char* attribute, const char* value) {
  static constexpr const char* kFunction = "octet_node_set_string";
  return guarded([&] { set_attribute(node, attribute, kFunction, std::string(&required(value, kFunction, "value"))); });
}

octet_status* octet_node_set_ints(octet_node* node, const char* attribute, const int64_t* values, uint64_t count) {
  static constexpr const char* kFunction = "octet_node_set_ints";
  return guarded([&] { set_attribute(node, attribute, kFunction, array(values, count, kFunction, "values")); });
}

octet_status* octet_node_set_floats(octet_node* node, const char* attribute, const float* values, uint64_t count) {
  static constexpr const char* kFunction = "octet_node_set_floats";
  return guarded([&] { set_attribute(node, attribute, kFunction, array(values, count, kFunction, "values")); });
}

octet_status* octet_node_set_strings(octet_node* node, const char* attribute, const char* const* values,
                                     uint64_t count) {
  static constexpr const char* kFunction = "octet_node_set_strings";
  return guarded([&] { set_attribute(node, attribute, kFunction, strings(values, count, kFunction, "values")); });
}

octet_status* octet_node_set_input(octet_node* node, uint64_t index, int32_t dtype, const int64_t* dims, int32_t rank) {
  return guarded([&] {
    octet_node& target = required(node, "octet_node_set_input", "node");
    const std::string port = target.input_label(index);
    ValueInfo info;
    if (dtype != OCTET_TYPE_ABSENT) {
      info.dtype = checked_type(port, dtype);
      if (rank != -1) info.dims = checked_dims(port, dims, rank, -1);
    }
    target.set_input(index, std::move(info), {});
  });
}

octet_status* octet_node_set_constant(octet_node* node, uint64_t index, int32_t dtype, const int64_t* dims,
                                      int32_t rank, const void* data, uint64_t size_bytes) {
  return guarded([&] {
    octet_node& target = required(node, "octet_node_set_constant", "node");
    const std::string port = target.input_label(index);
    ValueInfo info{checked_type(port, dtype), checked_dims(port, dims, rank, 0)};
    const std::uint64_t bytes = core::checked_bytes(port, {nullptr, info.dtype, *info.dims});
    check_buffer(port, data, size_bytes, bytes);
    Bytes copy = copy_of(data, bytes);
    if (copy.empty()) copy.resize(1);  // a constant is told from a variable by its pointer
    info.constant = copy.data();
    target.set_input(index, std::move(info), std::move(copy));
  });
}

octet_status* octet_node_set_output(octet_node* node, uint64_t index, int32_t dtype) {
  return guarded([&] { required(node, "octet_node_set_output", "node").set_output(index, dtype); });
}

octet_status* octet_node_set_option(octet_node* node, const char* key, const char* value) {
  static constexpr const char* kFunction = "octet_node_set_option";
  return guarded([&] {
    octet_node& target = required(node, kFunction, "node");
    core::set_option(target.options, &required(key, kFunction, "key"), &required(value, kFunction, "value"));
  });
}
