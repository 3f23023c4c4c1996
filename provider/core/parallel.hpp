// Work in parallel on the caller's threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>

#include <octet/octet.hpp>

namespace octet::core {

/// Upper bound of threads that work at the same time in `call`.
inline int threads_of(const Call& call) noexcept { return std::max(1, call.threads); }

/// `call` as it is; where it lends no threads and `threads`, which must outlive the result, is more than 1, one that
/// opens so many of its own, but no more than there are processors.
Call with_own_threads(const Call& call, const std::int32_t& threads) noexcept;

/// function(i) for every i in [0, count), on the threads that the caller lends. The first exception is rethrown here.
template <class Function>
void parallel_for(const Call& call, std::size_t count, const Function& function) {
  if (count <= 1 || call.parallel_for == nullptr) {
    for (std::size_t i = 0; i < count; ++i) function(i);
    return;
  }
  struct Shared {
    const Function& function;
    std::atomic<bool> failed;
    std::exception_ptr error;
  } shared{function, {false}, nullptr};
  const auto task = [](void* argument, std::size_t i) {
    auto& state = *static_cast<Shared*>(argument);
    try {
      state.function(i);
    } catch (...) {
      if (!state.failed.exchange(true)) state.error = std::current_exception();
    }
  };
  call.parallel_for(call.context, count, task, &shared);
  if (shared.error) std::rethrow_exception(shared.error);
}

/// Part `index` of `parts` of [0, count), in whole multiples of `grain`.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
inline Range split(std::int64_t count, std::int64_t grain, std::size_t parts, std::size_t index) noexcept {
  if (parts == 1) return {0, count};  // divisions take longer than all that small work
  const std::int64_t units = (count + grain - 1) / grain;
  const auto at = [&](std::size_t i) {
    return std::min(count, units * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(parts) * grain);
  };
  return {at(index), at(index + 1)};
}

/// How many parts work of about `nanoseconds` is worth: each must outweigh the fork (docs/threads.md).
inline std::size_t parts_for(const Call& call, double nanoseconds) noexcept {
  constexpr double kForks = 2;
  const auto worth = static_cast<std::size_t>(nanoseconds / (kForks * std::max(1, call.fork_nanoseconds)));
  return std::clamp<std::size_t>(worth, 1, static_cast<std::size_t>(threads_of(call)));
}

}  // namespace octet::core
