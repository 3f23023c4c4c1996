#include "provider/kernels/reduce_walk.hpp"

#include <algorithm>

namespace octet::core {

ReduceWalk::ReduceWalk(const std::vector<std::int64_t>& dims, const std::vector<bool>& reduced) {
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    if (!loops_.empty() && loops_.back().is_kept == !reduced[d])
      loops_.back().extent *= dims[d];
    else
      loops_.push_back({dims[d], !reduced[d], 0, 0});
  }
  // The two innermost loops are one of each kind.
  if (loops_.empty()) loops_.push_back({1, false, 0, 0});
  if (loops_.size() == 1) loops_.insert(loops_.begin(), {1, !loops_[0].is_kept, 0, 0});
  std::int64_t x_stride = 1;
  std::int64_t sum_stride = 1;
  kept_ = reduced_ = loops_.size();
  for (std::size_t level = loops_.size(); level-- > 0;) {
    Loop& loop = loops_[level];
    loop.x_stride = x_stride;
    x_stride *= loop.extent;
    if (loop.is_kept) {
      loop.sum_stride = sum_stride;
      sum_stride *= loop.extent;
      kept_ = level;
    } else if (reduced_ == loops_.size() || loop.extent > loops_[reduced_].extent) {
      reduced_ = level;
    }
  }
  sums_rows_ = !loops_.back().is_kept;
}

Range ReduceWalk::range_of(std::size_t level, Range kept, Range reduced) const noexcept {
  return level == kept_ ? kept : level == reduced_ ? reduced : Range{0, loops_[level].extent};
}

template <class Function>
void ReduceWalk::walk(std::size_t level, Range kept, Range reduced, const std::uint8_t* x, std::int64_t offset,
                      bool first, const Function& function) const {
  const Loop& loop = loops_[level];
  const Range range = range_of(level, kept, reduced);
  const std::int64_t base = level == kept_ ? range.begin : 0;
  if (level + 2 == loops_.size()) {
    const Loop& inner = loops_.back();
    const Range columns = range_of(level + 1, kept, reduced);
    function(x + range.begin * loop.x_stride + columns.begin * inner.x_stride, range.end - range.begin, loop.x_stride,
             columns.end - columns.begin, offset, first);
    return;
  }
  for (std::int64_t i = range.begin; i < range.end; ++i)
    walk(level + 1, kept, reduced, x + i * loop.x_stride, offset + (i - base) * loop.sum_stride,
         first && (loop.is_kept || i == range.begin), function);
}

void ReduceWalk::sum(const vector::ReduceKernels& loops, std::size_t is_signed, Range kept, Range reduced,
                     const std::uint8_t* x, std::int32_t* sums) const {
  walk(0, kept, reduced, x, 0, true,
       [&](const std::uint8_t* block, std::int64_t rows, std::int64_t stride, std::int64_t n, std::int64_t offset,
           bool first) {
         const auto add = sums_rows_ ? loops.sum_rows[is_signed] : loops.sum_columns[is_signed];
         add(block, rows, stride, n, !first, sums + offset);
       });
}

void ReduceWalk::sum(const vector::ReduceKernels& loops, std::size_t is_signed, Range kept, Range reduced,
                     const std::uint8_t* x, std::int64_t* sums, std::int32_t* room) const {
  const auto add = [&](std::int64_t count, std::int64_t offset, bool first) {
    for (std::int64_t i = 0; i < count; ++i) sums[offset + i] = (first ? 0 : sums[offset + i]) + room[i];
  };
  walk(0, kept, reduced, x, 0, true,
       [&](const std::uint8_t* block, std::int64_t rows, std::int64_t stride, std::int64_t n, std::int64_t offset,
           bool first) {
         const std::int64_t length = sums_rows_ ? n : rows;
         for (std::int64_t done = 0; done < length; done += vector::kExactCount) {
           const std::int64_t count = std::min(vector::kExactCount, length - done);
           if (sums_rows_)
             loops.sum_rows[is_signed](block + done, rows, stride, count, false, room);
           else
             loops.sum_columns[is_signed](block + done * stride, count, stride, n, false, room);
           add(sums_rows_ ? rows : n, offset, first && done == 0);
         }
       });
}

}  // namespace octet::core
