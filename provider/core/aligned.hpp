// Memory that begins with a cache line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace octet::core {

struct FreeAligned {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

/// Owns elements that are 64-byte aligned.
template <class T>
using AlignedArray = std::unique_ptr<T[], FreeAligned>;

/// Room for `count` elements of a plain type, with whole cache lines. Contents are unspecified. Throws std::bad_alloc.
template <class T>
AlignedArray<T> aligned_array(std::size_t count) {
  const std::size_t bytes = std::max<std::size_t>((count * sizeof(T) + 63) / 64 * 64, 64);
  void* memory = std::aligned_alloc(64, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return AlignedArray<T>(static_cast<T*>(memory));
}

}  // namespace octet::core
