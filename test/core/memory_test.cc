// What a run allocates, and what is left when operators are gone.
#include <dnnl.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <deque>

#include "provider/core/cpu.hpp"
#include "provider/core/scratch.hpp"
#include "test/support/allocations.hpp"
#include "test/support/cases.hpp"

namespace octet::test {
namespace {

/// All tasks in turn: as many parts as four threads get.
void in_turn(void*, std::size_t count, Call::Task task, void* argument) {
  for (std::size_t i = 0; i < count; ++i) task(argument, i);
}

/// Allocations of a run that is like the ones before it.
std::int64_t steady_allocations(const Operator& op, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& outputs, const Call& call) {
  const std::vector<TensorView> in = views(inputs), out = views(outputs);
  const auto run = [&] { op.run(in.data(), in.size(), out.data(), out.size(), call); };
  run();
  run();
  const std::int64_t before = allocations();
  run();
  return allocations() - before;
}

/// Whether some of the job is done by oneDNN, which allocates itself.
bool asks_onednn(const Decision& decision) {
  return decision.backend == "onednn" || decision.implementation.find("brg_matmul") != std::string::npos;
}

TEST(Memory, ASteadyRunAllocatesNothing) {
  for (const auto& file : table_files())
    for (const Case& test_case : load_table(file)) {
      if (!test_case.fixed) continue;
      const std::vector<Tensor> inputs = make_inputs(test_case);
      for (const char* backend : {"auto", "vector", "eigen"})
        for (const bool with_constants : {false, true}) {
          Options options;
          options.backend = backend;
          try {
            const Operator op(make_node(test_case, inputs, with_constants), options);
            if (asks_onednn(op.explain(views(inputs)))) continue;
            for (const Call& call : {Call{}, Call{in_turn, nullptr, 4, 0}})
              EXPECT_EQ(steady_allocations(op, inputs, make_outputs(test_case), call), 0)
                  << test_case.qualified_op() << "/" << test_case.name << ", " << backend
                  << (with_constants ? ", constants" : "") << ", " << call.threads << " threads";
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::not_implemented) << error.what();
          }
        }
    }
}

// --- what is left

Node product_node(const std::vector<std::int8_t>& b, std::int64_t k, std::int64_t n) {
  Node node;
  node.op_type = "MatMulInteger";
  node.domain = "";
  node.opset_version = 10;
  node.inputs = {{DataType::uint8}, {DataType::int8, {{k, n}}, b.data()}};
  return node;
}

/// The most that allocations in use grow by while `come_and_go(i)` is called for other and other i.
template <class Function>
std::int64_t growth(int warm_up, int calls, const Function& come_and_go) {
  for (int i = 0; i < warm_up; ++i) come_and_go(i);
  const std::int64_t before = live_allocations();
  std::int64_t most = 0;
  for (int i = warm_up; i < calls; ++i) {
    come_and_go(i);
    most = std::max(most, live_allocations() - before);
  }
  return most;
}

constexpr std::int64_t kFew = 400;  // some allocations for each entry of a table that is about to be swept

TEST(Memory, WeightsThatComeAndGoLeaveNothing) {
  std::vector<std::int8_t> b(8 * 64);
  EXPECT_LE(growth(200, 3000,
                   [&](int i) {
                     b[0] = static_cast<std::int8_t>(i);
                     b[1] = static_cast<std::int8_t>(i >> 8);
                     const Operator op(product_node(b, 8, 64));
                   }),
            kFew);
}

TEST(Memory, ShapesThatComeAndGoLeaveNothing) {
  if (!core::has_vnni(core::cpu_isa_level())) GTEST_SKIP() << "oneDNN refuses these products";
  ASSERT_EQ(dnnl_set_primitive_cache_capacity(0), dnnl_success);  // oneDNN's own
  const std::vector<std::int8_t> b(2000 * 64);
  Options options;
  options.backend = "onednn";
  EXPECT_LE(growth(200, 1500,
                   [&](int i) {
                     const Operator op(product_node(b, i + 1, 64), options);
                     const std::vector<std::int64_t> dims{16, i + 1};
                     op.explain({TensorView(nullptr, DataType::uint8, dims)});
                   }),
            kFew);
}

#if defined(__GLIBC__) && !defined(OCTET_SANITIZED)
TEST(Memory, ScratchKeepsABoundedNumberOfBytes) {
  const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const std::size_t before = in_use();
  constexpr std::size_t kKept = (128 + 8) << 20;
  for (std::size_t bytes = 1024; bytes <= std::size_t{64} << 20; bytes *= 2) {
    std::deque<core::Scratch> peak;
    for (int i = 0; i < 40; ++i) peak.emplace_back(bytes);
    peak.clear();
    EXPECT_LE(in_use(), before + kKept + kKept / 8) << bytes;
  }
}
#endif

// What was used last is there the next time, whatever was used before.
TEST(Memory, ScratchKeepsWhatWasUsedLast) {
  const std::vector<std::size_t> sizes = {1000, 100000, std::size_t{3} << 20, std::size_t{40} << 20};
  for (int round = 0; round < 2; ++round) {
    std::deque<core::Scratch> peak;
    for (int i = 0; i < 30; ++i) peak.emplace_back(std::size_t{16} << 20);
  }
  std::vector<void*> first;
  for (int round = 0; round < 2; ++round) {
    std::deque<core::Scratch> buffers;
    for (const std::size_t size : sizes) buffers.emplace_back(size);
    std::vector<void*> found;
    for (const core::Scratch& buffer : buffers) found.push_back(buffer.bytes());
    if (round == 0) first = found;
    EXPECT_EQ(found, first);
  }
}

}  // namespace
}  // namespace octet::test
