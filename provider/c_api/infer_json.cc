// octet_infer_json(): a definition's inference over what is known of a node, symbols included.
#include <nlohmann/json.hpp>

#include "provider/c_api/error.hpp"
#include "provider/core/infer.hpp"
#include "provider/core/json_number.hpp"
#include "provider/core/registry.hpp"

using namespace octet;
using namespace octet::c_api;

namespace {

using core::Dim;
using core::TypeAndShape;
using Json = nlohmann::json;

/// Attributes that the definition does not know are taken as they look: check_and_infer() refuses them by name.
AttributeValue attribute_value(const core::OpDef& op, const std::string& name, const Json& value) {
  const std::string what = "octet_infer_json: attribute '" + name + "'";
  for (const core::AttributeDef& definition : op.attributes) {
    if (definition.name != name) continue;
    if (definition.type == core::AttributeType::real && value.is_number()) return core::real_number(value, what);
    if (definition.type == core::AttributeType::reals && value.is_array()) {
      std::vector<float> reals;
      for (const Json& member : value) reals.push_back(core::real_number(member, what));
      return reals;
    }
    if (definition.type == core::AttributeType::strings && value.is_array())
      return value.get<std::vector<std::string>>();
  }
  if (value.is_number_integer()) return core::whole_number<std::int64_t>(value, what);
  if (value.is_number()) return core::real_number(value, what);
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) refuse(what + " is " + value.dump() + ", expected a number, a text or a list of them");
  std::vector<std::int64_t> integers;
  for (const Json& member : value) integers.push_back(core::whole_number<std::int64_t>(member, what));
  return integers;
}

Dim dim_of(const Json& dim) {
  if (dim.is_null()) return {};
  if (dim.is_string()) return Dim::symbolic(dim.get<std::string>());
  const auto value = core::whole_number<std::int64_t>(dim, "octet_infer_json: an extent");
  if (value < 0) refuse("octet_infer_json: an extent is " + std::to_string(value));
  return {value};
}

std::vector<TypeAndShape> ports(const Json& node, const char* key) {
  std::vector<TypeAndShape> result;
  for (const Json& port : node.value(key, Json::array())) {
    TypeAndShape& value = result.emplace_back();
    if (port.is_null()) continue;
    value.present = true;
    value.dtype = static_cast<DataType>(
        core::whole_number<std::int32_t>(port.value("dtype", Json(0)), "octet_infer_json: a dtype"));
    if (!port.contains("dims")) continue;
    value.shape.emplace();
    for (const Json& dim : port.at("dims")) value.shape->push_back(dim_of(dim));
  }
  return result;
}

Json port_json(const TypeAndShape& port) {
  if (!port.present) return nullptr;
  Json result = {{"dtype", static_cast<std::int32_t>(port.dtype)}};
  if (!port.shape) return result;
  result["dims"] = Json::array();
  for (const Dim& dim : *port.shape)
    result["dims"].push_back(dim.known() ? Json(dim.value) : dim.symbol.empty() ? Json() : Json(dim.symbol));
  return result;
}

std::string inferred(const Json& node) {
  const auto domain = node.value("domain", std::string()), op_type = node.at("op_type").get<std::string>();
  const auto version = core::whole_number<std::int64_t>(node.at("opset_version"), "octet_infer_json: opset_version");
  const core::OpDef* op = core::find_op(domain, op_type, version);
  if (op == nullptr)
    throw Error(ErrorCode::not_implemented,
                "there is no operator " + domain + "." + op_type + " of version " + std::to_string(version));
  Attributes attributes;
  const Json given = node.value("attributes", Json::object());
  for (const auto& [name, value] : given.items()) attributes[name] = attribute_value(*op, name, value);
  core::InferContext context(*op, node.value("name", std::string()), attributes, ports(node, "inputs"),
                             ports(node, "outputs"));
  core::check_and_infer(context, core::Purpose::graph);
  Json result = Json::array();
  for (std::size_t i = 0; i < context.num_outputs(); ++i) result.push_back(port_json(context.output(i)));
  return result.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

octet_status* octet_infer_json(const char* node, char* buffer, uint64_t* size) {
  return guarded([&] {
    const char* text = &required(node, "octet_infer_json", "node");
    try {
      write_text(inferred(Json::parse(text)), buffer, size, "octet_infer_json");
    } catch (const Json::exception& error) {
      refuse(std::string("octet_infer_json: ") + error.what());
    }
  });
}
