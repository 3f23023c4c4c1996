// ONNX Runtime's intra-op threads, lent to the operators.
#pragma once

#include <atomic>
#include <octet/octet.hpp>

#include "provider/ort/ort_api.hpp"

namespace octet::ort {

/// ONNX Runtime does not tell how many threads its pool has, so the first calls count those that come to work.
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

  static constexpr int kCounts = 8;  ///< a thread may be busy elsewhere, so it is counted more than once
  const int most_;
  const std::int32_t fork_nanoseconds_;
  std::atomic<int> counts_left_;
  std::atomic<int> size_{1};
};

}  // namespace octet::ort
