#include "provider/kernels/dynamic_quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "primitives/vector/kernels.hpp"
#include "provider/core/parallel.hpp"

namespace octet::core {
namespace {

constexpr double kNanosecondsPerElement = 0.15;
constexpr std::int64_t kGrain = 1024;
constexpr std::size_t kMaxParts = 64;  // bounds the array of partial ranges

}  // namespace

DynamicParams dynamic_quantize_params(float min, float max) {
  const float scale = max == min ? 1.0F : (max - min) / 255.0F;
  const float zero_point = std::nearbyint(0.0F - min / scale);
  return {scale, zero_point < 255.0F ? static_cast<std::uint8_t>(zero_point) : std::uint8_t{255}};  // never negative
}

DynamicParams row_quantize_params(const float* x, std::int64_t n) {
  if (n == 0) return {1.0F, 0};
  float lowest = 0, highest = 0;
  vector::kernels().quantize->min_max(x, static_cast<std::size_t>(n), &lowest, &highest);
  const float range = highest - lowest;
  if (!std::isfinite(range)) return {std::nanf(""), 0};
  // One value throughout stands at one end of the range, with 0 at the other. (memcmp: x may have any alignment.)
  if ((lowest == 0) != (highest == 0)) {
    float first = 0;
    std::memcpy(&first, x, sizeof first);
    const bool at_end = first == lowest || first == highest;
    if (at_end && first != 0 && std::memcmp(x, x + 1, static_cast<std::size_t>(n - 1) * sizeof *x) == 0)
      return {std::fabs(first), static_cast<std::uint8_t>(first < 0 ? 1 : 0)};
  }
  if (range / 255.0F < std::numeric_limits<float>::min()) return {1.0F, 0};
  return dynamic_quantize_params(lowest, highest);
}

DynamicParams quantize_row(const float* x, std::int64_t n, std::uint8_t* y) {
  const DynamicParams params = row_quantize_params(x, n);
  vector::kernels().quantize->quantize_u8(x, static_cast<std::size_t>(n), params.scale, params.zero_point, y);
  return params;
}

DynamicParams dynamic_quantize(const vector::QuantizeKernels& loops, const Call& call, const float* x, std::int64_t n,
                               std::uint8_t* y) {
  const std::size_t parts = std::min(parts_for(call, static_cast<double>(n) * kNanosecondsPerElement), kMaxParts);
  Bounds ranges[kMaxParts];
  parallel_for(call, parts, [&](std::size_t i) {
    const Range range = split(n, kGrain, parts, i);
    loops.min_max(x + range.begin, static_cast<std::size_t>(range.end - range.begin), &ranges[i].min, &ranges[i].max);
  });
  Bounds whole;
  for (std::size_t i = 0; i < parts; ++i) whole.take(ranges[i]);
  const DynamicParams params = dynamic_quantize_params(whole.min, whole.max);
  parallel_for(call, parts, [&](std::size_t i) {
    const Range range = split(n, kGrain, parts, i);
    loops.quantize_u8(x + range.begin, static_cast<std::size_t>(range.end - range.begin), params.scale,
                      params.zero_point, y + range.begin);
  });
  return params;
}

DynamicParams dynamic_quantize(const Call& call, const float* x, std::int64_t n, std::uint8_t* y) {
  return dynamic_quantize(*vector::kernels().quantize, call, x, n, y);
}

}  // namespace octet::core
