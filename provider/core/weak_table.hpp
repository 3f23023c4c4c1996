// What several holders in the process share, found by key, and gone with the last of them.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace octet::core {

/// Entries whose value nobody holds any more are swept out when the table has doubled since the last time, so that it
/// stays within twice what was ever held at the same time. Safe for any number of threads.
template <class Key, class Value, class Hash = std::hash<Key>>
class WeakTable {
 public:
  static constexpr std::size_t kLeast = 64;

  /// The held value under `key` for which matches(value), else what make() gives. Calls follow one another.
  template <class Matches, class Make>
  std::shared_ptr<Value> get(const Key& key, const Matches& matches, const Make& make) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [first, last] = entries_.equal_range(key);
    for (auto entry = first; entry != last; ++entry)
      if (auto held = entry->second.lock(); held && matches(*held)) return held;
    std::shared_ptr<Value> made = make();
    if (entries_.size() >= limit_) sweep();
    entries_.emplace(key, made);
    return made;
  }

  std::size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return entries_.size();
  }

 private:
  void sweep() {
    for (auto entry = entries_.begin(); entry != entries_.end();)
      entry = entry->second.expired() ? entries_.erase(entry) : std::next(entry);
    limit_ = std::max(kLeast, 2 * entries_.size());
  }

  mutable std::mutex mutex_;
  std::unordered_multimap<Key, std::weak_ptr<Value>, Hash> entries_;
  std::size_t limit_ = kLeast;  ///< a sweep comes before the table grows past it
};

}  // namespace octet::core
