// Where the scales and zero points of a tensor apply: x is seen as outer x axis x inner, in row-major order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "primitives/vector/quantize_kernels.hpp"
#include "provider/core/kernel.hpp"
#include "provider/core/scratch.hpp"

namespace octet::core {

/// A tensor is a sequence of segments, each of which meets consecutive parameters (`each`) or a single one.
struct QuantizeLayout {
  /// Parameters of `scale` and `zero_point` hold 1 element, or one for each index of `axis`, or one for each block of
  /// `block_size` indices (0: no blocks) and each index of the other axes.
  QuantizeLayout(const TensorInfo& x, const TensorInfo& scale, const TensorInfo& zero_point, std::int64_t axis,
                 std::int64_t block_size);

  std::int64_t elements;
  bool each = false;              ///< element i of a segment meets parameter first + i
  std::int64_t parameters = 1;    ///< of a tensor that holds one everywhere
  std::int64_t row;               ///< elements of a row: the segments of one index of outer
  std::int64_t segment;           ///< elements of a segment; the last of a row may be shorter
  std::int64_t row_stride = 0;    ///< parameters from a row to the next
  std::int64_t block = 1;         ///< segments of a row that share parameters
  std::int64_t block_stride = 0;  ///< parameters from one such block to the next

  /// True where a call for each segment would take longer than to write out a parameter for each element.
  bool has_short_segments() const noexcept { return !each && segment < 32; }

  /// function(begin, end, first parameter) for the pieces of segments that make up elements [begin, end), in order.
  template <class Function>
  void for_each_segment(std::int64_t begin, std::int64_t end, const Function& function) const {
    if (begin >= end) return;
    std::int64_t in_row = begin / row;
    std::int64_t row_begin = in_row * row;
    std::int64_t step = (begin - row_begin) / segment;
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t segment_begin = row_begin + step * segment;
      const std::int64_t row_end = row_begin + row;
      const std::int64_t segment_end = std::min(segment_begin + segment, row_end);
      const std::int64_t stop = std::min(segment_end, end);
      const std::int64_t first = in_row * row_stride + step / block * block_stride;
      function(at, stop, each ? first + at - segment_begin : first);
      at = stop;
      if (++step, segment_end == row_end) {
        step = 0;
        ++in_row;
        row_begin = row_end;
      }
    }
  }
};

/// The scales and zero points of one run as the loops read them.
class QuantizeParameters {
 public:
  /// An absent zero_point is 0.
  QuantizeParameters(const QuantizeLayout& layout, const vector::QuantizeKernels& loops, const TensorView& scale,
                     const TensorView& zero_point);
  QuantizeParameters(const QuantizeParameters&) = delete;
  QuantizeParameters& operator=(const QuantizeParameters&) = delete;

  /// The scale and zero point of each of the elements [begin, end). Whole vectors are written: the arrays have room for
  /// kGatherPadding more.
  static constexpr std::int64_t kGatherPadding = 8;
  void gather(const QuantizeLayout& layout, std::int64_t begin, std::int64_t end, float* scale,
              std::int32_t* zero_point) const;

  /// Rounds the scales to a 16-bit type.
  void round_scales(const vector::QuantizeKernels& loops, vector::Half half);

  const float* scale() const noexcept { return scale_; }
  const std::int32_t* zero_point() const noexcept { return zero_point_; }

 private:
  Scratch memory_;
  std::int64_t count_;  ///< of scales, and of zero points
  float one_scale_;
  std::int32_t one_zero_point_;
  float* scale_ = &one_scale_;
  std::int32_t* zero_point_ = &one_zero_point_;
};

/// Rounds x[0..n) to a 16-bit type and back, in place.
void round_to(const vector::QuantizeKernels& loops, vector::Half half, float* x, std::int64_t n);

}  // namespace octet::core
