// How errors leave the library through the C interface: every function of octet.h runs inside one of the two guards.
#pragma once

#include <octet/octet.h>

#include <string>

#include "provider/c_api/arguments.hpp"

struct octet_status {
  octet::ErrorCode code = octet::ErrorCode::ok;
  std::string text;
};

namespace octet::c_api {

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

}  // namespace octet::c_api
