#include "provider/core/op_def.hpp"

#include <algorithm>
#include <array>

namespace octet {
namespace {

struct TypeTraits {
  const char* name;
  int bits;
};

// Indexed by onnx::TensorProto::DataType; numbers 14 and 15 (complex) are no concern of Octet.
constexpr std::array<TypeTraits, 29> kTypes{
    {{"undefined", 0},      {"float", 32},    {"uint8", 8},        {"int8", 8},           {"uint16", 16},
     {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
     {"float16", 16},       {"double", 64},   {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
     {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
     {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
     {"uint2", 2},          {"int2", 2},      {"float6e2m3", 6},   {"float6e3m2", 6}}};

const TypeTraits& traits(DataType type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypes.size() ? kTypes[index] : kTypes[0];
}

}  // namespace

const char* data_type_name(DataType type) noexcept { return traits(type).name; }

namespace core {

const char* family_name(Family family) noexcept {
  switch (family) {
    case Family::matmul:
      return "matmul";
    case Family::quantize:
      return "quantize";
    case Family::binary:
      return "binary";
    case Family::unary:
      return "unary";
    case Family::reduce:
      return "reduce";
    case Family::concat:
      return "concat";
    case Family::lstm:
      return "lstm";
  }
  return "unknown";
}

const PortDef* OpDef::input_port(std::size_t i) const noexcept {
  if (i < inputs.size()) return &inputs[i];
  if (!inputs.empty() && inputs.back().option == PortOption::variadic) return &inputs.back();
  return nullptr;
}

std::string OpDef::input_label(std::size_t i) const {
  const PortDef* port = input_port(i);
  if (port == nullptr) return "input " + std::to_string(i);
  if (port->option != PortOption::variadic) return "input '" + port->name + "'";
  return "input '" + port->name + "[" + std::to_string(i - (inputs.size() - 1)) + "]'";
}

std::string OpDef::output_label(std::size_t i) const {
  return i < outputs.size() ? "output '" + outputs[i].name + "'" : "output " + std::to_string(i);
}

const AttributeValue* OpDef::attribute_value(const Attributes& given, std::string_view wanted) const noexcept {
  for (const auto& [key, value] : given)
    if (key == wanted) return &value;
  for (const AttributeDef& attribute : attributes)
    if (attribute.name == wanted && attribute.default_value) return &*attribute.default_value;
  return nullptr;
}

const TypeConstraint* OpDef::constraint(std::string_view type) const noexcept {
  const auto found = std::find_if(type_constraints.begin(), type_constraints.end(),
                                  [&](const TypeConstraint& constraint) { return constraint.name == type; });
  return found == type_constraints.end() ? nullptr : &*found;
}

std::vector<DataType> OpDef::allowed_types(const PortDef& port) const {
  if (const TypeConstraint* found = constraint(port.type)) return found->types;
  return {parse_type_string(port.type)};
}

const char* attribute_type_name(AttributeType type) noexcept {
  constexpr const char* kNames[] = {"INT", "FLOAT", "STRING", "INTS", "FLOATS", "STRINGS"};
  return kNames[static_cast<std::size_t>(type)];
}

// The alternatives of AttributeValue stand in the order of AttributeType.
AttributeType attribute_type(const AttributeValue& value) noexcept { return static_cast<AttributeType>(value.index()); }

std::string type_string(DataType type) { return std::string("tensor(") + data_type_name(type) + ")"; }

DataType parse_type_string(std::string_view text) noexcept {
  constexpr std::string_view kPrefix = "tensor(";
  if (text.size() <= kPrefix.size() || text.substr(0, kPrefix.size()) != kPrefix || text.back() != ')')
    return DataType::undefined;
  const std::string_view name = text.substr(kPrefix.size(), text.size() - kPrefix.size() - 1);
  for (std::size_t i = 1; i < kTypes.size(); ++i)
    if (name == kTypes[i].name) return static_cast<DataType>(i);
  return DataType::undefined;
}

int bit_width(DataType type) noexcept { return traits(type).bits; }

std::string qualified_name(const OpDef& op) { return op.domain.empty() ? op.name : op.domain + "." + op.name; }

}  // namespace core
}  // namespace octet
