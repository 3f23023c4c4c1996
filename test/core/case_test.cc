// Runs the case tables through octet::Operator: each backend, thread count, and constant or run-time inputs, compared
// bit for bit with the scalar reference.
//
//   OCTET_TEST_SAMPLE=count,seed   of each table only the fixed groups and `count` drawn cases
//   OCTET_TEST_SEED=number         other contents
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <sstream>

#include "provider/core/registry.hpp"
#include "test/reference/reference.hpp"
#include "test/support/cases.hpp"
#include "test/support/threads.hpp"

namespace octet::test {
namespace {

constexpr const char* kBackends[] = {"auto", "onednn", "vector", "eigen"};

struct Tally {
  int computed = 0;
  int refused = 0;
};
std::map<std::string, Tally>& tallies() {
  static std::map<std::string, Tally> by_backend;
  return by_backend;
}

std::string test_name(const std::string& name) {
  std::string result;
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return result;
}

/// A copy of the inputs and outputs one byte off their natural alignment.
class Misaligned {
 public:
  explicit Misaligned(const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      storage_.emplace_back(tensor.bytes() + 1);
      std::copy_n(tensor.data(), tensor.present() ? tensor.bytes() : 0, storage_.back().begin() + 1);
      views_.push_back(tensor.view());
      if (tensor.present()) views_.back().data = storage_.back().data() + 1;
    }
  }
  const std::vector<TensorView>& views() const { return views_; }
  void copy_to(std::vector<Tensor>& tensors) const {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].present()) std::copy_n(storage_[i].begin() + 1, tensors[i].bytes(), tensors[i].data());
  }

 private:
  std::vector<std::vector<unsigned char>> storage_;
  std::vector<TensorView> views_;
};

class CaseTest : public testing::Test {
 public:
  explicit CaseTest(const Case& test_case) : case_(test_case) {}

 protected:
  void TestBody() override {
    inputs_ = make_inputs(case_);
    expected_ = make_outputs(case_);
    reference::run(make_node(case_, inputs_, false), views(inputs_), views(expected_));
    for (const char* backend : kBackends) {
      run_backend(backend, false);
      if (has_constants(case_)) run_backend(backend, true);
    }
  }

 private:
  void run_backend(const std::string& backend, bool with_constants) {
    Options options;
    options.backend = backend;
    where_ = backend + (with_constants ? ", constants" : ", run-time inputs");
    Tally& tally = tallies()[backend];
    try {
      const Node node = make_node(case_, inputs_, with_constants);
      const Operator op(node, options);
      check_inference(op);
      for (int threads = 0; threads <= 3; ++threads) run_once(op, threads);
      if (!with_constants)
        for (int threads = 0; threads <= 3; ++threads) run_in_place(op, threads);
      run_misaligned(node, options);
      ++tally.computed;
    } catch (const Error& error) {
      const bool may_refuse = backend == "onednn" || backend == "vector";
      EXPECT_TRUE(may_refuse && error.code() == ErrorCode::not_implemented) << where_ << ": " << error.what();
      ++tally.refused;
    }
  }

  void check_inference(const Operator& op) {
    const std::vector<ValueInfo> inferred = op.infer(views(inputs_));
    ASSERT_EQ(inferred.size(), case_.outputs.size()) << where_;
    for (std::size_t i = 0; i < inferred.size(); ++i) {
      EXPECT_EQ(inferred[i].dtype, case_.outputs[i].dtype) << where_ << ", output " << i;
      if (case_.outputs[i].present()) {
        EXPECT_EQ(inferred[i].dims, case_.outputs[i].dims) << where_ << ", output " << i;
      }
    }
    const Decision decision = op.explain(views(inputs_));
    EXPECT_EQ(decision.implementation.find("ref"), std::string::npos) << where_ << ": " << decision.implementation;
    EXPECT_FALSE(decision.backend.empty()) << where_;
  }

  void run_once(const Operator& op, int threads) {
    std::vector<Tensor> outputs = dirty_outputs();
    op.run(views(inputs_), views(outputs), lend_threads(threads));
    compare(outputs, ", " + std::to_string(threads) + " lent threads");
  }

  /// The output in the memory of an input, where the definition allows it and the extents do.
  void run_in_place(const Operator& op, int threads) {
    const core::OpDef& def = *core::find_op(case_.domain, case_.op_type, case_.opset_version);
    for (const int i : def.in_place) {
      std::vector<Tensor> inputs = inputs_;
      Tensor& place = inputs[static_cast<std::size_t>(i)];
      if (place.dims() != case_.outputs[0].dims) continue;
      op.run(views(inputs), {place.view()}, lend_threads(threads));
      compare({place},
              ", in the place of input " + std::to_string(i) + ", " + std::to_string(threads) + " lent threads");
    }
  }

  void run_misaligned(Node node, const Options& options) {
    const Misaligned inputs(inputs_);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].constant != nullptr) node.inputs[i].constant = inputs.views()[i].data;
    const Operator op(node, options);
    std::vector<Tensor> outputs = dirty_outputs();
    const Misaligned results(outputs);
    op.run(inputs.views(), results.views());
    results.copy_to(outputs);
    compare(outputs, ", misaligned");
  }

  std::vector<Tensor> dirty_outputs() const {
    std::vector<Tensor> outputs = make_outputs(case_);
    for (Tensor& output : outputs)
      if (output.present()) std::fill_n(output.data(), output.bytes(), static_cast<unsigned char>(0xCD));
    return outputs;
  }

  void compare(const std::vector<Tensor>& outputs, const std::string& how) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].present()) continue;
      const std::string text = difference(outputs[i], expected_[i]);
      EXPECT_TRUE(text.empty()) << where_ << how << ", output " << i << ": " << text;
      EXPECT_TRUE(outputs[i].guards_intact()) << where_ << how << ", output " << i << ": written beyond its end";
    }
  }

  const Case& case_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> expected_;
  std::string where_;
};

class Summary : public testing::EmptyTestEventListener {
  void OnTestProgramEnd(const testing::UnitTest&) override {
    std::printf("instruction set %s\n", cpu_isa());
    for (const auto& [backend, tally] : tallies())
      std::printf("backend %s: %d operators computed, %d refused\n", backend.c_str(), tally.computed, tally.refused);
  }
};

void register_cases(const std::vector<Case>& cases) {
  for (const Case& test_case : cases) {
    testing::RegisterTest(test_name(test_case.qualified_op()).c_str(), test_name(test_case.name).c_str(), nullptr,
                          nullptr, __FILE__, __LINE__,
                          [&test_case]() -> testing::Test* { return new CaseTest(test_case); });
  }
}

}  // namespace
}  // namespace octet::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  static const std::vector<octet::test::Case> cases = octet::test::selected_cases();
  octet::test::register_cases(cases);
  testing::UnitTest::GetInstance()->listeners().Append(new octet::test::Summary);
  return RUN_ALL_TESTS();
}
