// Temporary memory of a run: taken from a process-wide free list, so that a steady state allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::core {

/// A 64-byte aligned buffer that goes back to the free list when it leaves scope. Contents are unspecified.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  std::uint8_t* bytes() const noexcept { return static_cast<std::uint8_t*>(data_); }

 private:
  void* data_ = nullptr;
  int size_class_ = -1;
};

/// Lays several arrays into one buffer: add() each, allocate once, then take the pointers.
class Layout {
 public:
  /// Offset of a 64-byte aligned block of `bytes`.
  std::size_t add(std::size_t bytes) noexcept {
    const std::size_t offset = total_;
    total_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  std::size_t total() const noexcept { return total_; }

 private:
  std::size_t total_ = 0;
};

}  // namespace octet::core
