// What the tests of the element-wise loops share: the tables that this CPU can run, memory between guard pages, and
// random nodes against the reference.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "provider/core/elementwise_loops.hpp"
#include "test/kernels/vector_tables.hpp"
#include "test/reference/reference.hpp"
#include "test/support/tensor.hpp"
#include "test/support/threads.hpp"

namespace octet::test {

template <class Loops>
struct NamedLoops {
  std::string name;
  const Loops& loops;
};

/// Bytes of which the last, or the first, touches a page that must not be touched.
class GuardedBytes {
 public:
  enum class Side { front, back };

  explicit GuardedBytes(std::size_t bytes, Side side = Side::back) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = (bytes / page + 1) * page;
    size_ = inner + 2 * page;
    memory_ = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    auto* begin = static_cast<std::uint8_t*>(memory_) + page;
    if (mprotect(begin, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = side == Side::back ? begin + inner - bytes : begin;
  }
  ~GuardedBytes() { munmap(memory_, size_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  std::uint8_t* data() const { return data_; }

 private:
  void* memory_;
  std::size_t size_;
  std::uint8_t* data_;
};

inline void fill_random(std::uint8_t* bytes, std::size_t count, std::mt19937& random) {
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(random());
}

inline Tensor random_tensor(DataType type, const Dims& dims, std::mt19937& random) {
  Tensor tensor(type, dims);
  fill_random(tensor.data(), tensor.bytes(), random);
  return tensor;
}
inline Tensor scale_tensor(float value) {
  Tensor tensor(DataType::float32, {});
  std::memcpy(tensor.data(), &value, sizeof value);
  return tensor;
}

/// Runs a node through every backend with and without lent threads, and through the reference.
inline void expect_as_reference(Node node, const std::vector<Tensor>& inputs, DataType type, const Dims& dims,
                                const std::string& what) {
  for (const Tensor& input : inputs) node.inputs.push_back({input.dtype()});
  std::vector<Tensor> expected(1);
  expected[0] = Tensor(type, dims);
  reference::run(node, views(inputs), views(expected));
  for (const char* backend : {"auto", "eigen"}) {
    Options options;
    options.backend = backend;
    const Operator op(node, options);
    for (const int threads : {0, 3}) {
      std::vector<Tensor> outputs(1);
      outputs[0] = Tensor(type, dims);
      op.run(views(inputs), views(outputs), lend_threads(threads));
      ASSERT_EQ(difference(outputs[0], expected[0]), "") << what << ", " << backend << ", threads " << threads;
      ASSERT_TRUE(outputs[0].guards_intact()) << what << ", " << backend;
    }
  }
}

}  // namespace octet::test
