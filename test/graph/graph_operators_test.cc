// Every operator of the table through the graph builder: the case tables as models of one node.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "provider/core/registry.hpp"
#include "test/graph/graph_support.hpp"
#include "test/support/cases.hpp"

namespace octet::test {
namespace {

std::vector<GraphDim> extents(const Dims& dims) { return {dims.begin(), dims.end()}; }

/// The node of a case, its constants as constants.
class CaseGraph {
 public:
  explicit CaseGraph(const Case& test_case)
      : op_(*core::find_op(test_case.domain, test_case.op_type, test_case.opset_version)),
        graph_(test_case.domain.empty() ? test_case.opset_version : GraphBuilder::kDefaultOpset) {
    const std::vector<Tensor> inputs = make_inputs(test_case);
    GraphNode node{test_case.op_type, test_case.domain, "node", {}, test_case.attributes};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].present()) continue;
      const std::string& port = op_.input_port(i)->name;
      const std::string name = "in" + std::to_string(i);
      const GraphValue value = test_case.inputs[i].constant
                                   ? graph_.add_constant(inputs[i].view(), name)
                                   : graph_.add_input(name, inputs[i].dtype(), extents(inputs[i].dims()));
      if (node.inputs.empty() || node.inputs.back().port != port)
        node.inputs.emplace_back(port, value);
      else
        node.inputs.back().values.push_back(value);
    }
    outputs_ = graph_.add_node(node);
    for (std::size_t i = 0; i < test_case.outputs.size(); ++i)
      if (test_case.outputs[i].present()) graph_.add_output(outputs_[i], "out" + std::to_string(i));
  }

  GraphBuilder& graph() { return graph_; }
  const std::vector<GraphValue>& outputs() const { return outputs_; }

 private:
  const core::OpDef& op_;
  GraphBuilder graph_;
  std::vector<GraphValue> outputs_;
};

std::string expected_output(const Case& test_case, std::size_t i) {
  const PortSpec& port = test_case.outputs[i];
  // int32 or uint32, as the graph declares it: the builder has the definition's choice.
  const bool open = test_case.op_type == "ReduceSumInteger";
  const DataType type = open && test_case.inputs[0].dtype == DataType::uint8 ? DataType::uint32 : port.dtype;
  return describe({"", type, extents(port.dims)});
}

TEST(GraphOperators, EveryCaseIsAModelThatPassesTheCheckerAndInference) {
  std::set<std::string> built;
  for (const Case& test_case : selected_cases()) {
    SCOPED_TRACE(test_case.qualified_op() + " " + test_case.name);
    CaseGraph made(test_case);
    for (std::size_t i = 0; i < test_case.outputs.size(); ++i) {
      if (!test_case.outputs[i].present()) continue;
      EXPECT_EQ(describe(made.graph().info(made.outputs()[i])), expected_output(test_case, i));
    }
    ASSERT_EQ(error_of([&] { made.graph().check(); }), "no error");
    const onnx::ModelProto model = parsed(made.graph());
    ASSERT_EQ(model.graph().node_size(), 1);
    // hidden_size is written also where the case does not give it.
    for (const auto& attribute : model.graph().node(0).attribute())
      EXPECT_TRUE(test_case.attributes.count(attribute.name()) != 0 || attribute.name() == "hidden_size");
    built.insert(test_case.qualified_op());
  }
  for (const core::OpDef& op : core::op_defs()) EXPECT_EQ(built.count(core::qualified_name(op)), 1) << op.name;
}

/// A version of an operator is that of the opset which the model imports.
TEST(GraphOperators, EveryVersionIsReached) {
  for (const core::OpDef& op : core::op_defs()) {
    if (!op.domain.empty()) continue;
    SCOPED_TRACE(op.name + " " + std::to_string(op.since_version));
    GraphBuilder graph(op.since_version);
    // What only this version has shows that it is meant.
    const std::string error = error_of([&] { graph.add_node({op.name, "", "n", {}, {{"no_such", std::int64_t{1}}}}); });
    EXPECT_EQ(error, op.name + " 'n': input '" + op.inputs[0].name + "' is missing");
    GraphBuilder older(op.since_version - 1);
    const bool first = core::find_op("", op.name, op.since_version - 1) == nullptr;
    const std::string before = error_of([&] { older.add_node({op.name, "", "n"}); });
    EXPECT_EQ(before.find("from opset") != std::string::npos, first) << before;
  }
}

}  // namespace
}  // namespace octet::test
