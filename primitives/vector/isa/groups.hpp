// Groups of four activations, as the products multiply them.
#pragma once

#include <cstdint>

#include "primitives/vector/isa/isa.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

constexpr std::int64_t kGroup = 4;                           // rows of k in a group
constexpr std::int64_t kGroupBytes = kColumnBlock * kGroup;  // bytes of a group of one column block

inline std::uint32_t load_four(const std::uint8_t* a) {
  std::uint32_t four;
  __builtin_memcpy(&four, a, sizeof four);
  return four;
}

// The last 1 to 3 activations of a row: nothing past the row's end is read, and the packed weights are zero there.
inline std::uint32_t load_tail(const std::uint8_t* a, std::int64_t count) {
  std::uint32_t four = 0;
  for (std::int64_t i = 0; i < count; ++i) four |= static_cast<std::uint32_t>(a[i]) << (8 * i);
  return four;
}

}  // namespace
}  // namespace octet::vector::OCTET_ISA
