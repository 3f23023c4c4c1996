#include "test/support/threads.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace octet::test {
namespace {

void parallel_for(void* context, std::size_t count, Call::Task task, void* argument) {
  const auto threads = std::min<std::size_t>(count, *static_cast<const std::size_t*>(context));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) task(argument, i);
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace

Call lend_threads(int threads) {
  if (threads == 0) return {};
  static auto counts = [] {
    std::array<std::size_t, 65> numbers{};
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }();
  return {parallel_for, &counts.at(static_cast<std::size_t>(threads)), threads};
}

}  // namespace octet::test
