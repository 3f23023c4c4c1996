#include "provider/core/kernel.hpp"

#include <algorithm>

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
  const auto given = std::find_if(node.attributes.begin(), node.attributes.end(),
                                  [&](const auto& attribute) { return attribute.first == name; });
  if (given != node.attributes.end()) return given->second;
  for (const AttributeDef& attribute : op.attributes)
    if (attribute.name == name && attribute.default_value) return *attribute.default_value;
  fail("attribute '" + std::string(name) + "' is missing");
}

void NodeContext::fail(const std::string& text) const { throw Error(ErrorCode::invalid_argument, label + ": " + text); }

}  // namespace octet::core
