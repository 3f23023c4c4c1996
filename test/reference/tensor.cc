#include "test/reference/tensor.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace octet::reference {
namespace {

struct Range {
  std::int64_t lowest;
  std::int64_t highest;
};

Range range_of(DataType type) {
  switch (type) {
    case DataType::uint4:
      return {0, 15};
    case DataType::int4:
      return {-8, 7};
    case DataType::uint8:
      return {0, 255};
    case DataType::int8:
      return {-128, 127};
    case DataType::uint16:
      return {0, 65535};
    case DataType::int16:
      return {-32768, 32767};
    case DataType::int32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default:
      fail("element type " + std::to_string(static_cast<int>(type)) + " is not an integer type of the reference");
  }
}

template <class T>
T read(const TensorView& tensor, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(tensor.data) + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void write(const TensorView& tensor, std::int64_t index, T value) {
  std::memcpy(static_cast<char*>(tensor.data) + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

std::int64_t nibble(const TensorView& tensor, std::int64_t index) {
  return read<std::uint8_t>(tensor, index / 2) >> (index % 2 * 4) & 15;
}

std::int64_t integer_at(const TensorView& tensor, std::int64_t index) {
  switch (tensor.dtype) {
    case DataType::uint4:
      return nibble(tensor, index);
    case DataType::int4:
      return (nibble(tensor, index) ^ 8) - 8;
    case DataType::uint8:
      return read<std::uint8_t>(tensor, index);
    case DataType::int8:
      return read<std::int8_t>(tensor, index);
    case DataType::uint16:
      return read<std::uint16_t>(tensor, index);
    case DataType::int16:
      return read<std::int16_t>(tensor, index);
    default:
      return read<std::int32_t>(tensor, index);
  }
}

float float_at(const TensorView& tensor, std::int64_t index) {
  switch (tensor.dtype) {
    case DataType::float16:
      return static_cast<float>(read<Eigen::half>(tensor, index));
    case DataType::bfloat16:
      return static_cast<float>(read<Eigen::bfloat16>(tensor, index));
    case DataType::int32:
      return static_cast<float>(read<std::int32_t>(tensor, index));
    default:
      return read<float>(tensor, index);
  }
}

bool is_float_source(DataType type) {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16 ||
         type == DataType::int32;
}

}  // namespace

void fail(const std::string& text) { throw Error(ErrorCode::invalid_argument, "reference: " + text); }

Dims dims_of(const TensorView& tensor) { return Dims(tensor.dims, tensor.dims + tensor.rank); }

std::int64_t count(const Dims& dims) {
  std::int64_t result = 1;
  for (const std::int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(result, dim, &result)) fail("the extents are negative or too large");
  return result;
}

std::int64_t count(const TensorView& tensor) { return count(dims_of(tensor)); }

std::vector<std::int64_t> integers(const TensorView& tensor) {
  range_of(tensor.dtype);
  std::vector<std::int64_t> result(static_cast<std::size_t>(count(tensor)));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = integer_at(tensor, static_cast<std::int64_t>(i));
  return result;
}

std::vector<float> floats(const TensorView& tensor) {
  if (!is_float_source(tensor.dtype))
    fail("element type " + std::to_string(static_cast<int>(tensor.dtype)) + " is not a float type of the reference");
  std::vector<float> result(static_cast<std::size_t>(count(tensor)));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = float_at(tensor, static_cast<std::int64_t>(i));
  return result;
}

float scalar_float(const TensorView& tensor, const std::string& what) {
  if (count(tensor) != 1) fail(what + " is not a scalar");
  return floats(tensor)[0];
}

std::int64_t scalar_integer(const TensorView& tensor, const std::string& what) {
  if (count(tensor) != 1) fail(what + " is not a scalar");
  return integers(tensor)[0];
}

void store_integer(const TensorView& tensor, std::int64_t index, std::int64_t value) {
  switch (tensor.dtype) {
    case DataType::uint4:
    case DataType::int4: {
      const int shift = static_cast<int>(index % 2 * 4);
      const std::int64_t other = index % 2 == 0 ? 0 : nibble(tensor, index - 1);  // low halves are stored first
      write(tensor, index / 2, static_cast<std::uint8_t>(other | (value & 15) << shift));
      break;
    }
    case DataType::uint8:
      write(tensor, index, static_cast<std::uint8_t>(value));
      break;
    case DataType::int8:
      write(tensor, index, static_cast<std::int8_t>(value));
      break;
    case DataType::uint16:
      write(tensor, index, static_cast<std::uint16_t>(value));
      break;
    case DataType::int16:
      write(tensor, index, static_cast<std::int16_t>(value));
      break;
    case DataType::int32:
    case DataType::uint32:
      write(tensor, index, static_cast<std::uint32_t>(value));
      break;
    default:
      range_of(tensor.dtype);
  }
}

void store_float(const TensorView& tensor, std::int64_t index, float value) {
  switch (tensor.dtype) {
    case DataType::float32:
      write(tensor, index, value);
      break;
    case DataType::float16:
      write(tensor, index, Eigen::half(value));
      break;
    case DataType::bfloat16:
      write(tensor, index, Eigen::bfloat16(value));
      break;
    default:
      fail("element type " + std::to_string(static_cast<int>(tensor.dtype)) + " is not a float type");
  }
}

float rounded_to(DataType type, float value) {
  switch (type) {
    case DataType::float32:
      return value;
    case DataType::float16:
      return static_cast<float>(Eigen::half(value));
    case DataType::bfloat16:
      return static_cast<float>(Eigen::bfloat16(value));
    default:
      fail("element type " + std::to_string(static_cast<int>(type)) + " is not a float type");
  }
}

std::int64_t quantized(DataType type, float value, std::int64_t zero_point) {
  const Range range = range_of(type);
  if (std::isnan(value)) return range.lowest;
  const double rounded = std::nearbyint(static_cast<double>(value)) + static_cast<double>(zero_point);
  return static_cast<std::int64_t>(
      std::clamp(rounded, static_cast<double>(range.lowest), static_cast<double>(range.highest)));
}

Spread::Spread(const Dims& dims, const Dims& full, const std::string& what) : strides_(full.size(), 0) {
  if (dims.size() > full.size()) fail(what + " has too many dimensions");
  std::int64_t stride = 1;
  for (std::size_t back = 1; back <= dims.size(); ++back) {
    const std::int64_t dim = dims[dims.size() - back];
    if (dim != 1 && dim != full[full.size() - back]) fail(what + " has an extent that does not fit");
    strides_[full.size() - back] = dim == 1 ? 0 : stride;
    stride *= dim;
  }
}

std::int64_t Spread::at(const Dims& index) const {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < index.size(); ++d) position += index[d] * strides_[d];
  return position;
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()), 1);
  for (std::size_t back = 1; back <= result.size(); ++back) {
    const std::int64_t from_a = back <= a.size() ? a[a.size() - back] : 1;
    const std::int64_t from_b = back <= b.size() ? b[b.size() - back] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) fail("the batch extents do not broadcast");
    result[result.size() - back] = from_a == 1 ? from_b : from_a;
  }
  return result;
}

void advance(Dims& index, const Dims& dims) {
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (++index[d] < dims[d]) return;
    index[d] = 0;
  }
}

std::int64_t integer_attribute(const Node& node, const std::string& name, std::int64_t missing) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return missing;
  if (const auto* value = std::get_if<std::int64_t>(&found->second)) return *value;
  fail("attribute '" + name + "' is not an integer");
}

float float_attribute(const Node& node, const std::string& name, float missing) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return missing;
  if (const auto* value = std::get_if<float>(&found->second)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&found->second)) return static_cast<float>(*value);
  fail("attribute '" + name + "' is not a number");
}

}  // namespace octet::reference
