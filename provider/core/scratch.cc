#include "provider/core/scratch.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <mutex>
#include <vector>

#include "provider/core/aligned.hpp"

namespace octet::core {
namespace {

constexpr int kSmallest = 10;  // 1 KiB
constexpr int kLarge = 20;     // 1 MiB
constexpr int kLargest = 26;   // 64 MiB; larger buffers are not kept
// What is kept: of each smaller size so many, 8 MiB in all; of the large ones, those used last.
constexpr std::size_t kKeptPerClass = 8;
constexpr std::size_t kKeptLargeBytes = std::size_t{128} << 20;

std::size_t bytes_of(int size_class) noexcept { return std::size_t{1} << size_class; }

int class_of(std::size_t bytes) noexcept {
  int size_class = kSmallest;
  while (size_class <= kLargest && bytes_of(size_class) < bytes) ++size_class;
  return size_class <= kLargest ? size_class : -1;
}

/// Buffers of one size below kLarge.
class FreeList {
 public:
  FreeList() { buffers_.reserve(kKeptPerClass); }
  void* take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (buffers_.empty()) return nullptr;
    void* buffer = buffers_.back();
    buffers_.pop_back();
    return buffer;
  }
  void keep(void* buffer) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (buffers_.size() < kKeptPerClass) return buffers_.push_back(buffer);
    }
    FreeAligned()(buffer);
  }

 private:
  std::mutex mutex_;
  std::vector<void*> buffers_;
};

/// Buffers from kLarge on.
class LargeList {
 public:
  LargeList() { buffers_.reserve(kKeptLargeBytes / bytes_of(kLarge) + 1); }
  void* take(int size_class) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(buffers_.rbegin(), buffers_.rend(),
                                    [&](const Buffer& buffer) { return buffer.size_class == size_class; });
    if (found == buffers_.rend()) return nullptr;
    void* data = found->data;
    bytes_ -= bytes_of(size_class);
    buffers_.erase(std::next(found).base());
    return data;
  }
  void keep(void* data, int size_class) {
    const std::lock_guard<std::mutex> lock(mutex_);
    buffers_.push_back({data, size_class});
    bytes_ += bytes_of(size_class);
    while (bytes_ > kKeptLargeBytes) {
      bytes_ -= bytes_of(buffers_.front().size_class);
      FreeAligned()(buffers_.front().data);
      buffers_.erase(buffers_.begin());
    }
  }

 private:
  struct Buffer {
    void* data;
    int size_class;
  };
  std::mutex mutex_;
  std::vector<Buffer> buffers_;  ///< used last at the end
  std::size_t bytes_ = 0;
};

struct FreeLists {
  std::array<FreeList, kLarge> small;
  LargeList large;

  void* take(int size_class) {
    return size_class < kLarge ? small[static_cast<std::size_t>(size_class)].take() : large.take(size_class);
  }
  void keep(void* data, int size_class) {
    if (size_class < kLarge)
      small[static_cast<std::size_t>(size_class)].keep(data);
    else
      large.keep(data, size_class);
  }
};

// Never destroyed: a thread may still run an operator while the process exits.
FreeLists& free_lists() {
  static auto* lists = new FreeLists();
  return *lists;
}

}  // namespace

Scratch::Scratch(std::size_t bytes) {
  if (bytes == 0) return;
  size_class_ = class_of(bytes);
  if (size_class_ >= 0) data_ = free_lists().take(size_class_);
  if (data_ == nullptr) data_ = aligned_array<std::uint8_t>(size_class_ >= 0 ? bytes_of(size_class_) : bytes).release();
}

Scratch::~Scratch() {
  if (data_ == nullptr) return;
  if (size_class_ >= 0)
    free_lists().keep(data_, size_class_);
  else
    FreeAligned()(data_);
}

}  // namespace octet::core
