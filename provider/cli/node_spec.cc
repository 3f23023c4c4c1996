#include "provider/cli/node_spec.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>

#include "provider/core/json_number.hpp"
#include "provider/core/op_def.hpp"

namespace octet::cli {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 32;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  std::istringstream stream(text);
  while (std::getline(stream, part, separator)) parts.push_back(part);
  return parts;
}

template <class T>
T parse_number(const std::string& text, const std::string& what) {
  std::istringstream stream(text);
  T value{};
  if (!(stream >> value) || !(stream >> std::ws).eof()) throw UsageError(what + ": '" + text + "' is no number");
  return value;
}

std::size_t count_of(const std::vector<std::int64_t>& dims, const std::string& what) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) throw UsageError(what + ": an extent is negative");
    if (__builtin_mul_overflow(count, dim, &count) || count > kMostElements)
      throw UsageError(what + ": too many elements for a constant");
  }
  return static_cast<std::size_t>(count);
}

template <class T>
void store(unsigned char* data, std::size_t count, const std::vector<double>& values) {
  for (std::size_t i = 0; i < count; ++i) {
    const double value = values[values.size() == 1 ? 0 : i];
    bool fits =
        sizeof(T) == sizeof(double) || std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max());
    if constexpr (std::is_integral_v<T>)  // the largest int64 is 2^63 as a double
      fits = value >= static_cast<double>(std::numeric_limits<T>::min()) &&
             value <= static_cast<double>(std::numeric_limits<T>::max()) && value < 0x1p63;
    if (!fits) throw UsageError("the constant " + std::to_string(value) + " does not fit its type");
    const T element = static_cast<T>(value);
    std::memcpy(data + i * sizeof(T), &element, sizeof(T));
  }
}

std::unique_ptr<unsigned char[]> allocated(DataType type, std::size_t count) {
  if (core::bit_width(type) == 0)
    throw UsageError(std::string("no constant can have the type ") + data_type_name(type));
  return std::make_unique<unsigned char[]>(bytes_of(type, count) + 1);  // never null: the pointer tells a constant
}

bool is_real(DataType type) {
  return type == DataType::float32 || type == DataType::float64 || type == DataType::float16 ||
         type == DataType::bfloat16;
}

/// The newest definition of that name, as JSON.
const Json& find_definition(const std::string& domain, const std::string& name, std::int64_t opset_version) {
  const Json* found = nullptr;
  for (const auto& op : ops()) {
    if (op["name"] != name || (!domain.empty() && domain_name(op["domain"]) != domain)) continue;
    if (opset_version > 0 && op["since_version"] > opset_version) continue;
    if (found != nullptr && (*found)["domain"] != op["domain"])
      throw UsageError(name + " is defined in ai.onnx and in com.microsoft: say which by --domain");
    found = &op;
  }
  if (found == nullptr)
    throw UsageError("there is no operator '" + name + "'" + (domain.empty() ? "" : " in domain " + domain) +
                     (opset_version > 0 ? " at version " + std::to_string(opset_version) : "") +
                     "; octet ops lists them");
  return *found;
}

AttributeValue parse_attribute(const Json& definition, const std::string& name, const std::string& text) {
  for (const auto& attribute : definition["attributes"]) {
    if (attribute["name"] != name) continue;
    const std::string type = attribute["type"];
    const std::string what = "attribute '" + name + "'";
    if (type == "INT") return parse_number<std::int64_t>(text, what);
    if (type == "FLOAT") return parse_number<float>(text, what);
    if (type == "STRING") return text;
    std::vector<std::int64_t> integers;
    std::vector<float> reals;
    auto parts = split(text, ',');
    if (type == "STRINGS") return parts;
    for (const auto& part : parts) {
      if (type == "INTS") integers.push_back(parse_number<std::int64_t>(part, what));
      if (type == "FLOATS") reals.push_back(parse_number<float>(part, what));
    }
    if (type == "INTS") return integers;
    return reals;
  }
  throw UsageError(definition["name"].get<std::string>() + " has no attribute '" + name + "'");
}

std::string attribute_text(const Json& value) {
  if (value.is_string()) return value;
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const auto& item : value) text += (text.empty() ? "" : ",") + attribute_text(item);
  return text;
}

void set_constant(NodeSpec& spec, ValueInfo& info, const Json& constant, const std::string& what) {
  const std::size_t count = count_of(*info.dims, what);
  std::unique_ptr<unsigned char[]> data;
  if (constant.is_string()) {
    if (constant != "random") throw UsageError(what + ": '" + constant.get<std::string>() + "' is no constant");
    data = random_elements(info.dtype, count);
  } else {
    std::vector<double> values;
    for (const auto& item : constant.is_array() ? constant : Json::array({constant})) {
      if (!item.is_number()) throw UsageError(what + ": " + item.dump() + " is no number");
      values.push_back(item.get<double>());
    }
    if (values.size() != 1 && values.size() != count)
      throw UsageError(what + " has " + std::to_string(values.size()) + " values, expected " + std::to_string(count));
    if (values.empty()) values.push_back(0);
    data = filled(info.dtype, count, values);
  }
  info.constant = data.get();
  spec.constants.push_back(std::move(data));
}

/// "uint8[2,3]=random"
void add_input(NodeSpec& spec, const std::string& text) {
  ValueInfo info;
  if (text != "-") {
    const std::string what = "input '" + text + "'";
    const std::size_t open = text.find('[');
    const std::size_t close = text.find(']');
    if (open == std::string::npos || close == std::string::npos || close < open)
      throw UsageError(what + ": expected TYPE[EXTENT,...], or - for an absent input");
    info.dtype = parse_type(text.substr(0, open));
    info.dims.emplace();
    for (const auto& part : split(text.substr(open + 1, close - open - 1), ','))
      info.dims->push_back(parse_number<std::int64_t>(part, what));
    const std::string rest = text.substr(close + 1);
    if (!rest.empty()) {
      if (rest.front() != '=') throw UsageError(what + ": expected =VALUE or =random after the extents");
      const std::string value = rest.substr(1);
      set_constant(spec, info, value == "random" ? Json(value) : Json(parse_number<double>(value, what)), what);
    }
  }
  spec.node.inputs.push_back(std::move(info));
}

void add_input(NodeSpec& spec, const Json& json, std::size_t index) {
  ValueInfo info;
  if (!json.is_null()) {
    const std::string what = "input " + std::to_string(index);
    info.dtype = parse_type(json.at("type"));
    info.dims.emplace();
    for (const Json& dim : json.at("shape"))
      info.dims->push_back(core::whole_number<std::int64_t>(dim, what + ": an extent"));
    if (json.contains("constant")) set_constant(spec, info, json["constant"], what);
  }
  spec.node.inputs.push_back(std::move(info));
}

void set_operator(Node& node, const Json& definition, std::int64_t opset_version) {
  node.op_type = definition["name"];
  node.domain = definition["domain"];
  node.opset_version = opset_version > 0 ? opset_version : definition["since_version"].get<std::int64_t>();
}

}  // namespace

std::size_t bytes_of(DataType type, std::size_t count) {
  return (count * static_cast<std::size_t>(core::bit_width(type)) + 7) / 8;
}

std::unique_ptr<unsigned char[]> filled(DataType type, std::size_t count, const std::vector<double>& values) {
  auto data = allocated(type, count);
  switch (type) {
    case DataType::float32:
      store<float>(data.get(), count, values);
      break;
    case DataType::float64:
      store<double>(data.get(), count, values);
      break;
    case DataType::float16:
      store<Eigen::half>(data.get(), count, values);
      break;
    case DataType::bfloat16:
      store<Eigen::bfloat16>(data.get(), count, values);
      break;
    case DataType::uint8:
      store<std::uint8_t>(data.get(), count, values);
      break;
    case DataType::int8:
      store<std::int8_t>(data.get(), count, values);
      break;
    case DataType::uint16:
      store<std::uint16_t>(data.get(), count, values);
      break;
    case DataType::int16:
      store<std::int16_t>(data.get(), count, values);
      break;
    case DataType::uint32:
      store<std::uint32_t>(data.get(), count, values);
      break;
    case DataType::int32:
      store<std::int32_t>(data.get(), count, values);
      break;
    case DataType::int64:
      store<std::int64_t>(data.get(), count, values);
      break;
    default:
      throw UsageError(std::string("a constant of type ") + data_type_name(type) + " can only be 'random'");
  }
  return data;
}

std::unique_ptr<unsigned char[]> random_elements(DataType type, std::size_t count) {
  std::mt19937 generator(1);  // NOLINT(bugprone-random-generator-seed): the same ones on purpose
  if (is_real(type)) {
    std::vector<double> values(std::max<std::size_t>(count, 1));
    for (double& value : values) value = 0.001 + static_cast<double>(generator() % 1000) / 1000;
    return filled(type, count, values);
  }
  auto data = allocated(type, count);
  for (std::size_t i = 0; i < bytes_of(type, count); ++i) data[i] = static_cast<unsigned char>(generator() >> 24);
  return data;
}

DataType parse_type(const std::string& name) {
  const DataType type = core::parse_type_string("tensor(" + name + ")");
  if (type == DataType::undefined) throw UsageError("there is no element type '" + name + "'");
  return type;
}

std::string to_string(DataType type, const std::vector<std::int64_t>& dims) {
  std::string text = std::string(data_type_name(type)) + "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

NodeSpec node_from_arguments(const TargetArguments& arguments) {
  NodeSpec spec;
  spec.options = arguments.options;
  const std::string& target = arguments.target;
  const std::size_t dot = target.rfind('.');  // "com.microsoft.QGemm"
  const std::string name = dot == std::string::npos ? target : target.substr(dot + 1);
  const std::string domain = dot == std::string::npos ? arguments.domain : target.substr(0, dot);
  const Json& definition = find_definition(domain, name, arguments.opset_version);
  set_operator(spec.node, definition, arguments.opset_version);
  spec.node.name = arguments.name;
  for (const auto& text : arguments.inputs) add_input(spec, text);
  for (const auto& text : arguments.outputs)
    spec.node.outputs.push_back({text == "-" ? DataType::undefined : parse_type(text)});
  for (const auto& text : arguments.attributes) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw UsageError("attribute '" + text + "': expected NAME=VALUE");
    const std::string key = text.substr(0, equals);
    spec.node.attributes[key] = parse_attribute(definition, key, text.substr(equals + 1));
  }
  return spec;
}

NodeSpec node_from_json(const Json& json, const TargetArguments& arguments) {
  NodeSpec spec;
  spec.options = arguments.options;
  const auto opset_version = core::whole_number<std::int64_t>(json.value("opset_version", Json(0)), "opset_version");
  const std::string domain = json.contains("domain") ? domain_name(json["domain"]) : std::string();
  const Json& definition = find_definition(domain, json.at("op_type"), opset_version);
  set_operator(spec.node, definition, opset_version);
  spec.node.name = json.value("name", std::string());
  if (json.contains("inputs"))
    for (const auto& input : json["inputs"]) add_input(spec, input, spec.node.inputs.size());
  if (json.contains("outputs"))
    for (const auto& type : json["outputs"])
      spec.node.outputs.push_back({type.is_null() ? DataType::undefined : parse_type(type)});
  if (json.contains("attributes"))
    for (const auto& [key, value] : json["attributes"].items())
      spec.node.attributes[key] = parse_attribute(definition, key, attribute_text(value));
  return spec;
}

}  // namespace octet::cli
