// What the functions of graph.h share: arguments, errors, results in the caller's memory.
#pragma once

#include <octet/graph.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <octet/octet.hpp>

namespace octet::graph_c {

/// A fault of the caller.
[[noreturn]] inline void refuse(const std::string& text) { throw Error(ErrorCode::invalid_argument, text); }
/// A fault of the model: like what the ONNX library throws, which is of many types, none of Octet's own.
[[noreturn]] inline void refuse_model(const std::string& text) { throw std::runtime_error(text); }

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
  if (count > PTRDIFF_MAX / sizeof(T)) refuse(std::string(function) + ": '" + parameter + "' has too many members");
  const T* first = &required(values, function, parameter);
  return std::vector<T>(first, first + count);
}

std::vector<std::string> strings(const char* const* values, std::uint64_t count, const char* function,
                                 const char* parameter);

/// Makes a text this thread's octet_graph_last_error(), and gives the code.
std::int32_t set_last_error(std::int32_t code, const char* text) noexcept;
void clear_last_error() noexcept;
const char* last_error_text() noexcept;

/// For functions that return a number.
template <class Function>
std::int32_t guarded(const Function& function) noexcept {
  clear_last_error();
  try {
    function();
    return OCTET_GRAPH_OK;
  } catch (const Error& error) {
    return set_last_error(static_cast<std::int32_t>(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return set_last_error(OCTET_GRAPH_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return set_last_error(OCTET_GRAPH_INVALID_MODEL, error.what());
  } catch (...) {
    return set_last_error(OCTET_GRAPH_INTERNAL, "an exception of unknown type");
  }
}

/// For functions that return a handle.
template <class Function>
auto guarded_pointer(const Function& function) noexcept {
  decltype(function()) result = nullptr;
  guarded([&] { result = function(); });
  return result;
}

inline std::size_t checked_rank(std::int32_t rank, const char* function) {
  if (rank < 0) refuse(std::string(function) + ": 'rank' is " + std::to_string(rank));
  return static_cast<std::size_t>(rank);
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
void check_capacity(const void* buffer, std::uint64_t* size, std::uint64_t needed, const char* function);
/// Writes a text and its zero byte so.
void write_text(const std::string& text, char* buffer, std::uint64_t* size, const char* function);

}  // namespace octet::graph_c
