// How work is cut, and on how many threads it runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <octet/inner_product.hpp>
#include <octet/octet.hpp>
#include <set>
#include <thread>

#include "provider/core/cpu.hpp"
#include "provider/core/parallel.hpp"
#include "provider/kernels/packed_weights.hpp"

namespace octet::test {
namespace {

using Dims = std::vector<std::int64_t>;

Node product_node() {
  Node node;
  node.op_type = "MatMulInteger";
  node.domain = "";
  node.opset_version = 10;
  node.inputs = {{DataType::uint8}, {DataType::int8}};
  return node;
}

/// Runs all tasks in turn, and keeps the greatest count of one call.
void keep_most(void* most, std::size_t count, Call::Task task, void* argument) {
  auto& parts = *static_cast<std::size_t*>(most);
  parts = std::max(parts, count);
  for (std::size_t i = 0; i < count; ++i) task(argument, i);
}

// The caller's number of threads bounds those that work at the same time (octet::Call).
TEST(MatMul, IsCutIntoNoMorePartsThanThreads) {
  std::size_t most_of_all[2] = {};
  for (const std::int64_t batch : {1, 2, 3, 5, 7})
    for (const std::int64_t m : {1, 31, 33, 100, 200})
      for (const std::int64_t n : {1, 64, 65, 192, 300})
        for (const bool constant : {false, true}) {
          const Dims a_dims{batch, m, 16}, b_dims{batch, 16, n}, y_dims{batch, m, n};
          const std::vector<std::uint8_t> a(static_cast<std::size_t>(batch * m * 16), 1);
          const std::vector<std::int8_t> b(static_cast<std::size_t>(batch * 16 * n), 1);
          std::vector<std::int32_t> y(static_cast<std::size_t>(batch * m * n));
          Node node = product_node();
          if (constant) node.inputs[1] = {DataType::int8, b_dims, b.data()};
          const Operator product(node);
          for (std::int32_t threads = 1; threads <= 8; ++threads) {
            std::size_t most = 0;
            const Call call{keep_most, &most, threads, 0};
            product.run({{a.data(), DataType::uint8, a_dims}, {b.data(), DataType::int8, b_dims}},
                        {{y.data(), DataType::int32, y_dims}}, call);
            EXPECT_LE(most, static_cast<std::size_t>(threads)) << batch << " of " << m << " x " << n;
            EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](std::int32_t sum) { return sum == 16; }));
            most_of_all[constant] = std::max(most_of_all[constant], most);
          }
        }
  EXPECT_EQ(most_of_all[false], 8U);
  EXPECT_EQ(most_of_all[true], 8U);
}

TEST(InnerProduct, IsCutIntoNoMorePartsThanThreads) {
  std::size_t most_of_all[2] = {};
  for (const std::size_t m : {1, 31, 33, 100, 200})
    for (const std::size_t n : {1, 64, 65, 192, 300})
      for (const bool constant : {false, true}) {
        const std::vector<float> a(m * 16, 1.0F), b(16 * n, 1.0F);
        std::vector<float> c(m * n);
        InnerProductOptions options;
        options.constant_b = constant;
        const InnerProduct product(m, n, 16, options, {constant ? ConstElements(b) : ConstElements(), {}, {}, {}});
        for (std::int32_t threads = 1; threads <= 8; ++threads) {
          std::size_t most = 0;
          product.forward(a, constant ? ConstElements() : ConstElements(b), c, {keep_most, &most, threads, 0});
          EXPECT_LE(most, static_cast<std::size_t>(threads)) << m << " x " << n;
          EXPECT_TRUE(std::all_of(c.begin(), c.end(), [&](float value) { return value == c[0]; }));
          most_of_all[constant] = std::max(most_of_all[constant], most);
        }
      }
  EXPECT_EQ(most_of_all[false], 8U);
  EXPECT_EQ(most_of_all[true], 8U);
}

// Then each product reads its own from memory, for which one thread alone is slow.
TEST(MatMul, IsCutSoonerWhereTheProcessHoldsMoreWeightsThanCachesDo) {
  constexpr std::int64_t kExtent = 384;
  const Dims a_dims{1, kExtent}, b_dims{kExtent, kExtent};
  const std::vector<std::uint8_t> a(kExtent, 1);
  const std::vector<std::int8_t> b(kExtent * kExtent, 1);
  std::vector<std::int32_t> y(kExtent);
  Node node = product_node();
  node.inputs[1] = {DataType::int8, b_dims, b.data()};
  const Operator product(node);
  const auto parts = [&](std::int32_t fork_nanoseconds) {
    std::size_t most = 0;
    const Call call{keep_most, &most, 2, fork_nanoseconds};
    product.run({{a.data(), DataType::uint8, a_dims}, {}}, {{y.data(), DataType::int32, a_dims}}, call);
    return most;
  };
  std::int32_t fork_nanoseconds = 125;
  while (parts(fork_nanoseconds) == 2 && fork_nanoseconds < 1 << 20) fork_nanoseconds *= 2;
  ASSERT_LT(parts(fork_nanoseconds), 2U);
  const std::size_t held = core::HeldBytes::total();
  {
    const auto rows = static_cast<std::int64_t>(core::last_cache_bytes() / 64);
    const std::vector<std::int8_t> many(static_cast<std::size_t>(rows * 64), 1);
    const core::PackedWeights weights({many.data(), DataType::int8, Dims{rows, 64}}, 1, rows, 64, {64, 1});
    EXPECT_EQ(parts(fork_nanoseconds), 2U);
  }
  EXPECT_EQ(core::HeldBytes::total(), held);
  EXPECT_LT(parts(fork_nanoseconds), 2U);
}

// Not even where more are asked for than the system gives a process: libgomp would end it.
TEST(Parallel, OurOwnThreadsAreNoMoreThanProcessors) {
  const std::int32_t many = 100000;
  const Call call = core::with_own_threads({}, many);
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  EXPECT_EQ(static_cast<std::size_t>(core::threads_of(call)), processors);
  std::mutex mutex;
  std::set<std::thread::id> workers;
  core::parallel_for(call, 10000, [&](std::size_t) {
    const std::lock_guard<std::mutex> lock(mutex);
    workers.insert(std::this_thread::get_id());
  });
  EXPECT_LE(workers.size(), processors);
}

}  // namespace
}  // namespace octet::test
