// Packed weights that operators of one process share.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace octet::core {

/// `weights`, or weights of the same content that somebody holds already. Weights have operator== and hash().
template <class Weights>
std::shared_ptr<const Weights> shared(std::shared_ptr<const Weights> weights) {
  struct Store {
    std::mutex mutex;
    std::unordered_multimap<std::uint64_t, std::weak_ptr<const Weights>> weights;
  };
  static auto* store = new Store();  // never destroyed: operators may outlive static destruction

  const std::lock_guard<std::mutex> lock(store->mutex);
  auto [entry, last] = store->weights.equal_range(weights->hash());
  while (entry != last) {
    const auto held = entry->second.lock();
    if (held && *held == *weights) return held;
    entry = held ? std::next(entry) : store->weights.erase(entry);
  }
  store->weights.emplace(weights->hash(), weights);
  return weights;
}

}  // namespace octet::core
