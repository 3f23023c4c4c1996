#include "test/support/tensor.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace octet::test {
namespace {

using nlohmann::json;

struct TypeInfo {
  const char* name;
  DataType type;
  int bits;
};
constexpr TypeInfo kTypes[] = {
    {"float", DataType::float32, 32},
    {"float16", DataType::float16, 16},
    {"bfloat16", DataType::bfloat16, 16},
    {"uint8", DataType::uint8, 8},
    {"int8", DataType::int8, 8},
    {"uint16", DataType::uint16, 16},
    {"int16", DataType::int16, 16},
    {"int32", DataType::int32, 32},
    {"uint32", DataType::uint32, 32},
    {"int64", DataType::int64, 64},
    {"uint4", DataType::uint4, 4},
    {"int4", DataType::int4, 4},
    {"double", DataType::float64, 64},
    {"bool", DataType::boolean, 8},
    {"float8e4m3fn", DataType::float8e4m3fn, 8},
    {"float8e5m2", DataType::float8e5m2, 8},
};

bool is_float(DataType type) {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16;
}

template <class T>
void put(Tensor& tensor, std::int64_t index, T value) {
  std::memcpy(tensor.data() + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}
template <class T>
T get(const Tensor& tensor, std::int64_t index) {
  T value;
  std::memcpy(&value, tensor.data() + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

void put_integer(Tensor& tensor, std::int64_t index, std::int64_t value) {
  switch (bits_of(tensor.dtype())) {
    case 4: {
      const int shift = static_cast<int>(index % 2 * 4);
      unsigned char& byte = tensor.data()[index / 2];
      byte = static_cast<unsigned char>((byte & ~(15 << shift)) | static_cast<int>(value & 15) << shift);
      break;
    }
    case 8:
      put(tensor, index, static_cast<std::uint8_t>(value));
      break;
    case 16:
      put(tensor, index, static_cast<std::uint16_t>(value));
      break;
    case 32:
      put(tensor, index, static_cast<std::uint32_t>(value));
      break;
    default:
      put(tensor, index, value);
  }
}

void put_float(Tensor& tensor, std::int64_t index, float value) {
  switch (tensor.dtype()) {
    case DataType::float16:
      put(tensor, index, Eigen::half(value));
      break;
    case DataType::bfloat16:
      put(tensor, index, Eigen::bfloat16(value));
      break;
    default:
      put(tensor, index, value);
  }
}

float float_from(const json& value) {
  if (value.is_number()) return value.get<float>();
  const auto text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<float>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<float>::infinity();
  if (text == "-inf") return -std::numeric_limits<float>::infinity();
  if (text == "-0") return -0.0f;
  return std::strtof(text.c_str(), nullptr);
}

void put_json(Tensor& tensor, std::int64_t index, const json& value) {
  if (is_float(tensor.dtype()))
    put_float(tensor, index, float_from(value));
  else
    put_integer(tensor, index, value.get<std::int64_t>());
}

/// In [0, 1), a multiple of 2^-24.
float unit(std::uint64_t word) { return static_cast<float>(word >> 40) * 0x1p-24f; }

std::int64_t integer_between(std::uint64_t word, const json& limits) {
  const auto low = limits[0].get<std::int64_t>(), high = limits[1].get<std::int64_t>();
  return low + static_cast<std::int64_t>((word >> 11) % static_cast<std::uint64_t>(high - low + 1));
}

void fill_element(Tensor& tensor, std::int64_t i, const json& recipe, std::uint64_t word) {
  if (recipe == "any") {  // any bits at all
    put_integer(tensor, i, static_cast<std::int64_t>(word));
  } else if (recipe == "scale") {  // positive, between 2^-10 and 2^-2
    put_float(tensor, i, std::ldexp(1.0f + unit(word), -3 - static_cast<int>(word & 7)));
  } else if (recipe.contains("uniform")) {
    const float low = float_from(recipe["uniform"][0]), high = float_from(recipe["uniform"][1]);
    put_float(tensor, i, low + (high - low) * unit(word));
  } else if (recipe.contains("integers")) {
    const auto value = integer_between(word, recipe["integers"]);
    put_json(tensor, i, value);
  } else if (recipe.contains("ties")) {  // half way between two multiples of a step
    const auto value = static_cast<float>(integer_between(word, recipe["between"])) + 0.5f;
    put_float(tensor, i, value * float_from(recipe["ties"]));
  } else if (recipe.contains("choose")) {
    const json& values = recipe["choose"];
    put_json(tensor, i, values[(word >> 32) % values.size()]);
  } else {
    throw std::invalid_argument("no such fill: " + recipe.dump());
  }
}

std::string element_text(const Tensor& tensor, std::int64_t index) {
  std::ostringstream text;
  text.precision(9);
  switch (tensor.dtype()) {
    case DataType::float32:
      text << get<float>(tensor, index) << std::hexfloat << " " << get<float>(tensor, index);
      break;
    case DataType::float16:
      text << static_cast<float>(get<Eigen::half>(tensor, index));
      break;
    case DataType::bfloat16:
      text << static_cast<float>(get<Eigen::bfloat16>(tensor, index));
      break;
    case DataType::uint8:
      text << int{get<std::uint8_t>(tensor, index)};
      break;
    case DataType::int8:
      text << int{get<std::int8_t>(tensor, index)};
      break;
    case DataType::uint16:
      text << get<std::uint16_t>(tensor, index);
      break;
    case DataType::int16:
      text << get<std::int16_t>(tensor, index);
      break;
    case DataType::int32:
      text << get<std::int32_t>(tensor, index);
      break;
    case DataType::uint4:
    case DataType::int4:
      text << (tensor.data()[index / 2] >> (index % 2 * 4) & 15);
      break;
    default:
      text << "?";
  }
  return text.str();
}

bool both_nan(const Tensor& a, const Tensor& b, std::int64_t index) {
  switch (a.dtype()) {
    case DataType::float32:
      return std::isnan(get<float>(a, index)) && std::isnan(get<float>(b, index));
    case DataType::float16:
      return std::isnan(static_cast<float>(get<Eigen::half>(a, index))) &&
             std::isnan(static_cast<float>(get<Eigen::half>(b, index)));
    case DataType::bfloat16:
      return std::isnan(static_cast<float>(get<Eigen::bfloat16>(a, index))) &&
             std::isnan(static_cast<float>(get<Eigen::bfloat16>(b, index)));
    default:
      return false;
  }
}

bool same_element(const Tensor& a, const Tensor& b, std::int64_t index) {
  const int bits = bits_of(a.dtype());
  if (bits == 4) return ((a.data()[index / 2] ^ b.data()[index / 2]) >> (index % 2 * 4) & 15) == 0;
  const auto size = static_cast<std::size_t>(bits / 8);
  const auto offset = static_cast<std::size_t>(index) * size;
  return std::memcmp(a.data() + offset, b.data() + offset, size) == 0 || both_nan(a, b, index);
}

}  // namespace

DataType data_type(const std::string& name) {
  for (const TypeInfo& type : kTypes)
    if (name == type.name) return type.type;
  throw std::invalid_argument("no such element type: " + name);
}

int bits_of(DataType type) {
  for (const TypeInfo& info : kTypes)
    if (info.type == type) return info.bits;
  throw std::invalid_argument("no such element type: " + std::to_string(static_cast<int>(type)));
}

std::int64_t elements_of(const Dims& dims) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims) elements *= dim;
  return elements;
}

Tensor::Tensor(DataType dtype, Dims dims) : dtype_(dtype), dims_(std::move(dims)) {
  bytes_ = (static_cast<std::size_t>(elements()) * static_cast<std::size_t>(bits_of(dtype_)) + 7) / 8;
  storage_.assign(bytes_ + 2 * kGuard, kGuardByte);
  std::memset(data(), 0, bytes_);
}

TensorView Tensor::view() const { return present() ? TensorView(data(), dtype_, dims_) : TensorView(); }

bool Tensor::guards_intact() const {
  const auto intact = [](unsigned char byte) { return byte == kGuardByte; };
  return storage_.empty() || (std::all_of(storage_.begin(), storage_.begin() + kGuard, intact) &&
                              std::all_of(storage_.end() - kGuard, storage_.end(), intact));
}

std::vector<TensorView> views(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.view());
  return result;
}

void fill(Tensor& tensor, const json& recipe, std::uint64_t seed) {
  const std::int64_t elements = tensor.elements();
  json rest = recipe;
  std::int64_t first = 0;
  if (recipe.is_null()) rest = is_float(tensor.dtype()) ? json{{"uniform", {-8, 8}}} : json("any");
  if (recipe == "zeros") return;
  if (recipe.contains("values")) {
    const json& values = recipe["values"];
    const bool cyclic = !recipe.contains("rest");
    const auto size = static_cast<std::int64_t>(values.size());
    for (; first < elements && (cyclic || first < size); ++first)
      put_json(tensor, first, values[static_cast<std::size_t>(first % size)]);
    if (!cyclic) rest = recipe["rest"];
  }
  for (std::int64_t i = first; i < elements; ++i)
    fill_element(tensor, i, rest, random_word(seed, static_cast<std::uint64_t>(i)));
}

std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

std::uint64_t random_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t word = seed + (index + 1) * 0x9e3779b97f4a7c15;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

std::string difference(const Tensor& found, const Tensor& expected) {
  std::int64_t differing = 0, first = -1;
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    if (!same_element(found, expected, i) && differing++ == 0) first = i;
  if (differing == 0) return "";
  std::ostringstream text;
  text << differing << " of " << expected.elements() << " elements differ, first at [";
  std::int64_t below = expected.elements(), rest = first;
  for (std::size_t d = 0; d < expected.dims().size(); ++d) {
    below /= expected.dims()[d];
    text << (d == 0 ? "" : ",") << rest / below;
    rest %= below;
  }
  text << "]: found " << element_text(found, first) << ", expected " << element_text(expected, first);
  return text.str();
}

}  // namespace octet::test
