// Mutated nodes and calls through octet::Operator: construction, inference, decision, run. Nothing but octet::Error may
// come out, and nothing may read or write where it should not (for the sanitizers). Meant for the asan build.
//
//   OCTET_FUZZ_COUNT=number   how many, instead of the standard
//   OCTET_FUZZ_TRACE=1        prints each one before it is tried: the last one printed is the one that crashed
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "test/fuzz/mutation.hpp"
#include "test/support/threads.hpp"

namespace octet::test {
namespace {

constexpr std::uint64_t kStandardCount = 2000;
constexpr std::size_t kMostOutputBytes = 1 << 20;

/// Memory for the outputs that inference gives; false where they are too large to try.
bool provide_outputs(const std::vector<ValueInfo>& infos, std::vector<Tensor>& outputs) {
  for (const ValueInfo& info : infos) {
    std::size_t bytes = 0;
    if (info.dtype == DataType::undefined) {
      outputs.emplace_back();
    } else {
      if (!byte_size(info.dtype, *info.dims, kMostOutputBytes, bytes)) return false;
      outputs.emplace_back(info.dtype, *info.dims);
    }
  }
  return true;
}

class CallFuzz {
 public:
  /// What became of the node: "computed", or where it was refused.
  std::string attempt(const MutatedNode& mutated) {
    std::string stage = "creation";
    try {
      const Operator op(mutated.node(), mutated.options);
      const std::vector<TensorView> inputs = mutated.call_inputs();
      stage = "inference";
      const std::vector<ValueInfo> infos = op.infer(inputs);
      stage = "decision";
      op.explain(inputs);
      stage = "run";
      run_with_mutated_outputs(op, inputs, mutated);
      std::vector<Tensor> outputs;
      if (!provide_outputs(infos, outputs)) return "too large to run";
      op.run(inputs, views(outputs), lend_threads(static_cast<int>(inputs.size() % 3)));
      for (const Tensor& output : outputs) EXPECT_TRUE(output.guards_intact()) << mutated.description();
      return "computed";
    } catch (const Error& error) {
      EXPECT_GT(std::string(error.what()).size(), 10U);
      EXPECT_NE(error.code(), ErrorCode::internal) << error.what() << "\n  " << mutated.description();
      return "refused at " + stage;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "not an octet::Error: " << error.what() << "\n  " << mutated.description();
      return "broken";
    }
  }

 private:
  /// The outputs as the mutation has them, which is often wrong.
  static void run_with_mutated_outputs(const Operator& op, const std::vector<TensorView>& inputs,
                                       const MutatedNode& mutated) {
    std::vector<std::vector<unsigned char>> memory;
    std::vector<TensorView> outputs;
    for (const MutatedTensor& tensor : mutated.outputs) {
      memory.push_back(tensor.memory);
      outputs.emplace_back(tensor.call_has_data ? memory.back().data() : nullptr, tensor.call_type,
                           tensor.call_has_dims ? tensor.call_dims.data() : nullptr, tensor.call_rank);
    }
    try {
      op.run(inputs, outputs);
    } catch (const Error&) {  // as good as a result
    }
  }
};

TEST(CallFuzz, OnlyErrorsOfOctetComeOut) {
  const std::vector<Case> corpus = fuzz_corpus();
  const bool trace = std::getenv("OCTET_FUZZ_TRACE") != nullptr;
  std::map<std::string, int> outcomes;
  CallFuzz fuzz;
  const std::uint64_t count = fuzz_count(kStandardCount);
  for (std::uint64_t seed = 0; seed < count && !testing::Test::HasFailure(); ++seed) {
    const MutatedNode mutated = mutated_node(corpus, seed);
    if (trace) std::fprintf(stderr, "%llu: %s\n", static_cast<unsigned long long>(seed), mutated.description().c_str());
    SCOPED_TRACE("seed " + std::to_string(seed));
    ++outcomes[fuzz.attempt(mutated)];
  }
  for (const auto& [outcome, times] : outcomes) std::printf("%6d %s\n", times, outcome.c_str());
  EXPECT_GT(outcomes["computed"], static_cast<int>(count / 10)) << "the mutations spoil too much to test anything";
  EXPECT_LT(outcomes["computed"], static_cast<int>(count - count / 10)) << "the mutations spoil too little";
}

}  // namespace
}  // namespace octet::test
