// Every operator of the table is complete: documented, covered by cases, by the reference, and by an Eigen plan for
// whatever no other backend takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "provider/core/registry.hpp"
#include "test/reference/reference.hpp"
#include "test/support/cases.hpp"
#include "test/support/error_of.hpp"

namespace octet::test {
namespace {

/// The cases of each definition, by its address in the table.
const std::map<const core::OpDef*, std::vector<Case>>& cases_by_definition() {
  static const auto* const cases = [] {
    auto* by_definition = new std::map<const core::OpDef*, std::vector<Case>>;
    for (const auto& file : table_files())
      for (Case& test_case : load_table(file))
        (*by_definition)[core::find_op(test_case.domain, test_case.op_type, test_case.opset_version)].push_back(
            test_case);
    return by_definition;
  }();
  return *cases;
}

bool has_only_empty_outputs(const Case& test_case) {
  return std::all_of(test_case.outputs.begin(), test_case.outputs.end(),
                     [](const PortSpec& output) { return !output.present() || elements_of(output.dims) == 0; });
}

class RegistryTest : public testing::TestWithParam<const core::OpDef*> {
 protected:
  const core::OpDef& op() const { return *GetParam(); }
};

TEST_P(RegistryTest, IsDocumented) {
  EXPECT_GE(op().doc.size(), 40U);
  for (const core::PortDef& port : op().inputs) EXPECT_FALSE(port.doc.empty()) << "input " << port.name;
  for (const core::PortDef& port : op().outputs) EXPECT_FALSE(port.doc.empty()) << "output " << port.name;
  for (const core::AttributeDef& attribute : op().attributes) EXPECT_FALSE(attribute.doc.empty()) << attribute.name;
  for (const core::TypeConstraint& types : op().type_constraints) {
    EXPECT_FALSE(types.doc.empty()) << types.name;
    EXPECT_FALSE(types.types.empty()) << types.name;
  }
}

TEST_P(RegistryTest, IsWellFormed) {
  EXPECT_NE(op().infer, nullptr);
  EXPECT_EQ(core::find_op(op().domain, op().name, op().since_version), &op());
  std::set<std::string> names;
  for (const core::PortDef& port : op().inputs) {
    EXPECT_TRUE(names.insert(port.name).second) << "two inputs are called " << port.name;
    EXPECT_FALSE(op().allowed_types(port).empty()) << port.name;
  }
  for (const core::PortDef& port : op().outputs) EXPECT_FALSE(op().allowed_types(port).empty()) << port.name;
}

TEST_P(RegistryTest, HasKernelAndBackends) {
  EXPECT_NE(core::kernel_maker(op()), nullptr);
  EXPECT_FALSE(core::kernel_backends(op()).empty());
}

TEST_P(RegistryTest, HasCasesAndReference) {
  EXPECT_EQ(cases_by_definition().count(&op()), 1U) << "no case in test/cases";
  EXPECT_TRUE(reference::knows(op().domain, op().name));
}

TEST_P(RegistryTest, EigenComputesIt) {
  const auto cases = cases_by_definition().find(&op());
  if (cases == cases_by_definition().end()) return;  // HasCasesAndReference has its say
  Options options;
  options.backend = "eigen";
  bool computed = false;
  for (const Case& test_case : cases->second) {
    const std::vector<Tensor> inputs = make_inputs(test_case);
    const Operator op(make_node(test_case, inputs, true), options);
    const Decision decision = op.explain(views(inputs));
    EXPECT_TRUE(decision.backend == "eigen" || decision.backend == "none")
        << test_case.name << ": " << decision.backend;
    computed = computed || decision.backend == "eigen";
  }
  EXPECT_TRUE(computed);
}

// Nothing is computed, so that no backend may refuse it, whichever the options allow.
TEST_P(RegistryTest, AnEmptyOutputNeedsNoBackend) {
  const auto cases = cases_by_definition().find(&op());
  if (cases == cases_by_definition().end()) return;  // HasCasesAndReference has its say
  for (const Case& test_case : cases->second) {
    if (!has_only_empty_outputs(test_case)) continue;
    const std::vector<Tensor> inputs = make_inputs(test_case), outputs = make_outputs(test_case);
    for (const char* backend : {"auto", "onednn", "vector", "eigen"}) {
      Options options;
      options.backend = backend;
      const Operator op(make_node(test_case, inputs, true), options);
      EXPECT_EQ(op.explain(views(inputs)).backend, "none") << test_case.name << ", " << backend;
      op.run(views(inputs), views(outputs));
    }
  }
}

// Also where a plan without it is there already.
TEST_P(RegistryTest, RefusesAnInputThatTheNodeWasBuiltWithout) {
  const auto cases = cases_by_definition().find(&op());
  if (cases == cases_by_definition().end()) return;  // HasCasesAndReference has its say
  const Tensor one(DataType::uint8, {});
  for (const Case& test_case : cases->second) {
    if (!test_case.fixed) continue;
    const std::vector<Tensor> inputs = make_inputs(test_case), outputs = make_outputs(test_case);
    const Operator operation(make_node(test_case, inputs, false));
    operation.run(views(inputs), views(outputs));
    for (std::size_t i = 0; i < op().inputs.size(); ++i) {
      std::vector<TensorView> given = views(inputs);
      given.resize(std::max(given.size(), i + 1));
      if (given[i].present()) continue;
      given[i] = one.view();
      EXPECT_NE(error_of([&] { operation.run(given, views(outputs)); }), "no error")
          << test_case.name << ", " << op().inputs[i].name;
    }
  }
}

TEST_P(RegistryTest, CasesGiveAndLeaveOutEveryInput) {
  const auto cases = cases_by_definition().find(&op());
  if (cases == cases_by_definition().end()) return;  // HasCasesAndReference has its say
  for (std::size_t i = 0; i < op().inputs.size(); ++i) {
    bool given = false, absent = false;
    for (const Case& test_case : cases->second) {
      const bool present = i < test_case.inputs.size() && test_case.inputs[i].present();
      given = given || present;
      absent = absent || !present;
    }
    EXPECT_TRUE(given) << "no case gives input " << op().inputs[i].name;
    if (op().inputs[i].option == core::PortOption::optional) {
      EXPECT_TRUE(absent) << "no case leaves out input " << op().inputs[i].name;
    }
  }
}

std::vector<const core::OpDef*> all_definitions() {
  std::vector<const core::OpDef*> result;
  for (const core::OpDef& op : core::op_defs()) result.push_back(&op);
  return result;
}

std::string definition_name(const testing::TestParamInfo<const core::OpDef*>& info) {
  std::string name = core::qualified_name(*info.param) + "_" + std::to_string(info.param->since_version);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Every, RegistryTest, testing::ValuesIn(all_definitions()), definition_name);

TEST(Registry, EveryFamilyHasACaseOfAnEmptyOutput) {
  std::set<core::Family> families, with_case;
  for (const core::OpDef& op : core::op_defs()) families.insert(op.family);
  for (const auto& [op, cases] : cases_by_definition())
    if (std::any_of(cases.begin(), cases.end(), has_only_empty_outputs)) with_case.insert(op->family);
  EXPECT_EQ(with_case, families);
}

TEST(Registry, TablesBelongToOperators) {
  for (const auto& file : table_files())
    for (const Case& test_case : load_table(file)) {
      EXPECT_EQ(file.stem().string(), test_case.qualified_op());
      EXPECT_NE(core::find_op(test_case.domain, test_case.op_type, test_case.opset_version), nullptr) << file;
    }
}

TEST(Registry, CaseNamesAreUnique) {
  std::set<std::string> names;
  for (const auto& file : table_files())
    for (const Case& test_case : load_table(file))
      EXPECT_TRUE(names.insert(test_case.qualified_op() + "/" + test_case.name).second) << test_case.name;
}

TEST(Registry, HasTheFourteenOperatorsOfMicrosoft) {
  std::set<std::string> names;
  for (const core::OpDef& op : core::op_defs())
    if (op.domain == "com.microsoft") names.insert(op.name);
  EXPECT_EQ(names, (std::set<std::string>{"DequantizeLinear", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul",
                                          "MatMulIntegerToFloat", "MulInteger", "QGemm", "QLinearAdd", "QLinearConcat",
                                          "QLinearLeakyRelu", "QLinearMul", "QLinearReduceMean", "QLinearSigmoid",
                                          "QuantizeLinear", "ReduceSumInteger"}));
}

}  // namespace
}  // namespace octet::test
