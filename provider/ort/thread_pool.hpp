// ONNX Runtime's intra-op threads, lent to the operators.
#pragma once

#include <atomic>
#include <cstdint>
#include <octet/octet.hpp>

#include "provider/ort/ort_api.hpp"

namespace octet::ort {

/// ONNX Runtime does not tell how many threads its pool has, so calls count those that come to work: the first,
/// second, fourth, eighth and so on until all are found, because a thread may be asleep, or busy elsewhere.
class ThreadPool {
 public:
  /// most: upper bound of threads for one node, 0 for none. spinning: idle threads wait for work awake.
  ThreadPool(int most, bool spinning);

  /// The threads of one node's run.
  Call lend(const OrtKernelContext* context);
  /// As far as counted.
  int size() const noexcept { return size_.load(std::memory_order_relaxed); }

 private:
  void count_threads(const OrtKernelContext* context);

  const int most_;
  const std::int32_t fork_nanoseconds_;
  std::atomic<std::uint64_t> calls_{0};  ///< while fewer than most_ are known
  std::atomic<int> size_{1};
};

}  // namespace octet::ort
