#include "provider/core/parallel.hpp"

#include <omp.h>

namespace octet::core {
namespace {

void openmp_parallel_for(void* context, std::size_t count, Call::Task task, void* argument) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(*static_cast<const std::int32_t*>(context))
  for (std::size_t i = 0; i < count; ++i) task(argument, i);
}

}  // namespace

// The C++ default where the caller lends no threads: OpenMP, and only if the option asks for more than one.
Call with_own_threads(const Call& call, const std::int32_t& threads) noexcept {
  if (call.parallel_for != nullptr || threads <= 1) return call;
  return {openmp_parallel_for, const_cast<std::int32_t*>(&threads), threads};
}

}  // namespace octet::core
