#include "provider/core/parallel.hpp"

#include <omp.h>

#include <thread>

namespace octet::core {
namespace {

// More threads than processors gain nothing, and where the system refuses one, libgomp ends the process.
std::int32_t bounded(std::int32_t threads) noexcept {
  static const auto processors = static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  return std::min(threads, processors);
}

void openmp_parallel_for(void* context, std::size_t count, Call::Task task, void* argument) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(bounded(*static_cast<const std::int32_t*>(context)))
  for (std::size_t i = 0; i < count; ++i) task(argument, i);
}

// A loop of empty parts at two threads, up to 2 ms after the one before; libgomp's threads sleep later
// (docs/threads.md).
constexpr std::int32_t kOpenmpFork = 1200;

}  // namespace

// The C++ default where the caller lends no threads: OpenMP, and only if the option asks for more than one.
Call with_own_threads(const Call& call, const std::int32_t& threads) noexcept {
  if (call.parallel_for != nullptr || bounded(threads) <= 1) return call;
  return {openmp_parallel_for, const_cast<std::int32_t*>(&threads), bounded(threads), kOpenmpFork};
}

}  // namespace octet::core
