#include "provider/core/scratch.hpp"

#include <array>
#include <mutex>
#include <vector>

#include "provider/core/aligned.hpp"

namespace octet::core {
namespace {

constexpr int kSmallest = 10;  // 1 KiB
constexpr int kLargest = 26;   // 64 MiB; larger buffers are not kept
constexpr std::size_t kKeptPerClass = 8;

int class_of(std::size_t bytes) noexcept {
  int size_class = kSmallest;
  while (size_class <= kLargest && (std::size_t{1} << size_class) < bytes) ++size_class;
  return size_class <= kLargest ? size_class : -1;
}

struct FreeList {
  std::mutex mutex;
  std::vector<void*> buffers;
};

// Never destroyed: a thread may still run an operator while the process exits.
std::array<FreeList, kLargest + 1>& free_lists() {
  static auto* lists = [] {
    auto* made = new std::array<FreeList, kLargest + 1>();
    for (auto& list : *made) list.buffers.reserve(kKeptPerClass);
    return made;
  }();
  return *lists;
}

}  // namespace

Scratch::Scratch(std::size_t bytes) {
  if (bytes == 0) return;
  size_class_ = class_of(bytes);
  if (size_class_ < 0) {
    data_ = aligned_array<std::uint8_t>(bytes).release();
    return;
  }
  FreeList& list = free_lists()[static_cast<std::size_t>(size_class_)];
  {
    const std::lock_guard<std::mutex> lock(list.mutex);
    if (!list.buffers.empty()) {
      data_ = list.buffers.back();
      list.buffers.pop_back();
      return;
    }
  }
  data_ = aligned_array<std::uint8_t>(std::size_t{1} << size_class_).release();
}

Scratch::~Scratch() {
  if (data_ == nullptr) return;
  if (size_class_ >= 0) {
    FreeList& list = free_lists()[static_cast<std::size_t>(size_class_)];
    const std::lock_guard<std::mutex> lock(list.mutex);
    if (list.buffers.size() < kKeptPerClass) {
      list.buffers.push_back(data_);
      return;
    }
  }
  FreeAligned()(data_);
}

}  // namespace octet::core
