#include "provider/core/plan_cache.hpp"

#include <algorithm>

namespace octet::core {

PlanKey::PlanKey(const VaryingInputs& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorView input = inputs[i];
    words_.push_back(static_cast<std::int64_t>(input.dtype));
    if (!input.present()) continue;
    words_.push_back(input.rank);
    words_.insert(words_.end(), input.dims, input.dims + input.rank);
  }
}

bool PlanKey::matches(const VaryingInputs& inputs) const noexcept {
  const std::int64_t* word = words_.data();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorView input = inputs[i];
    if (*word++ != static_cast<std::int64_t>(input.dtype)) return false;
    if (!input.present()) continue;
    if (*word++ != input.rank || (input.rank > 0 && input.dims == nullptr)) return false;
    for (std::int32_t d = 0; d < input.rank; ++d)
      if (*word++ != input.dims[d]) return false;
  }
  return true;
}

std::shared_ptr<const PlanEntry> PlanCache::find(const VaryingInputs& inputs) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry->key.matches(inputs); });
  if (found == entries_.end()) return nullptr;
  if (found != entries_.begin()) std::rotate(entries_.begin(), found, found + 1);
  ++counters_.hits;
  return entries_.front();
}

std::shared_ptr<const PlanEntry> PlanCache::insert(std::shared_ptr<const PlanEntry> entry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++counters_.misses;
  entries_.insert(entries_.begin(), entry);
  if (entries_.size() > kCapacity) {
    entries_.pop_back();
    ++counters_.evictions;
  }
  return entry;
}

PlanCache::Counters PlanCache::counters() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counters_;
}

}  // namespace octet::core
