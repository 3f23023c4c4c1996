// The definition of an operator: one OpDef holds everything that is known of an operator without computing it. The ONNX
// schema, shape inference behind every door, validation, the plugin's kernel registration, the tests' case tables, the
// README's rows: all follow from here.
#pragma once

#include <octet/octet.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet::core {

class InferContext;

enum class PortOption { required, optional, variadic };

struct PortDef {
  std::string name;
  std::string type;  ///< name of a type constraint, or one type spelled "tensor(float)"
  std::string doc;
  PortOption option = PortOption::required;
  bool homogeneous = true;  ///< false: each input of a variadic port has a type of its own
};

enum class AttributeType { integer, real, string, integers, reals, strings };

struct AttributeDef {
  std::string name;
  AttributeType type = AttributeType::integer;
  std::string doc;
  bool required = false;
  std::optional<AttributeValue> default_value = std::nullopt;
};

struct TypeConstraint {
  std::string name;
  std::vector<DataType> types;
  std::string doc;
};

/// Operators of one family share their plans.
enum class Family { matmul, quantize, binary, unary, reduce, concat, lstm };
const char* family_name(Family family) noexcept;

struct OpDef {
  std::string domain;  ///< "" for ai.onnx
  std::string name;
  int since_version = 1;
  std::string doc;
  std::vector<AttributeDef> attributes;
  std::vector<PortDef> inputs;
  std::vector<PortDef> outputs;
  std::vector<TypeConstraint> type_constraints;
  Family family = Family::matmul;
  /// Inputs whose memory the first output may have where it has their extents: each element is read before its place
  /// is written.
  std::vector<int> in_place;
  /// Least number of elements of a variadic last input.
  int min_variadic = 1;
  /// Sets the outputs' types and shapes from what is known of the inputs; fails where the inputs contradict the
  /// definition.
  void (*infer)(InferContext& context) = nullptr;
  /// Where not null: what inference lets pass in a graph, but no node may have; throws.
  void (*check_node)(const InferContext& context) = nullptr;

  /// The port that input i belongs to (a variadic last port takes all that follow); null past the last.
  const PortDef* input_port(std::size_t i) const noexcept;
  /// "input 'b_scale'", "input 'inputs[2]'" for a member of a variadic port, "input 7" past the last.
  std::string input_label(std::size_t i) const;
  std::string output_label(std::size_t i) const;
  /// The attribute of a node that has these, or its default, or null.
  const AttributeValue* attribute_value(const Attributes& given, std::string_view wanted) const noexcept;
  const TypeConstraint* constraint(std::string_view type) const noexcept;
  /// The types that a port allows: its constraint's, or the single type that it spells.
  std::vector<DataType> allowed_types(const PortDef& port) const;
};

const char* attribute_type_name(AttributeType type) noexcept;  ///< "INT", "FLOATS", ...
AttributeType attribute_type(const AttributeValue& value) noexcept;

/// "tensor(uint8)" for DataType::uint8, and back (undefined where the text is none).
std::string type_string(DataType type);
DataType parse_type_string(std::string_view text) noexcept;

/// Bits of one element; 0 for string and undefined.
int bit_width(DataType type) noexcept;
inline bool is_8bit(DataType type) noexcept { return type == DataType::uint8 || type == DataType::int8; }

/// "" for "ai.onnx", by which ONNX's own domain goes too.
inline std::string canonical_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

/// "com.microsoft.QGemm" or "MatMulInteger": how messages and tables call an operator.
std::string qualified_name(const OpDef& op);

/// An attribute that the node has, or null. check_and_infer has seen to it that the type is right.
template <class T>
const T* find_attribute(const Attributes& attributes, std::string_view name) {
  for (const auto& [key, value] : attributes)
    if (key == name) return std::get_if<T>(&value);
  return nullptr;
}
/// An attribute's value, or `fallback` where the node has none.
template <class T>
T attribute_or(const Attributes& attributes, std::string_view name, const T& fallback) {
  const T* found = find_attribute<T>(attributes, name);
  return found ? *found : fallback;
}

}  // namespace octet::core
