#include "provider/onnx/tensor_data.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "provider/core/infer.hpp"
#include "provider/onnx/graph_state.hpp"

namespace octet::onnx_side {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const onnx::TensorProto& tensor, const std::string& text) {
  throw Error(ErrorCode::invalid_argument, "tensor '" + tensor.name() + "' " + text);
}

std::uint64_t number(const onnx::TensorProto& tensor, const std::string& text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
    fail(tensor, "names '" + text + "' as a place in its file");
  return std::stoull(text);
}

// Extents may say anything: memory is taken when it is known that there are elements to fill it.
using Bytes = std::unique_ptr<unsigned char[]>;
Bytes new_bytes(std::size_t count) { return Bytes(new unsigned char[count]); }

Bytes read_external(const onnx::TensorProto& tensor, const fs::path& directory, std::size_t count) {
  const Place place(tensor);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(directory / place.location, error);
  std::ifstream file = place.open(directory);
  const bool fits = file && !error && place.offset <= size && count <= size - place.offset;
  Bytes data = new_bytes(fits ? count : 0);
  if (!fits || !file.read(reinterpret_cast<char*>(data.get()), static_cast<std::streamsize>(count)))
    fail(tensor, "cannot be read from '" + place.location.string() + "'");
  return data;
}

Bytes copy_raw(const onnx::TensorProto& tensor, std::size_t count) {
  const std::string& raw = tensor.raw_data();
  if (raw.size() != count)
    fail(tensor, "has " + std::to_string(raw.size()) + " bytes, expected " + std::to_string(count));
  Bytes data = new_bytes(count);
  std::memcpy(data.get(), raw.data(), count);
  return data;
}

/// The low `width` bytes of each member of a repeated field.
template <class Field>
Bytes copy_field(const onnx::TensorProto& tensor, const Field& field, std::size_t width, std::size_t count) {
  if (static_cast<std::size_t>(field.size()) * width != count)
    fail(tensor, "has " + std::to_string(field.size()) + " elements, expected " + std::to_string(count / width));
  Bytes data = new_bytes(count);
  unsigned char* to = data.get();
  for (const auto value : field) {
    std::memcpy(to, &value, width);  // little-endian
    to += width;
  }
  return data;
}

Bytes copy_fields(const onnx::TensorProto& tensor, std::size_t count) {
  const auto type = static_cast<DataType>(tensor.data_type());
  switch (type) {
    case DataType::float32:
      return copy_field(tensor, tensor.float_data(), 4, count);
    case DataType::float64:
      return copy_field(tensor, tensor.double_data(), 8, count);
    case DataType::int64:
      return copy_field(tensor, tensor.int64_data(), 8, count);
    case DataType::uint32:
    case DataType::uint64:
      return copy_field(tensor, tensor.uint64_data(), core::bit_width(type) / 8, count);
    default:
      return copy_field(tensor, tensor.int32_data(), std::max<std::size_t>(core::bit_width(type) / 8, 1), count);
  }
}

}  // namespace

Place::Place(const onnx::TensorProto& tensor) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = fs::path(entry.value()).lexically_normal();
    if (entry.key() == "offset") offset = number(tensor, entry.value());
  }
  if (location.empty() || location.is_absolute() || *location.begin() == "..")
    fail(tensor, "is in the file '" + location.string() + "', which is not beside the model");
}

std::ifstream Place::open(const fs::path& folder) const {
  std::ifstream file;
  std::error_code error;
  if (!fs::is_regular_file(folder / location, error)) {
    file.setstate(std::ios::failbit);
    return file;
  }
  file.open(folder / location, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  return file;
}

std::uint64_t byte_count(const onnx::TensorProto& tensor) {
  const auto type = static_cast<DataType>(tensor.data_type());
  if (core::bit_width(type) == 0) fail(tensor, std::string("has type ") + data_type_name(type));
  return core::checked_bytes("tensor '" + tensor.name() + "'",
                             {nullptr, type, tensor.dims().data(), tensor.dims_size()});
}

TensorData read_tensor(const onnx::TensorProto& tensor, const fs::path& directory) {
  const auto count = static_cast<std::size_t>(byte_count(tensor));
  TensorData result{{tensor.dims().begin(), tensor.dims().end()}, nullptr};
  result.data = tensor.data_location() == onnx::TensorProto::EXTERNAL ? read_external(tensor, directory, count)
                : tensor.has_raw_data()                               ? copy_raw(tensor, count)
                                                                      : copy_fields(tensor, count);
  return result;
}

std::optional<onnx::TensorProto> constant_of(const onnx::NodeProto& node) {
  if (node.op_type() != "Constant" || !canonical_domain(node.domain()).empty() || node.attribute_size() != 1 ||
      node.output_size() != 1)
    return std::nullopt;
  const onnx::AttributeProto& attribute = node.attribute(0);
  onnx::TensorProto tensor;
  if (attribute.name() == "value") {
    tensor = attribute.t();
  } else if (attribute.name() == "value_float" || attribute.name() == "value_floats") {
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    *tensor.mutable_float_data() = attribute.floats();
    if (attribute.name() == "value_float") tensor.add_float_data(attribute.f());
    if (attribute.name() == "value_floats") tensor.add_dims(attribute.floats_size());
  } else if (attribute.name() == "value_int" || attribute.name() == "value_ints") {
    tensor.set_data_type(onnx::TensorProto::INT64);
    *tensor.mutable_int64_data() = attribute.ints();
    if (attribute.name() == "value_int") tensor.add_int64_data(attribute.i());
    if (attribute.name() == "value_ints") tensor.add_dims(attribute.ints_size());
  } else {
    return std::nullopt;
  }
  tensor.set_name(node.output(0));
  return tensor;
}

std::vector<std::pair<int, onnx::TensorProto>> load_small_tensors(onnx::GraphProto& graph, const fs::path& directory) {
  constexpr std::uint64_t kSmall = 4096;
  std::vector<std::pair<int, onnx::TensorProto>> before;
  for (int i = 0; i < graph.initializer_size(); ++i) {
    onnx::TensorProto& tensor = *graph.mutable_initializer(i);
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    std::string data;
    try {
      const std::uint64_t size = byte_count(tensor);
      if (size > kSmall) continue;
      const auto bytes = read_external(tensor, directory, static_cast<std::size_t>(size));
      data.assign(reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size));
    } catch (const Error&) {  // whoever needs the tensor will say so
      continue;
    }
    before.emplace_back(i, tensor);
    tensor.clear_data_location();
    tensor.clear_external_data();
    tensor.set_raw_data(std::move(data));
  }
  return before;
}

}  // namespace octet::onnx_side
