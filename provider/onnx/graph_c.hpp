// How errors leave the library through graph.h: every function of it runs inside one of the two guards.
#pragma once

#include <octet/graph.h>

#include "provider/c_api/arguments.hpp"

namespace octet::graph_c {

/// Makes the exception in flight this thread's octet_graph_last_error(), and gives its code.
std::int32_t keep_exception() noexcept;
void clear_last_error() noexcept;

/// For functions that return a number.
template <class Function>
std::int32_t guarded(const Function& function) noexcept {
  clear_last_error();
  try {
    function();
    return OCTET_GRAPH_OK;
  } catch (...) {
    return keep_exception();
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
  if (rank < 0) c_api::refuse(std::string(function) + ": 'rank' is " + std::to_string(rank));
  return static_cast<std::size_t>(rank);
}

}  // namespace octet::graph_c
