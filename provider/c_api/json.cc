#include "provider/c_api/json.hpp"

#include <nlohmann/json.hpp>

#include <charconv>

#include "provider/core/registry.hpp"

namespace octet::c_api {
namespace {

using namespace core;
using Json = nlohmann::ordered_json;

const char* option_name(PortOption option) noexcept {
  switch (option) {
    case PortOption::required:
      return "required";
    case PortOption::optional:
      return "optional";
    case PortOption::variadic:
      return "variadic";
  }
  return "unknown";
}

Json ports_json(const OpDef& op, const std::vector<PortDef>& ports) {
  Json result = Json::array();
  for (const PortDef& port : ports) {
    Json entry = {{"name", port.name}, {"type", port.type}, {"option", option_name(port.option)}};
    if (port.option == PortOption::variadic) {
      entry["min_count"] = op.min_variadic;
      entry["homogeneous"] = port.homogeneous;
    }
    entry["doc"] = port.doc;
    result.push_back(std::move(entry));
  }
  return result;
}

// 0.01F is told as 0.01, not as the double next to it.
Json value_json(float value) {
  char text[32];
  double result = value;
  std::from_chars(text, std::to_chars(text, text + sizeof text, value).ptr, result);
  return Json(result);
}
Json value_json(const std::vector<float>& values) {
  Json result = Json::array();
  for (const float value : values) result.push_back(value_json(value));
  return result;
}
template <class T>
Json value_json(const T& value) {
  return Json(value);
}

Json attributes_json(const OpDef& op) {
  Json result = Json::array();
  for (const AttributeDef& attribute : op.attributes) {
    Json default_value;
    if (attribute.default_value)
      default_value = std::visit([](const auto& value) { return value_json(value); }, *attribute.default_value);
    result.push_back({{"name", attribute.name},
                      {"type", attribute_type_name(attribute.type)},
                      {"required", attribute.required},
                      {"default", std::move(default_value)},
                      {"doc", attribute.doc}});
  }
  return result;
}

Json constraints_json(const OpDef& op) {
  Json result = Json::array();
  for (const TypeConstraint& constraint : op.type_constraints) {
    Json types = Json::array();
    for (const DataType type : constraint.types) types.push_back(type_string(type));
    result.push_back({{"name", constraint.name}, {"types", std::move(types)}, {"doc", constraint.doc}});
  }
  return result;
}

Json op_json(const OpDef& op) {
  return {{"domain", op.domain},
          {"name", op.name},
          {"since_version", op.since_version},
          {"family", family_name(op.family)},
          {"doc", op.doc},
          {"inputs", ports_json(op, op.inputs)},
          {"outputs", ports_json(op, op.outputs)},
          {"attributes", attributes_json(op)},
          {"type_constraints", constraints_json(op)},
          {"kernel", kernel_backends(op)}};
}

// Names come from callers: what is not UTF-8 is replaced, not refused.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string ops_json() {
  Json result = Json::array();
  for (const OpDef& op : op_defs()) result.push_back(op_json(op));
  return text_of(result);
}

std::string decision_json(const Decision& decision) {
  return text_of(
      {{"backend", decision.backend}, {"implementation", decision.implementation}, {"reasons", decision.reasons}});
}

}  // namespace octet::c_api
