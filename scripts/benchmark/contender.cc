#include "scripts/benchmark/contender.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace octet::benchmark {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTurnMicroseconds = 200;  // of one contender: far above what reading the clock takes
constexpr std::size_t kLeastTurns = 5;
constexpr std::size_t kMostTurns = 1000;

/// Of one thread the processor time of this process: on a quiet machine it is the time that passes, and on a busy one
/// it leaves out what others take.
double microseconds(int threads) {
  timespec now{};
  clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// One contender's place in the round of copies, and its times.
struct Timing {
  std::size_t calls = 1;  ///< of a turn
  std::size_t next = 0;
  std::vector<double> times;
};

double run_turn(const Contender& contender, std::size_t copies, int threads, Timing& timing) {
  if (copies == 1) contender.run(0);
  const double start = microseconds(threads);
  for (std::size_t i = 0; i < timing.calls; ++i) {
    contender.run(timing.next);
    if (++timing.next == copies) timing.next = 0;
  }
  return (microseconds(threads) - start) / static_cast<double>(timing.calls);
}

}  // namespace

void measure(std::vector<Contender>& contenders, std::size_t copies, double seconds, int threads) {
  std::vector<Timing> timings(contenders.size());
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    contenders[c].run(0);  // makes what is made at first use
    const double call = run_turn(contenders[c], copies, threads, timings[c]);
    timings[c].calls = static_cast<std::size_t>(std::max(1.0, kTurnMicroseconds / std::max(call, 0.02)));
  }
  std::vector<std::size_t> order(contenders.size());
  for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (std::size_t turn = 0; turn < kMostTurns; ++turn) {
    if (turn >= kLeastTurns && Clock::now() > end) break;
    for (const std::size_t c : order) timings[c].times.push_back(run_turn(contenders[c], copies, threads, timings[c]));
    std::reverse(order.begin(), order.end());
  }
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    const std::vector<double>& times = timings[c].times;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < times.size(); ++i) ratios.push_back(times[i] / timings[0].times[i]);
    contenders[c].median = median(times);
    contenders[c].least = *std::min_element(times.begin(), times.end());
    contenders[c].ratio = median(ratios);
  }
}

}  // namespace octet::benchmark
