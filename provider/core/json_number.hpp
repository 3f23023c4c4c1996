// Numbers of JSON texts, whose range is without bounds. nlohmann's get() converts what its result cannot hold.
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include <octet/octet.hpp>

namespace octet::core {

/// A whole number that T, a signed type, holds; throws Error(invalid_argument) with "<what> is 1e300, expected ...".
template <class T, class Json>
T whole_number(const Json& json, const std::string& what) {
  const bool fits =
      json.is_number_unsigned()
          ? json.template get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())
          : json.is_number_integer() && json.template get<std::int64_t>() >= std::numeric_limits<T>::min() &&
                json.template get<std::int64_t>() <= std::numeric_limits<T>::max();
  if (fits) return static_cast<T>(json.template get<std::int64_t>());
  throw Error(ErrorCode::invalid_argument,
              what + " is " + json.dump() + ", expected a whole number of " + std::to_string(8 * sizeof(T)) + " bits");
}

/// A number within the range of float32; throws likewise.
template <class Json>
float real_number(const Json& json, const std::string& what) {
  if (json.is_number()) {
    const auto value = json.template get<double>();
    if (std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max())) return static_cast<float>(value);
  }
  throw Error(ErrorCode::invalid_argument,
              what + " is " + json.dump() + ", expected a number within the range of float");
}

}  // namespace octet::core
