// Loops over elements, a register at a time.
#pragma once

#include "primitives/vector/isa/lanes.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

/// A register of elements, or what is left of one.
struct Whole {
  template <class T>
  OCTET_INLINE auto get(const T* p) const {
    return load(p);
  }
  OCTET_INLINE void put(float* p, Floats a) const { store(p, a); }
};
struct Part {
  std::size_t count;
  template <class T>
  OCTET_INLINE auto get(const T* p) const {
    return load(p, count);
  }
  OCTET_INLINE void put(float* p, Floats a) const { store(p, a, count); }
};

/// function(i, lanes) for all of [0, n).
template <class Function>
OCTET_INLINE void for_lanes(std::int64_t n, const Function& function) {
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) function(i, Whole());
  if (i < n) function(i, Part{static_cast<std::size_t>(n - i)});
}

}  // namespace
}  // namespace octet::vector::OCTET_ISA
