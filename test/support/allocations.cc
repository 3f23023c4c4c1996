#include "test/support/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace octet::test {
namespace {

std::atomic<std::int64_t> made{0};
std::atomic<std::int64_t> freed{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  ++made;
  return memory;
}

void give_back(void* memory) noexcept {
  if (memory != nullptr) ++freed;
  std::free(memory);
}

}  // namespace

std::int64_t allocations() { return made; }
std::int64_t live_allocations() { return made - freed; }

}  // namespace octet::test

// The other forms of new and delete call these.
void* operator new(std::size_t bytes) { return octet::test::counted(std::malloc(bytes > 0 ? bytes : 1)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  return octet::test::counted(std::aligned_alloc(step, (bytes / step + 1) * step));
}
void operator delete(void* memory) noexcept { octet::test::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { octet::test::give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { octet::test::give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { octet::test::give_back(memory); }
