#include "provider/ort/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "provider/ort/api.hpp"

namespace octet::ort {
namespace {

using Clock = std::chrono::steady_clock;

/// Tasks that each hold their thread until all have one or the time is over, so that every thread gets one.
struct Rendezvous {
  explicit Rendezvous(int threads) : workers(static_cast<std::size_t>(threads)) {}

  static void arrive(void* self, std::size_t index) {
    auto& rendezvous = *static_cast<Rendezvous*>(self);
    rendezvous.workers[index] = std::this_thread::get_id();
    rendezvous.arrived.fetch_add(1, std::memory_order_relaxed);
    while (rendezvous.arrived.load(std::memory_order_relaxed) < rendezvous.workers.size() &&
           Clock::now() < rendezvous.deadline)
      std::this_thread::yield();
  }

  int distinct_workers() {
    std::sort(workers.begin(), workers.end());
    return static_cast<int>(std::unique(workers.begin(), workers.end()) - workers.begin());
  }

  std::vector<std::thread::id> workers;
  std::atomic<std::size_t> arrived{0};
  const Clock::time_point deadline = Clock::now() + std::chrono::microseconds(200);
};

void parallel_for(void* context, std::size_t count, Call::Task task, void* argument) {
  check(ort_api().KernelContext_ParallelFor(static_cast<const OrtKernelContext*>(context), task, count, 0, argument));
}

/// KernelContext_ParallelFor of empty tasks at two threads, 0.1 to 2 ms after the one before (docs/threads.md).
constexpr std::int32_t kForkSpinning = 1200;
constexpr std::int32_t kForkSleeping = 7000;

int upper_bound(int most) {
  return most > 0 ? most : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

ThreadPool::ThreadPool(int most, bool spinning)
    : most_(upper_bound(most)), fork_nanoseconds_(spinning ? kForkSpinning : kForkSleeping) {}

Call ThreadPool::lend(const OrtKernelContext* context) {
  if (size() < most_) {
    const std::uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
    if ((call & (call - 1)) == 0) count_threads(context);
  }
  const int threads = size();
  if (threads == 1) return {};
  return {parallel_for, const_cast<OrtKernelContext*>(context), threads, fork_nanoseconds_};
}

void ThreadPool::count_threads(const OrtKernelContext* context) {
  Rendezvous rendezvous(most_);
  check(ort_api().KernelContext_ParallelFor(context, Rendezvous::arrive, rendezvous.workers.size(), 0, &rendezvous));
  const int counted = rendezvous.distinct_workers();
  int size = size_.load();
  while (size < counted && !size_.compare_exchange_weak(size, counted)) {
  }
}

}  // namespace octet::ort
