// `octet bench`: how long nodes take.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

#include "provider/cli/model.hpp"
#include "provider/cli/node_spec.hpp"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostRuns = 100000;
constexpr std::size_t kLeastRuns = 3;
constexpr double kTurnMicroseconds = 50;  // of runs in a row: far above what reading the clock takes

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// Writes twice as much as the largest cache holds, so that nothing else is left in it.
class CacheSweeper {
 public:
  void sweep() {
    for (std::size_t i = 0; i < bytes_.size(); i += 64) ++bytes_[i];
  }

 private:
  static std::size_t largest_cache() {
    const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? static_cast<std::size_t>(bytes) : std::size_t{32} << 20;
  }
  std::vector<unsigned char> bytes_ = std::vector<unsigned char>(2 * largest_cache());
};

/// An operator with inputs and outputs of its own.
class Subject {
 public:
  Subject(const Node& node, const Options& options) : op_(node, options) {
    for (const ValueInfo& info : node.inputs) {
      const bool is_given = info.dtype != DataType::undefined && info.constant == nullptr;
      if (!is_given) {
        inputs_.emplace_back();
        continue;
      }
      memory_.push_back(random_elements(info.dtype, elements(*info.dims)));
      inputs_.emplace_back(memory_.back().get(), info.dtype, *info.dims);
    }
    outputs_info_ = op_.infer(inputs_);
    for (const ValueInfo& info : outputs_info_) {
      if (info.dtype == DataType::undefined) {
        outputs_.emplace_back();
        continue;
      }
      memory_.push_back(std::make_unique<unsigned char[]>(bytes_of(info.dtype, elements(*info.dims)) + 1));
      outputs_.emplace_back(memory_.back().get(), info.dtype, *info.dims);
    }
  }
  void run() const { op_.run(inputs_, outputs_); }

 private:
  static std::size_t elements(const std::vector<std::int64_t>& dims) {
    std::size_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    return count;
  }

  Operator op_;
  std::vector<std::unique_ptr<unsigned char[]>> memory_;
  std::vector<TensorView> inputs_, outputs_;
  std::vector<ValueInfo> outputs_info_;  ///< owns the extents of outputs_
};

/// Times of single runs, or of several in a row where one is too short for the clock.
std::vector<double> times_of(const Subject& subject, double seconds, CacheSweeper* sweeper) {
  auto start = Clock::now();
  subject.run();
  const double once = microseconds_since(start);
  const std::size_t in_a_row =
      sweeper ? 1 : static_cast<std::size_t>(std::clamp(kTurnMicroseconds / std::max(once, 0.01), 1.0, 5000.0));
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (times.size() < kLeastRuns || (times.size() < kMostRuns && Clock::now() < end)) {
    if (sweeper) sweeper->sweep();
    start = Clock::now();
    for (std::size_t i = 0; i < in_a_row; ++i) subject.run();
    times.push_back(microseconds_since(start) / static_cast<double>(in_a_row));
  }
  std::sort(times.begin(), times.end());
  return times;
}

Json timed(const Node& node, Options options, const BenchArguments& arguments, CacheSweeper& sweeper) {
  Json result = explained(node, options);
  result["times"] = Json::array();
  for (const std::int32_t threads : arguments.threads) {
    options.threads = threads;
    const Subject subject(node, options);
    const auto start = Clock::now();
    subject.run();
    const double first = microseconds_since(start);
    for (const bool cold : {false, true}) {
      if (cold && !arguments.cold) continue;
      const std::vector<double> times = times_of(subject, arguments.seconds, cold ? &sweeper : nullptr);
      result["times"].push_back({{"threads", threads},
                                 {"caches", cold ? "cold" : "warm"},
                                 {"median_us", times[times.size() / 2]},
                                 {"min_us", times.front()},
                                 {"p95_us", times[times.size() * 95 / 100]},
                                 {"first_us", first}});
    }
  }
  return result;
}

void print_times(const Json& node) {
  print_node(node);
  if (!node.contains("times")) return;
  for (const auto& times : node["times"])
    std::printf("  %2d threads, %s: %10.2f us (least %.2f, 95%% within %.2f; first run %.0f)\n",
                times["threads"].get<int>(), times["caches"].get<std::string>().c_str(),
                times["median_us"].get<double>(), times["min_us"].get<double>(), times["p95_us"].get<double>(),
                times["first_us"].get<double>());
  std::fflush(stdout);
}

}  // namespace

int bench(const BenchArguments& arguments) {
  CacheSweeper sweeper;
  const Json result = examined(arguments.target, [&](const Node& node, const Options& options) {
    return timed(node, options, arguments, sweeper);
  });
  if (arguments.target.json) {
    print_json(result);
  } else if (result.contains("nodes")) {
    for (const auto& node : result["nodes"]) print_times(node);
    print_summary(result["summary"]);
  } else {
    print_times(result);
  }
  return kDone;
}

}  // namespace octet::cli
