#include <octet/reference.h>

#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "test/reference/reference.hpp"

namespace {

using nlohmann::json;
using octet::AttributeValue;
using octet::Error;
using octet::ErrorCode;
using octet::TensorView;

AttributeValue attribute_value(const std::string& name, const json& value) {
  if (value.is_boolean()) return static_cast<std::int64_t>(value.get<bool>());
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<float>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    bool integers = true, strings = !value.empty();
    for (const json& element : value) {
      integers = integers && element.is_number_integer();
      strings = strings && element.is_string();
    }
    if (integers) return value.get<std::vector<std::int64_t>>();
    if (strings) return value.get<std::vector<std::string>>();
    return value.get<std::vector<float>>();
  }
  throw Error(ErrorCode::invalid_argument, "reference: attribute '" + name + "' is neither number, string nor list");
}

octet::Attributes attributes_from(const char* text) {
  octet::Attributes attributes;
  if (text == nullptr || *text == '\0') return attributes;
  const json object = json::parse(text);
  if (!object.is_object()) throw Error(ErrorCode::invalid_argument, "reference: the attributes are not a JSON object");
  for (const auto& [name, value] : object.items()) attributes[name] = attribute_value(name, value);
  return attributes;
}

std::vector<TensorView> tensors(std::int32_t number, const std::int32_t* types, const std::int32_t* ranks,
                                const std::int64_t* dims, const void* const* data) {
  if (number < 0 || (number > 0 && (types == nullptr || ranks == nullptr || data == nullptr)))
    throw Error(ErrorCode::invalid_argument, "reference: an array of tensors is missing");
  std::vector<TensorView> result;
  for (std::int32_t i = 0; i < number; ++i) {
    if (ranks[i] < 0 || (ranks[i] > 0 && dims == nullptr))
      throw Error(ErrorCode::invalid_argument, "reference: tensor " + std::to_string(i) + " has no extents");
    result.emplace_back(data[i], static_cast<octet::DataType>(types[i]), dims, ranks[i]);
    if (dims != nullptr) dims += ranks[i];
  }
  return result;
}

std::int32_t report(ErrorCode code, const char* text, char* message, std::int64_t message_size) {
  if (message != nullptr && message_size > 0) {
    std::strncpy(message, text, static_cast<std::size_t>(message_size));
    message[message_size - 1] = '\0';
  }
  return static_cast<std::int32_t>(code);
}

}  // namespace

int32_t octet_reference_run(const char* domain, const char* op_type, int64_t opset_version, const char* attributes_json,
                            int32_t num_inputs, const int32_t* input_types, const int32_t* input_ranks,
                            const int64_t* input_dims, const void* const* input_data, int32_t num_outputs,
                            const int32_t* output_types, const int32_t* output_ranks, const int64_t* output_dims,
                            void* const* output_data, char* message, int64_t message_size) {
  try {
    if (op_type == nullptr) throw Error(ErrorCode::invalid_argument, "reference: no operator is named");
    octet::Node node;
    node.op_type = op_type;
    node.domain = domain == nullptr ? "" : domain;
    node.opset_version = opset_version;
    node.attributes = attributes_from(attributes_json);
    octet::reference::run(node, tensors(num_inputs, input_types, input_ranks, input_dims, input_data),
                          tensors(num_outputs, output_types, output_ranks, output_dims, output_data));
    return report(ErrorCode::ok, "", message, message_size);
  } catch (const Error& error) {
    return report(error.code(), error.what(), message, message_size);
  } catch (const json::exception& error) {
    return report(ErrorCode::invalid_argument, error.what(), message, message_size);
  } catch (const std::bad_alloc&) {
    return report(ErrorCode::out_of_memory, "reference: out of memory", message, message_size);
  } catch (const std::exception& error) {
    return report(ErrorCode::internal, error.what(), message, message_size);
  }
}
