#include "provider/cli/model_tensor.hpp"

#include <cstring>
#include <fstream>

#include "provider/cli/node_spec.hpp"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const onnx::TensorProto& tensor, const std::string& text) {
  throw std::runtime_error("initializer '" + tensor.name() + "' " + text);
}

std::size_t count_of(const onnx::TensorProto& tensor) {
  std::size_t count = 1;
  for (const std::int64_t dim : tensor.dims())
    if (dim < 0 || __builtin_mul_overflow(count, static_cast<std::size_t>(dim), &count) || count > SIZE_MAX / 16)
      fail(tensor, "has impossible extents");
  return count;
}

std::uint64_t number(const onnx::TensorProto& tensor, const std::string& text) {
  try {
    return std::stoull(text);
  } catch (const std::exception&) {
    fail(tensor, "names '" + text + "' as a place in its file");
  }
}

void read_external(const onnx::TensorProto& tensor, const fs::path& directory, unsigned char* data, std::size_t bytes) {
  std::string location;
  std::uint64_t offset = 0;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = number(tensor, entry.value());
  }
  const fs::path relative = fs::path(location).lexically_normal();
  if (location.empty() || relative.is_absolute() || *relative.begin() == "..")
    fail(tensor, "is in the file '" + location + "', which is not beside the model");
  std::ifstream file(directory / relative, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(bytes));
  if (static_cast<std::size_t>(file.gcount()) != bytes) fail(tensor, "cannot be read from '" + location + "'");
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
      return copy_field(tensor, tensor.int32_data(), std::max<std::size_t>(bits_of(type) / 8, 1), data, bytes);
  }
}

}  // namespace

ModelTensor read_tensor(const onnx::TensorProto& tensor, const fs::path& directory) {
  const auto type = static_cast<DataType>(tensor.data_type());
  if (bits_of(type) == 0) fail(tensor, std::string("has type ") + data_type_name(type));
  const std::size_t bytes = bytes_of(type, count_of(tensor));
  ModelTensor result{{tensor.dims().begin(), tensor.dims().end()}, std::make_unique<unsigned char[]>(bytes + 1)};
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

}  // namespace octet::cli
