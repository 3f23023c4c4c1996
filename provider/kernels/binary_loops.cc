#include "provider/kernels/binary_loops.hpp"

#include <cstring>

namespace octet::core {
namespace {

/// Steps of an operand in each of the output's dimensions.
std::vector<std::int64_t> strides_in(const std::vector<std::int64_t>& dims, std::size_t rank) {
  std::vector<std::int64_t> strides(rank, 0);
  std::int64_t stride = 1;
  for (std::size_t back = 1; back <= dims.size(); ++back) {
    const std::int64_t extent = dims[dims.size() - back];
    if (extent != 1) strides[rank - back] = stride;
    stride *= extent;
  }
  return strides;
}

}  // namespace

std::vector<BroadcastLoop> broadcast_loops(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                                           const std::vector<std::int64_t>& output) {
  const std::vector<std::int64_t> a_strides = strides_in(a, output.size());
  const std::vector<std::int64_t> b_strides = strides_in(b, output.size());
  std::vector<BroadcastLoop> loops;
  for (std::size_t d = 0; d < output.size(); ++d) {
    if (output[d] == 1) continue;
    const BroadcastLoop loop{output[d], a_strides[d], b_strides[d]};
    if (!loops.empty() && loops.back().a_stride == loop.a_stride * loop.extent &&
        loops.back().b_stride == loop.b_stride * loop.extent)
      loops.back() = {loops.back().extent * loop.extent, loop.a_stride, loop.b_stride};
    else
      loops.push_back(loop);
  }
  if (loops.empty()) loops.push_back({1, 1, 1});
  return loops;
}

BroadcastWalk::BroadcastWalk(std::vector<BroadcastLoop> loops)
    : loops_(std::move(loops)), tiled_(loops_.size() > 1 && loops_.back().extent < kLongRow) {
  if (!tiled_) return;
  level_ = loops_.size() - 1;
  inner_ = 1;
  while (level_ > 0 && inner_ * loops_[level_].extent <= kTile) inner_ *= loops_[level_--].extent;
  chunk_ = std::min(loops_[level_].extent, std::max<std::int64_t>(1, kTile / inner_));
  grain_ = chunk_ == loops_[level_].extent ? chunk_ * inner_ : inner_;
  a_place_ = place(&BroadcastLoop::a_stride);
  b_place_ = place(&BroadcastLoop::b_stride);
  a_is_same_ = same_in_all_tiles(&BroadcastLoop::a_stride);
  b_is_same_ = same_in_all_tiles(&BroadcastLoop::b_stride);
}

BroadcastWalk::Offsets BroadcastWalk::offsets(std::size_t count, std::int64_t index) const noexcept {
  Offsets result;
  for (std::size_t level = count; level-- > 0;) {
    const BroadcastLoop& loop = loops_[level];
    const std::int64_t step = index % loop.extent;
    index /= loop.extent;
    result.a += step * loop.a_stride;
    result.b += step * loop.b_stride;
  }
  return result;
}

std::int64_t BroadcastWalk::inner_elements(std::size_t level) const noexcept {
  std::int64_t elements = 1;
  for (; level < loops_.size(); ++level) elements *= loops_[level].extent;
  return elements;
}

BroadcastWalk::Place BroadcastWalk::place(std::int64_t BroadcastLoop::* stride) const noexcept {
  bool along = true;
  bool fixed = true;
  for (std::size_t level = level_; level < loops_.size(); ++level) {
    if (level == level_ && chunk_ == 1) continue;
    along = along && loops_[level].*stride == inner_elements(level + 1);
    fixed = fixed && loops_[level].*stride == 0;
  }
  return along ? Place::runs_along : fixed ? Place::one_element : Place::spread;
}

bool BroadcastWalk::same_in_all_tiles(std::int64_t BroadcastLoop::* stride) const noexcept {
  for (std::size_t level = 0; level <= level_; ++level) {
    const bool one_tile = level == level_ && chunk_ == loops_[level].extent;
    if (!one_tile && loops_[level].*stride != 0) return false;
  }
  return true;
}

void BroadcastWalk::spread(std::int64_t BroadcastLoop::* stride, std::size_t level, std::int64_t extent,
                           const std::uint8_t* x, std::uint8_t* to) const noexcept {
  const std::int64_t step = loops_[level].*stride;
  if (level + 1 == loops_.size()) {
    if (step == 0)
      std::memset(to, *x, static_cast<std::size_t>(extent));
    else
      std::memcpy(to, x, static_cast<std::size_t>(extent));
    return;
  }
  const std::int64_t inner_extent = loops_[level + 1].extent;
  const std::int64_t inner = inner_elements(level + 1);
  if (step == 0) {
    spread(stride, level + 1, inner_extent, x, to);
    for (std::int64_t done = inner; done < extent * inner; done *= 2)
      std::memcpy(to + done, to, static_cast<std::size_t>(std::min(done, extent * inner - done)));
  } else if (level + 2 == loops_.size() && loops_.back().*stride == 0) {
    for (std::int64_t i = 0; i < extent; ++i) std::memset(to + i * inner, x[i * step], kSlack);  // inner < kSlack
  } else {
    for (std::int64_t i = 0; i < extent; ++i) spread(stride, level + 1, inner_extent, x + i * step, to + i * inner);
  }
}

}  // namespace octet::core
