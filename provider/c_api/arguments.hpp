// Arguments of flat C functions, in both libraries, and texts in the caller's memory. What is wrong is an Error, which
// the function's guard makes a status of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <octet/octet.hpp>

namespace octet::c_api {

/// A fault of the caller.
[[noreturn]] inline void refuse(const std::string& text) { throw Error(ErrorCode::invalid_argument, text); }

/// Refuses null, naming function and parameter.
inline void require(const void* pointer, const char* function, const char* parameter) {
  if (pointer == nullptr) refuse(std::string(function) + ": '" + parameter + "' is null");
}

/// *pointer; refuses null.
template <class T>
T& required(T* pointer, const char* function, const char* parameter) {
  require(pointer, function, parameter);
  return *pointer;
}

/// "" for null.
inline std::string text_or_empty(const char* text) { return text ? text : ""; }

template <class T>
std::vector<T> array(const T* values, std::uint64_t count, const char* function, const char* parameter) {
  if (count == 0) return {};
  if (count > PTRDIFF_MAX / sizeof(T))
    refuse(std::string(function) + ": '" + parameter + "' has a count of " + std::to_string(count));
  const T* first = &required(values, function, parameter);
  return std::vector<T>(first, first + count);
}

inline std::vector<std::string> strings(const char* const* values, std::uint64_t count, const char* function,
                                        const char* parameter) {
  std::vector<std::string> result;
  for (const char* text : array(values, count, function, parameter))
    result.emplace_back(&required(text, function, parameter));
  return result;
}

/// Sets an attribute of the node that a handle describes.
template <class Handle>
void set_attribute(Handle* node, const char* name, const char* function, AttributeValue value) {
  Handle& target = required(node, function, "node");
  target.node.attributes[&required(name, function, "attribute")] = std::move(value);
}

/// Copies `from` to the caller's array, which has room for `capacity` members.
template <class T>
void write_array(const std::vector<T>& from, T* to, std::uint64_t capacity, const char* function,
                 const char* parameter) {
  if (capacity < from.size())
    refuse(std::string(function) + ": '" + parameter + "' has room for " + std::to_string(capacity) +
           ", expected at least " + std::to_string(from.size()));
  if (from.empty()) return;
  require(to, function, parameter);
  std::copy(from.begin(), from.end(), to);
}

/// The capacity of the caller's buffer, which `needed` must fit in; *size becomes `needed`. With a null buffer every
/// size fits.
inline void check_capacity(const void* buffer, std::uint64_t* size, std::uint64_t needed, const char* function) {
  const std::uint64_t capacity = required(size, function, "size");
  *size = needed;
  if (buffer != nullptr && capacity < needed)
    refuse(std::string(function) + ": the buffer has " + std::to_string(capacity) + " bytes, expected at least " +
           std::to_string(needed));
}

/// Writes a text and its zero byte so.
inline void write_text(const std::string& text, char* buffer, std::uint64_t* size, const char* function) {
  check_capacity(buffer, size, text.size() + 1, function);
  if (buffer != nullptr) std::memcpy(buffer, text.c_str(), text.size() + 1);
}

}  // namespace octet::c_api
