// One operator, many threads, changing shapes; the plan cache; lent threads. Meant for ThreadSanitizer, true without
// it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <octet/inner_product.hpp>

#include "provider/core/crew.hpp"
#include "provider/core/parallel.hpp"
#include "provider/core/plan_cache.hpp"
#include "test/reference/reference.hpp"
#include "test/support/cases.hpp"
#include "test/support/threads.hpp"

namespace octet::test {
namespace {

template <class Function>
void on_threads(int threads, const Function& function) {
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) pool.emplace_back([&function, t] { function(t); });
  for (std::thread& thread : pool) thread.join();
}

Case product_case(std::int64_t rows, const std::string& op_type) {
  Case result;
  result.op_type = op_type;
  result.domain = op_type == "MatMulInteger" ? "" : "com.microsoft";
  result.opset_version = op_type == "MatMulInteger" ? 10 : 1;
  result.name = "rows" + std::to_string(rows);
  const bool quantizes = op_type == "DynamicQuantizeMatMul";
  result.inputs = {{quantizes ? DataType::float32 : DataType::uint8, {rows, 70}, false, {}},
                   {DataType::int8, {70, 200}, true, {{"values", {1, -3, 127, -128, 55, 0, 99}}}}};
  if (quantizes)
    result.inputs.push_back({DataType::float32, {}, true, {{"values", {0.01}}}});
  else
    result.inputs.push_back({DataType::uint8, {}, false, {}});
  result.outputs = {{quantizes ? DataType::float32 : DataType::int32, {rows, 200}, false, {}}};
  return result;
}

struct Prepared {
  std::vector<Tensor> inputs, expected;
  Case test_case;
};

std::vector<Prepared> prepare(const std::string& op_type, int shapes) {
  std::vector<Prepared> result;
  for (int s = 0; s < shapes; ++s) {
    Prepared one;
    one.test_case = product_case(1 + 5 * s, op_type);
    one.inputs = make_inputs(one.test_case);
    one.expected = make_outputs(one.test_case);
    reference::run(make_node(one.test_case, one.inputs, false), views(one.inputs), views(one.expected));
    result.push_back(std::move(one));
  }
  return result;
}

class ConcurrencyTest : public testing::TestWithParam<const char*> {};

// Every thread runs every shape, in another order, with and without threads of its own.
TEST_P(ConcurrencyTest, OneOperatorManyThreadsChangingShapes) {
  constexpr int kThreads = 4, kShapes = 6, kRounds = 8;
  const std::vector<Prepared> prepared = prepare(GetParam(), kShapes);
  const Operator op(make_node(prepared[0].test_case, prepared[0].inputs, true));
  std::atomic<int> wrong{0};
  on_threads(kThreads, [&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      const Prepared& one = prepared[static_cast<std::size_t>((round * 5 + thread * 2) % kShapes)];
      std::vector<Tensor> outputs = make_outputs(one.test_case);
      op.run(views(one.inputs), views(outputs), lend_threads((round + thread) % 3));
      if (!difference(outputs[0], one.expected[0]).empty()) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// Operators of equal weights come and go while others run: they share packed weights and primitives.
TEST_P(ConcurrencyTest, OperatorsComeAndGo) {
  const std::vector<Prepared> prepared = prepare(GetParam(), 2);
  std::atomic<int> wrong{0};
  on_threads(4, [&](int thread) {
    for (int round = 0; round < 4; ++round) {
      const Prepared& one = prepared[static_cast<std::size_t>((round + thread) % 2)];
      const Operator op(make_node(one.test_case, one.inputs, true));
      std::vector<Tensor> outputs = make_outputs(one.test_case);
      op.run(views(one.inputs), views(outputs));
      if (!difference(outputs[0], one.expected[0]).empty()) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// A call that throws must not disturb its neighbours.
TEST_P(ConcurrencyTest, ErrorsBesideGoodCalls) {
  const std::vector<Prepared> prepared = prepare(GetParam(), 2);
  const Operator op(make_node(prepared[0].test_case, prepared[0].inputs, true));
  std::atomic<int> wrong{0}, thrown{0};
  on_threads(4, [&](int thread) {
    const Prepared& one = prepared[static_cast<std::size_t>(thread % 2)];
    for (int round = 0; round < 8; ++round) {
      std::vector<Tensor> outputs = make_outputs(one.test_case);
      std::vector<TensorView> inputs = views(one.inputs);
      const std::vector<std::int64_t> bad{3, 71};
      const bool spoil = round % 2 == 0 && thread >= 2;
      if (spoil) inputs[0] = TensorView(inputs[0].data, inputs[0].dtype, bad);
      try {
        op.run(inputs, views(outputs));
        if (spoil || !difference(outputs[0], one.expected[0]).empty()) ++wrong;
      } catch (const Error&) {
        ++thrown;
        if (!spoil) ++wrong;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(thrown, 8);
}

INSTANTIATE_TEST_SUITE_P(Products, ConcurrencyTest, testing::Values("MatMulInteger", "DynamicQuantizeMatMul"),
                         [](const auto& parameter) { return std::string(parameter.param); });

// --- threads of our own

std::ptrdiff_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// Large enough that a library which likes threads would take some.
TEST(Threads, NoBackendStartsAny) {
  const std::vector<std::int64_t> a_dims{128, 512}, b_dims{512, 512}, y_dims{128, 512};
  const std::vector<std::uint8_t> a(128 * 512, 3);
  const std::vector<std::int8_t> b(512 * 512, -5);
  std::vector<std::int32_t> y(128 * 512);
  for (const char* backend : {"onednn", "vector", "eigen"}) {
    Node node;
    node.op_type = "MatMulInteger";
    node.domain = "";
    node.opset_version = 10;
    node.inputs = {{DataType::uint8}, {DataType::int8, b_dims, b.data()}};
    Options options;
    options.backend = backend;
    const std::ptrdiff_t before = threads_of_this_process();
    try {
      const Operator product(node, options);
      product.run({TensorView(a.data(), DataType::uint8, a_dims)}, {TensorView(y.data(), DataType::int32, y_dims)});
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::not_implemented) << error.what();
      continue;
    }
    EXPECT_EQ(y.back(), 512 * 3 * -5) << backend;
    EXPECT_EQ(threads_of_this_process(), before) << backend;
  }
}

// --- the plan cache
// ---------------------------------------------------------------------------------------------------

class NoPlan final : public core::Plan {
 public:
  NoPlan() : Plan(Decision{"none", "nothing", {}}) {}
  void run(const Call&, const TensorView*, const TensorView*) const override {}
};

const std::vector<std::size_t> kFirst{0};
core::VaryingInputs one_input(const TensorView& view) { return {&view, 1, kFirst}; }

struct Key {
  explicit Key(std::int64_t extent) : dims{extent} { view = TensorView(nullptr, DataType::uint8, dims); }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  std::vector<std::int64_t> dims;
  TensorView view;
};

std::shared_ptr<const core::PlanEntry> entry_for(const Key& key) {
  return std::make_shared<core::PlanEntry>(
      core::PlanEntry{core::PlanKey(one_input(key.view)), {}, std::make_unique<const NoPlan>()});
}

TEST(PlanCache, BuildsOnceForManyThreads) {
  core::PlanCache cache;
  std::atomic<int> built{0};
  const Key key(7);
  on_threads(8, [&](int) {
    const auto entry = cache.get(one_input(key.view), [&] {
      ++built;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return entry_for(key);
    });
    EXPECT_TRUE(entry->key.matches(one_input(key.view)));
  });
  EXPECT_EQ(built, 1);
  EXPECT_EQ(cache.counters().misses, 1U);
  EXPECT_EQ(cache.counters().hits, 7U);
  EXPECT_EQ(cache.counters().evictions, 0U);
}

// Few rows, which threads share, and many, of which each takes some.
TEST(LentThreads, ShareAnInnerProduct) {
  constexpr std::size_t kN = 300, kK = 200;
  const std::vector<float> b(kN * kK, 0.5F);
  for (const bool constant : {true, false})
    for (const std::size_t m : {std::size_t{3}, std::size_t{100}}) {
      InnerProductOptions options;
      options.constant_b = constant;
      const InnerProduct product(m, kN, kK, options, {constant ? ConstElements(b) : ConstElements(), {}, {}, {}});
      std::vector<float> a(m * kK), alone(m * kN);
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 17) - 8;
      const auto forward = [&](std::vector<float>& c, const Call& call) {
        product.forward(a, constant ? ConstElements() : ConstElements(b), c, call);
      };
      forward(alone, {});
      on_threads(2, [&](int) {
        std::vector<float> c(m * kN);
        for (int i = 0; i < 20; ++i) {
          forward(c, lend_threads(3));
          EXPECT_EQ(c, alone);
        }
      });
    }
}

struct PhasedWork {
  static constexpr int kPhases = 50;
  static constexpr std::uint32_t kParts = 3;

  int phase = 0;
  int failing_phase = -1;
  std::atomic<int> runs[kPhases][kParts] = {};

  void run_part(std::uint32_t part) {
    ++runs[phase][part];
    if (phase == failing_phase && part == 1) throw std::runtime_error("a part fails");
  }
  bool advance() { return ++phase < kPhases; }
};

TEST(Crew, RunsEachPartOfEachPhaseOnceWhoeverJoins) {
  for (const int threads : {1, 2, 3, 7}) {
    PhasedWork work;
    core::Crew<PhasedWork> crew(work, PhasedWork::kParts);
    on_threads(threads, [&](int t) { crew.join(static_cast<std::uint32_t>(t)); });
    for (const auto& phase : work.runs)
      for (const std::atomic<int>& runs : phase) EXPECT_EQ(runs, 1) << threads << " threads";
  }
}

TEST(Crew, APartThatFailsEndsTheWorkOfAll) {
  for (const int threads : {1, 2, 3, 7}) {
    PhasedWork work;
    work.failing_phase = 20;
    core::Crew<PhasedWork> crew(work, PhasedWork::kParts);
    std::atomic<int> errors{0};
    on_threads(threads, [&](int t) {
      try {
        crew.join(static_cast<std::uint32_t>(t));
      } catch (const std::runtime_error&) {
        ++errors;
      }
    });
    EXPECT_EQ(errors, 1) << threads << " threads";
    EXPECT_EQ(work.phase, 20);
  }
}

TEST(PlanCache, IsBoundedAndDropsTheLeastRecentlyUsed) {
  core::PlanCache cache;
  const Key kept(1000000);
  const auto touch = [&](const Key& key) { return cache.get(one_input(key.view), [&] { return entry_for(key); }); };
  touch(kept);
  constexpr std::int64_t kOthers = 3 * static_cast<std::int64_t>(core::PlanCache::kCapacity);
  for (std::int64_t i = 0; i < kOthers; ++i) {
    touch(Key(i));
    touch(kept);
  }
  const auto counters = cache.counters();
  EXPECT_EQ(counters.misses, static_cast<std::uint64_t>(kOthers) + 1);
  EXPECT_EQ(counters.hits, static_cast<std::uint64_t>(kOthers));
  EXPECT_EQ(counters.evictions, counters.misses - core::PlanCache::kCapacity);
  touch(Key(0));
  EXPECT_EQ(cache.counters().misses, counters.misses + 1) << "the first of the others must be gone";
}

TEST(PlanCache, AFailedBuildLeavesNothing) {
  core::PlanCache cache;
  const Key key(7);
  EXPECT_THROW(
      cache.get(one_input(key.view),
                []() -> std::shared_ptr<const core::PlanEntry> { throw Error(ErrorCode::invalid_argument, "no"); }),
      Error);
  EXPECT_NE(cache.get(one_input(key.view), [&] { return entry_for(key); }), nullptr);
  EXPECT_EQ(cache.counters().misses, 1U);
}

TEST(PlanCache, KeyHoldsTypeRankAndPresence) {
  const std::vector<std::int64_t> one{6}, two{2, 3};
  const TensorView views[] = {TensorView(nullptr, DataType::uint8, one), TensorView(nullptr, DataType::int8, one),
                              TensorView(nullptr, DataType::uint8, two), TensorView()};
  for (const TensorView& left : views)
    for (const TensorView& right : views)
      EXPECT_EQ(core::PlanKey(one_input(left)).matches(one_input(right)), &left == &right);
}

TEST(PlanCache, KeyLeavesOutInputsThatDoNotVary) {
  const std::vector<std::int64_t> one{6}, two{2, 3};
  const TensorView first[] = {TensorView(nullptr, DataType::uint8, one), TensorView(nullptr, DataType::int8, one)};
  const TensorView second[] = {TensorView(nullptr, DataType::uint8, two), TensorView(nullptr, DataType::int8, one)};
  const std::vector<std::size_t> last{1}, both{0, 1}, absent{1, 2};
  EXPECT_TRUE(core::PlanKey({first, 2, last}).matches({second, 2, last}));
  EXPECT_FALSE(core::PlanKey({first, 2, both}).matches({second, 2, both}));
  EXPECT_TRUE(core::PlanKey({first, 2, absent}).matches({second, 2, absent}));
}

// --- lent threads
// -------------------------------------------------------------------------------------------------------

TEST(ParallelFor, RunsEveryIndexOnce) {
  for (int threads = 0; threads <= 4; ++threads) {
    std::vector<std::atomic<int>> visits(100);
    core::parallel_for(lend_threads(threads), visits.size(), [&](std::size_t i) { ++visits[i]; });
    for (const auto& visit : visits) EXPECT_EQ(visit, 1) << threads;
  }
}

TEST(ParallelFor, RethrowsOneExceptionAfterAllTasks) {
  std::atomic<int> ran{0};
  const auto run = [&] {
    core::parallel_for(lend_threads(4), 64, [&](std::size_t i) {
      ++ran;
      if (i % 7 == 0) throw std::runtime_error("task " + std::to_string(i));
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_EQ(ran, 64);
}

TEST(ParallelFor, EveryPartOutweighsTheFork) {
  Call call = lend_threads(4);
  for (const std::int32_t fork : {0, 1, 1000, 7000}) {
    call.fork_nanoseconds = fork;
    std::size_t before = 1;
    for (const double work : {0.0, 1.0, 1e3, 1e4, 3e4, 1e5, 1e9}) {
      const std::size_t parts = core::parts_for(call, work);
      EXPECT_GE(parts, before) << fork << ", " << work;
      EXPECT_LE(parts, 4U);
      EXPECT_TRUE(parts == 1 || work / static_cast<double>(parts) >= 2.0 * fork) << fork << ", " << work;
      before = parts;
    }
    EXPECT_EQ(before, 4U) << fork;
  }
}

TEST(ParallelFor, SplitCoversEverythingInWholeGrains) {
  for (const std::int64_t count : {0, 1, 63, 64, 65, 1000})
    for (const std::size_t parts : {1U, 2U, 3U, 7U}) {
      std::int64_t end = 0;
      for (std::size_t i = 0; i < parts; ++i) {
        const core::Range range = core::split(count, 64, parts, i);
        EXPECT_EQ(range.begin, end);
        EXPECT_TRUE(range.begin % 64 == 0 || range.begin == count);
        end = range.end;
      }
      EXPECT_EQ(end, count);
    }
}

}  // namespace
}  // namespace octet::test
