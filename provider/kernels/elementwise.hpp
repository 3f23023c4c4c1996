// What the binary, unary, reduce and concat families share: parameters of one element, and parts of a row of elements.
#pragma once

#include <algorithm>

#include "provider/core/parallel.hpp"
#include "provider/core/plan_cache.hpp"

namespace octet::core {

/// The loops' index of an 8-bit type.
inline std::size_t signed_index(DataType type) noexcept { return type == DataType::int8 ? 1 : 0; }

inline float scale_of(const TensorView& view) noexcept { return *view.as<const float>(); }

/// An 8-bit zero point; 0 where absent.
inline std::int32_t zero_point_of(const TensorView& view) noexcept {
  if (!view.present()) return 0;
  return view.dtype == DataType::int8 ? std::int32_t{*view.as<const std::int8_t>()} : *view.as<const std::uint8_t>();
}

/// function(begin, end) on the caller's threads for parts of [0, elements), which begin at multiples of `grain`.
template <class Function>
void for_each_part(const Call& call, std::int64_t elements, std::int64_t grain, double nanoseconds_per_element,
                   const Function& function) {
  const std::size_t worth = parts_for(call, static_cast<double>(elements) * nanoseconds_per_element);
  const std::size_t parts = std::min(worth, static_cast<std::size_t>((elements + grain - 1) / grain));
  parallel_for(call, parts, [&](std::size_t i) {
    const Range range = split(elements, grain, parts, i);
    function(range.begin, range.end);
  });
}

}  // namespace octet::core
