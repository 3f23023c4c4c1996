#include "provider/onnx/tensor_data.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "provider/core/op_def.hpp"

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

void read_external(const onnx::TensorProto& tensor, const fs::path& directory, unsigned char* data, std::size_t bytes) {
  const Place place(tensor);
  std::ifstream file = place.open(directory);
  if (!file.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(bytes)))
    fail(tensor, "cannot be read from '" + place.location.string() + "'");
}

/// The low `width` bytes of each member of a repeated field.
template <class Field>
void copy_field(const onnx::TensorProto& tensor, const Field& field, std::size_t width, unsigned char* data,
                std::size_t bytes) {
  if (static_cast<std::size_t>(field.size()) * width != bytes)
    fail(tensor, "has " + std::to_string(field.size()) + " elements, expected " + std::to_string(bytes / width));
  for (const auto value : field) {
    std::memcpy(data, &value, width);  // little-endian
    data += width;
  }
}

void copy_fields(const onnx::TensorProto& tensor, DataType type, unsigned char* data, std::size_t bytes) {
  switch (type) {
    case DataType::float32:
      return copy_field(tensor, tensor.float_data(), 4, data, bytes);
    case DataType::float64:
      return copy_field(tensor, tensor.double_data(), 8, data, bytes);
    case DataType::int64:
      return copy_field(tensor, tensor.int64_data(), 8, data, bytes);
    case DataType::uint32:
      return copy_field(tensor, tensor.uint64_data(), 4, data, bytes);
    default:
      return copy_field(tensor, tensor.int32_data(), std::max<std::size_t>(core::bit_width(type) / 8, 1), data, bytes);
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
  auto bits = static_cast<std::uint64_t>(core::bit_width(type));
  if (bits == 0) fail(tensor, std::string("has type ") + data_type_name(type));
  for (const std::int64_t dim : tensor.dims())
    if (dim < 0 || __builtin_mul_overflow(bits, static_cast<std::uint64_t>(dim), &bits) || bits > INT64_MAX - 7)
      fail(tensor, "has impossible extents");
  return (bits + 7) / 8;
}

TensorData read_tensor(const onnx::TensorProto& tensor, const fs::path& directory) {
  const auto type = static_cast<DataType>(tensor.data_type());
  const auto bytes = static_cast<std::size_t>(byte_count(tensor));
  TensorData result{{tensor.dims().begin(), tensor.dims().end()}, std::make_unique<unsigned char[]>(bytes + 1)};
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    read_external(tensor, directory, result.data.get(), bytes);
  } else if (tensor.has_raw_data()) {
    if (tensor.raw_data().size() != bytes)
      fail(tensor, "has " + std::to_string(tensor.raw_data().size()) + " bytes, expected " + std::to_string(bytes));
    std::memcpy(result.data.get(), tensor.raw_data().data(), bytes);
  } else {
    copy_fields(tensor, type, result.data.get(), bytes);
  }
  return result;
}

std::vector<std::pair<int, onnx::TensorProto>> load_small_tensors(onnx::GraphProto& graph, const fs::path& directory) {
  constexpr std::uint64_t kSmall = 4096;
  std::vector<std::pair<int, onnx::TensorProto>> before;
  for (int i = 0; i < graph.initializer_size(); ++i) {
    onnx::TensorProto& tensor = *graph.mutable_initializer(i);
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL || byte_count(tensor) > kSmall) continue;
    const Place place(tensor);
    std::string data(static_cast<std::size_t>(byte_count(tensor)), '\0');
    std::ifstream source = place.open(directory);
    if (!source.read(data.data(), static_cast<std::streamsize>(data.size()))) continue;
    before.emplace_back(i, tensor);
    tensor.clear_data_location();
    tensor.clear_external_data();
    tensor.set_raw_data(std::move(data));
  }
  return before;
}

}  // namespace octet::onnx_side
