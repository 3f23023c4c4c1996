// Plans by the types and extents of a node's inputs: bounded, least recently used out first, built once when many
// threads ask at the same time.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "provider/core/kernel.hpp"

namespace octet::core {

/// The inputs of a call that may differ from call to call: those at `indices`; constants of the node are left out.
struct VaryingInputs {
  const TensorView* inputs;
  std::size_t num_inputs;
  const std::vector<std::size_t>& indices;

  std::size_t size() const noexcept { return indices.size(); }
  TensorView operator[](std::size_t i) const noexcept {
    return indices[i] < num_inputs ? inputs[indices[i]] : TensorView();
  }
};

/// Element types, ranks and extents of inputs; an absent input is one entry of its own. Never holds values or pointers.
class PlanKey {
 public:
  explicit PlanKey(const VaryingInputs& inputs);
  bool matches(const VaryingInputs& inputs) const noexcept;

 private:
  std::vector<std::int64_t> words_;
};

struct PlanEntry {
  PlanKey key;
  std::vector<TensorInfo> outputs;
  std::unique_ptr<const Plan> plan;
};

class PlanCache {
 public:
  static constexpr std::size_t kCapacity = 32;

  /// The entry for these inputs; calls build() where there is none yet. Concurrent misses build one after the other,
  /// and only once for equal inputs. A build that throws leaves no entry.
  template <class Build>
  std::shared_ptr<const PlanEntry> get(const VaryingInputs& inputs, const Build& build) {
    if (auto entry = find(inputs)) return entry;
    const std::lock_guard<std::mutex> build_lock(build_mutex_);
    if (auto entry = find(inputs)) return entry;
    return insert(build());
  }

  /// For tests.
  struct Counters {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t evictions = 0;
  };
  Counters counters() const;

 private:
  std::shared_ptr<const PlanEntry> find(const VaryingInputs& inputs);
  std::shared_ptr<const PlanEntry> insert(std::shared_ptr<const PlanEntry> entry);

  mutable std::mutex mutex_;  ///< guards entries_ and counters_; held for a few comparisons only
  std::mutex build_mutex_;    ///< serialises misses
  std::vector<std::shared_ptr<const PlanEntry>> entries_;  ///< most recently used first
  Counters counters_;
};

}  // namespace octet::core
