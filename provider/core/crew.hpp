// Threads that work together through many short phases of one task.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace octet::core {

/// Work in phases, each of the same number of parts that may run at the same time. Every thread that joins takes parts
/// that nobody has taken yet, and whoever ends the last part of a phase calls advance(). So the work gets done whatever
/// number of threads join, and whenever they do: no thread waits for one that has not begun. Waiting costs a fraction
/// of a microsecond where starting threads anew for each phase would cost several.
///
/// Work has run_part(part), and advance(), which prepares the next phase and returns false at the end.
template <class Work>
class Crew {
 public:
  static constexpr std::uint32_t kMostParts = 256;

  Crew(Work& work, std::uint32_t parts) : work_(work), parts_(parts) {}

  /// Works until all phases are done. A thread that comes back to its `favourite` part finds that part's data in its
  /// cache.
  void join(std::uint32_t favourite) {
    try {
      std::uint32_t phase = phase_.load(std::memory_order_acquire);
      while (phase != kDone) {
        for (std::uint32_t i = 0; i < parts_; ++i) take((favourite + i) % parts_, phase);
        phase = wait_for_change(phase);
      }
    } catch (...) {
      stopped_.store(true, std::memory_order_release);
      throw;
    }
  }

 private:
  static constexpr std::uint32_t kDone = static_cast<std::uint32_t>(-1);
  static constexpr int kSpins = 4000;

  void take(std::uint32_t part, std::uint32_t phase) {
    std::uint32_t expected = phase;
    if (!next_phase_[part].compare_exchange_strong(expected, phase + 1, std::memory_order_relaxed)) return;
    work_.run_part(part);
    if (ended_.fetch_add(1, std::memory_order_acq_rel) + 1 != parts_) return;
    ended_.store(0, std::memory_order_relaxed);
    phase_.store(work_.advance() ? phase + 1 : kDone, std::memory_order_release);
  }

  std::uint32_t wait_for_change(std::uint32_t phase) const {
    for (int spins = 0;; ++spins) {
      const std::uint32_t now = phase_.load(std::memory_order_acquire);
      if (stopped_.load(std::memory_order_acquire)) return kDone;
      if (now != phase) return now;
      if (spins < kSpins)
        __builtin_ia32_pause();
      else
        std::this_thread::yield();
    }
  }

  Work& work_;
  std::uint32_t parts_;
  std::atomic<bool> stopped_{false};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
  alignas(64) std::atomic<std::uint32_t> ended_{0};
  alignas(
      64) std::atomic<std::uint32_t> next_phase_[kMostParts] = {};  ///< by part: the first phase in which it is free
};

}  // namespace octet::core
