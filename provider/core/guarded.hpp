// Memory that is exhausted is an Error as any other.
#pragma once

#include <new>

#include <octet/octet.hpp>

namespace octet::core {

/// function(), with std::bad_alloc as an Error.
template <class Function>
auto guarded(const Function& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "out of memory");
  }
}

}  // namespace octet::core
