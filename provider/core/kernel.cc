#include "provider/core/kernel.hpp"

namespace octet::core {

std::int64_t TensorInfo::elements() const noexcept {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

std::size_t TensorInfo::bytes() const noexcept {
  return (static_cast<std::size_t>(elements()) * static_cast<std::size_t>(bit_width(dtype)) + 7) / 8;
}

TensorView NodeContext::constant(std::size_t i) const noexcept {
  if (!has_input(i) || node.inputs[i].constant == nullptr) return {};
  return {node.inputs[i].constant, node.inputs[i].dtype, *node.inputs[i].dims};
}

const AttributeValue& NodeContext::attribute_value(std::string_view name) const {
  if (const AttributeValue* value = op.attribute_value(node.attributes, name)) return *value;
  fail("attribute '" + std::string(name) + "' is missing");
}

void NodeContext::fail(const std::string& text) const { throw Error(ErrorCode::invalid_argument, label + ": " + text); }

}  // namespace octet::core
