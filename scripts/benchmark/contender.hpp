// Contenders of one benchmark, timed by turns.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace octet::benchmark {

struct Contender {
  std::string name;
  std::string implementation;
  /// One call of the job on copy `i` of the weights.
  std::function<void(std::size_t i)> run;

  /// Filled in by measure(): microseconds of a call.
  double median = 0;
  double least = 0;
  /// Median over the turns of this contender's time by the first contender's time in the same turn.
  double ratio = 0;
};

/// Lets the contenders take turns (A B C, C B A, ...) for about `seconds`, so that what disturbs one disturbs all.
/// `copies` of 1: hot, every turn begins with a call that is not timed. More: cold, every call takes the next copy,
/// which the calls between have driven out of the caches. With more than one of `threads` the times are those that
/// pass.
void measure(std::vector<Contender>& contenders, std::size_t copies, double seconds, int threads = 1);

}  // namespace octet::benchmark
