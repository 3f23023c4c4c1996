// ONNX's Cast between numbers and bool.
#include <cstring>
#include <limits>
#include <type_traits>

#include "provider/onnx/model_state.hpp"

namespace octet::onnx_side {
namespace {

/// To integers: truncated, what no int64 can hold to its least number, then modulo the type's range.
template <class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From kBound = 9223372036854775808.0F;  // 2^63
    return static_cast<To>(value >= -kBound && value < kBound ? static_cast<std::int64_t>(value)
                                                              : std::numeric_limits<std::int64_t>::min());
  } else {
    return static_cast<To>(value);
  }
}

/// Calls function(T{}) for the C++ type of an element type; false where Cast does not know it.
template <class Function>
bool with_type(DataType type, const Function& function) {
  switch (type) {
    case DataType::float32:
      return function(float{});
    case DataType::float64:
      return function(double{});
    case DataType::int8:
      return function(std::int8_t{});
    case DataType::uint8:
      return function(std::uint8_t{});
    case DataType::int16:
      return function(std::int16_t{});
    case DataType::uint16:
      return function(std::uint16_t{});
    case DataType::int32:
      return function(std::int32_t{});
    case DataType::uint32:
      return function(std::uint32_t{});
    case DataType::int64:
      return function(std::int64_t{});
    case DataType::uint64:
      return function(std::uint64_t{});
    case DataType::boolean:
      return function(bool{});
    default:
      return false;
  }
}

}  // namespace

RunValue cast(const RunValue& data, DataType to, const std::string& label, Memory& memory) {
  if (to == data.dtype) return data;
  RunValue result;
  // Bytes of a bool may be any number.
  const DataType from = data.dtype == DataType::boolean ? DataType::uint8 : data.dtype;
  const bool known = with_type(from, [&](auto from_type) {
    return with_type(to, [&](auto to_type) {
      using From = decltype(from_type);
      using To = decltype(to_type);
      result = made_value(memory, to, data.dims);
      const std::size_t count = result.count();
      for (std::size_t i = 0; i < count; ++i) {
        From element{};
        std::memcpy(&element, data.data + i * sizeof element, sizeof element);
        const To made = converted<To>(element);
        std::memcpy(writable(result) + i * sizeof made, &made, sizeof made);
      }
      return true;
    });
  });
  if (!known)
    throw Error(ErrorCode::not_implemented, label + ": a cast from " + data_type_name(data.dtype) + " to " +
                                                data_type_name(to) + " is not supported");
  return result;
}

}  // namespace octet::onnx_side
