// How errors leave the library through the C interface: every function of octet.h runs inside one of the two guards.
#pragma once

#include <octet/octet.h>

#include <string>
#include <utility>

#include <octet/octet.hpp>

struct octet_status {
  octet::ErrorCode code = octet::ErrorCode::ok;
  std::string text;
};

namespace octet::c_api {

[[noreturn]] void refuse(const std::string& text);

/// *pointer; refuses null, naming function and parameter.
template <class T>
T& required(T* pointer, const char* function, const char* parameter) {
  if (pointer == nullptr) refuse(std::string(function) + ": '" + parameter + "' is null");
  return *pointer;
}

/// A status for the exception in flight.
octet_status* status_of_exception() noexcept;

/// Makes it this thread's octet_last_error(), which takes ownership.
void set_last_error(octet_status* status) noexcept;

/// For functions that return a status.
template <class Function>
octet_status* guarded(const Function& function) noexcept {
  try {
    function();
    return nullptr;
  } catch (...) {
    return status_of_exception();
  }
}

/// For functions that return a pointer: what function() returns, or null with the error kept for octet_last_error().
template <class Function>
auto guarded_pointer(const Function& function) noexcept {
  decltype(function()) result = nullptr;
  set_last_error(guarded([&] { result = function(); }));
  return result;
}

/// Writes a text as octet.h says under "Texts".
void write_text(const std::string& text, char* buffer, std::uint64_t* size, const char* function);

}  // namespace octet::c_api
