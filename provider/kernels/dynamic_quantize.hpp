// Quantization to uint8 by the data's own range: DynamicQuantizeLinear, and the first half of DynamicQuantizeMatMul.
#pragma once

#include <cmath>
#include <cstdint>

#include "primitives/vector/quantize_kernels.hpp"
#include "provider/core/kernel.hpp"

namespace octet::core {

/// The range of some data and 0.
struct Bounds {
  float min = 0;
  float max = 0;

  /// NaN, which has come to both bounds, stays.
  void take(const Bounds& other) {
    if (!(min <= other.min)) min = std::isnan(min) ? min : other.min;
    if (!(max >= other.max)) max = std::isnan(max) ? max : other.max;
  }
};

struct DynamicParams {
  float scale;
  std::uint8_t zero_point;
};

/// Scale and zero point for data between min <= 0 and max >= 0; every operation rounds to float32:
///   scale = (max - min) / 255, or 1 where min == max;  zero_point = saturate(rint(0 - min / scale))
/// An infinite bound or difference makes the scale infinite, a NaN makes it NaN. Where min / scale is NaN (also where
/// min is -inf, or min is 0 and the scale underflows to 0), the zero point is 255.
DynamicParams dynamic_quantize_params(float min, float max);

/// Quantizes x[0..n) to y by its own range, in parallel on the caller's threads:
///   y = saturate(rint(x / scale) + zero_point), and 0 where x / scale is NaN
/// A NaN in x makes the scale NaN, and so every result that is computed with it. The bits do not depend on how the work
/// is cut up. x is read twice, y written once.
DynamicParams dynamic_quantize(const Call& call, const float* x, std::int64_t n, std::uint8_t* y);
DynamicParams dynamic_quantize(const vector::QuantizeKernels& loops, const Call& call, const float* x, std::int64_t n,
                               std::uint8_t* y);

/// The same for a row that is quantized by its own range whatever stands in other rows, with what makes every row come
/// out well: a row of one value v != 0 has scale |v|, so that it is exact; a scale below 2^-126 becomes 1; the scale of
/// a row with a NaN, an infinity or a range beyond float32 is NaN.
DynamicParams row_quantize_params(const float* x, std::int64_t n);
DynamicParams quantize_row(const float* x, std::int64_t n, std::uint8_t* y);

}  // namespace octet::core
