// GraphBuilder: names, versions, outputs, going on from a model, and wrong use.
#include <onnx/defs/parser.h>

#include <algorithm>

#include "test/graph/graph_support.hpp"

namespace octet::test {
namespace {

using Strings = std::vector<std::string>;

GraphBuilder loaded(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text);
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  const std::string bytes = model.SerializeAsString();
  return GraphBuilder::from_model(bytes.data(), bytes.size());
}

TEST(GraphBuilder, WritesWhatWasAdded) {
  SigmoidGraph made;
  made.graph.add_output(made.y, "y");
  made.graph.check();
  const onnx::ModelProto model = parsed(made.graph);
  EXPECT_EQ(model.ir_version(), 10);
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(0).version(), 21);
  EXPECT_EQ(model.opset_import(1).domain(), "com.microsoft");
  EXPECT_EQ(model.opset_import(1).version(), 1);
  ASSERT_EQ(model.graph().node_size(), 1);
  const onnx::NodeProto& node = model.graph().node(0);
  EXPECT_EQ(node.name(), "sigmoid");
  EXPECT_EQ(node.op_type(), "QLinearSigmoid");
  EXPECT_EQ(Strings(node.input().begin(), node.input().end()), (Strings{"x", "s", "z", "s", "z"}));
  EXPECT_EQ(Strings(node.output().begin(), node.output().end()), (Strings{"y"}));
  ASSERT_EQ(model.graph().output_size(), 1);
  EXPECT_EQ(model.graph().output(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(describe(made.graph.info(made.y)), "uint8[N,4]");
}

TEST(GraphBuilder, LeavesOutAbsentInputsAndUnusedOptionalOutputs) {
  SigmoidGraph made;
  GraphNode node{"QLinearSigmoid", "com.microsoft", "again"};
  node.inputs = {{"Y_scale", made.s}, {"X", made.y}, {"X_scale", made.s}, {"X_zero_point", GraphValue()}};
  made.graph.add_output(made.graph.add_node(node)[0]);
  made.graph.check();
  const onnx::ModelProto model = parsed(made.graph);
  const auto& inputs = model.graph().node(1).input();
  EXPECT_EQ(Strings(inputs.begin(), inputs.end()), (Strings{"sigmoid/Y", "s", "", "s"}));
  EXPECT_EQ(model.graph().output(0).name(), "again/Y");
}

TEST(GraphBuilder, VariadicInputsKeepTheirOrder) {
  SigmoidGraph made;
  GraphNode node{"QLinearConcat"};
  node.inputs = {
      {"inputs", {made.x, made.s, made.z, made.y, made.s, made.z}}, {"Y_scale", made.s}, {"Y_zero_point", made.z}};
  node.attributes = {{"axis", std::int64_t{1}}};
  const GraphValue y = made.graph.add_node(node)[0];
  made.graph.add_output(y);
  made.graph.check();
  EXPECT_EQ(describe(made.graph.info(y)), "uint8[N,8]");
  const onnx::ModelProto model = parsed(made.graph);
  const auto& inputs = model.graph().node(1).input();
  EXPECT_EQ(Strings(inputs.begin(), inputs.end()), (Strings{"s", "z", "x", "s", "z", "sigmoid/Y", "s", "z"}));
}

TEST(GraphBuilder, MakesUpNamesThatAreNew) {
  SigmoidGraph made;
  made.graph.add_input("input", DataType::uint8, {});
  const GraphValue input = made.graph.add_input("", DataType::uint8, {});
  const GraphValue second = made.graph.add_input("", DataType::uint8, {});
  EXPECT_EQ(names(made.graph, {input, second}), (Strings{"input_1", "input_2"}));
  const auto first = made.graph.add_node(made.node(""));
  const auto next = made.graph.add_node(made.node(""));
  EXPECT_EQ(names(made.graph, {first[0], next[0]}), (Strings{"QLinearSigmoid/Y", "QLinearSigmoid_1/Y"}));
  EXPECT_EQ(names(made.graph, made.graph.inputs()), (Strings{"x", "input", "input_1", "input_2"}));
}

TEST(GraphBuilder, OutputsThatCannotTakeANameGoThroughIdentity) {
  SigmoidGraph made;
  made.graph.add_output(made.y, "y");
  made.graph.add_output(made.y, "again");
  made.graph.add_output(made.x, "input");
  made.graph.add_output(made.s);
  made.graph.check();
  EXPECT_EQ(names(made.graph, made.graph.outputs()), (Strings{"y", "again", "input", "s_output"}));
  const onnx::ModelProto model = parsed(made.graph);
  EXPECT_EQ(model.graph().node_size(), 4);
  EXPECT_EQ(describe(made.graph.info(made.graph.value("input"))), "uint8[N,4]");
  made.graph.remove_output(made.y);
  EXPECT_EQ(names(made.graph, made.graph.outputs()), (Strings{"again", "input", "s_output"}));
  made.graph.check();
}

TEST(GraphBuilder, TheIrVersionIsTheLowestThatHoldsTheGraph) {
  const auto version = [](GraphBuilder& graph) { return parsed(graph).ir_version(); };
  for (const auto& [opset, expected] : std::vector<std::pair<int, int>>{
           {10, 5}, {11, 6}, {13, 7}, {14, 7}, {15, 8}, {18, 8}, {19, 9}, {21, 10}, {22, 10}, {23, 11}, {25, 13}}) {
    SigmoidGraph made(opset);
    EXPECT_EQ(version(made.graph), expected) << opset;
    GraphNode node = made.node("with metadata");
    node.metadata = {{"key", "value"}};
    made.graph.add_node(node);
    EXPECT_EQ(version(made.graph), std::max(expected, 10)) << opset;
  }
  for (const auto& [type, expected] : std::vector<std::pair<DataType, int>>{{DataType::int8, 5},
                                                                            {DataType::float8e5m2, 9},
                                                                            {DataType::int4, 10},
                                                                            {DataType::float4e2m1, 11},
                                                                            {DataType::float8e8m0, 12},
                                                                            {DataType::uint2, 13},
                                                                            {DataType::float6e2m3, 14}}) {
    GraphBuilder graph(10);
    graph.add_input("x", type, {2});
    EXPECT_EQ(version(graph), expected) << data_type_name(type);
  }
}

const char* const kLoaded = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x, bool c) => (float[N,4] y)
<float[4] w = {1, 2, 3, 4}>
{
  [add] sum = Add (x, w)
  [choose] y = If (c) <then_branch = then_graph () => (float[N,4] t) { [inner] t = Neg (sum) },
                       else_branch = else_graph () => (float[N,4] e) { e = Identity (sum) }>
})";

TEST(GraphBuilder, GoesOnFromAModel) {
  GraphBuilder graph = loaded(kLoaded);
  EXPECT_EQ(names(graph, graph.inputs()), (Strings{"x", "c"}));
  EXPECT_EQ(names(graph, graph.outputs()), (Strings{"y"}));
  EXPECT_EQ(describe(graph.info(graph.value("sum"))), "float[N,4]");
  EXPECT_EQ(describe(graph.info(graph.value("w"))), "float[4]");
  const auto quantized = graph.add_node({"DynamicQuantizeLinear", "", "", {{"x", graph.value("sum")}}});
  graph.add_output(quantized[0], "q");
  graph.add_output(graph.value("sum"));
  SigmoidGraph other;  // a domain that the model did not import
  const float scale = 1;
  const GraphValue s = graph.add_constant({&scale, DataType::float32, nullptr, 0}, "s");
  GraphNode sigmoid{"QLinearSigmoid"};
  sigmoid.inputs = {{"X", quantized[0]}, {"X_scale", s}, {"Y_scale", s}};
  graph.add_node(sigmoid);
  graph.remove_output(graph.value("y"));
  graph.check();
  const onnx::ModelProto model = parsed(graph);
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.graph().initializer_size(), 2);
  EXPECT_EQ(model.graph().node_size(), 4);
  ASSERT_EQ(model.graph().output_size(), 2);
  EXPECT_EQ(model.graph().output(0).name(), "q");
  EXPECT_EQ(model.graph().output(1).name(), "sum");
  EXPECT_EQ(reloaded(graph).serialize(), graph.serialize());
}

TEST(GraphBuilder, NamesInsideSubgraphsAreTaken) {
  GraphBuilder graph = loaded(kLoaded);
  EXPECT_EQ(error_of([&] { graph.add_input("t", DataType::uint8, {}); }),
            "input 't': the graph has a value 't' already");
  GraphNode node{"DynamicQuantizeLinear", "", "inner", {{"x", graph.value("x")}}};
  EXPECT_EQ(error_of([&] { graph.add_node(node); }),
            "DynamicQuantizeLinear 'inner': the graph has a node of this name already");
  EXPECT_EQ(error_of([&] { graph.value("t"); }), "the graph has no value 't'");
}

TEST(GraphBuilder, RenamedOutputsOfLoadedModelsGoThroughIdentity) {
  GraphBuilder graph = loaded(kLoaded);
  graph.add_output(graph.value("sum"), "total");
  graph.check();
  EXPECT_EQ(parsed(graph).graph().node(2).op_type(), "Identity");
}

TEST(GraphBuilder, ModelsThatAreBrokenAreRefused) {
  const auto refused = [](const std::string& body) {
    return error_of([&] { loaded(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> )" + body); });
  };
  EXPECT_NE(refused("g (float[2] x) => (float[2] y) { y = Add (x, z)  z = Neg (y) }").find("z"), std::string::npos);
  EXPECT_NE(refused("g (float[2] x) => (float[2] y) { y = Neg (x)  y = Abs (x) }").find("y"), std::string::npos);
  EXPECT_NE(refused("g (float[2] x) => (float[2] y) { y = NoSuchOperator (x) }").find("NoSuch"), std::string::npos);
  EXPECT_NE(refused("g (float[2] x) => (float[2] y) { z = Neg (x) }").find("'y'"), std::string::npos);
  EXPECT_NE(refused("g (float[2] x) => (float[2] y, float[2] y) { y = Neg (x) }").find("y"), std::string::npos);
  EXPECT_NE(error_of([] {
              loaded(R"(<ir_version: 8, opset_import: ["com.microsoft" : 1]> g (float[2] x) => (float[2] x) {})");
            }),
            "no error");
  EXPECT_NE(error_of([] {
              loaded(R"(<ir_version: 99, opset_import: ["" : 17]> g (float[2] x) => (float[2] x) {})");
            }).find("IR version 99"),
            std::string::npos);
  EXPECT_EQ(error_of([] { GraphBuilder::from_model("junk", 4); }), "the bytes are no serialized ModelProto");
  EXPECT_EQ(error_of([] { GraphBuilder::from_model(nullptr, 0); }), "the bytes are no serialized ModelProto");
  EXPECT_EQ(error_of([] { GraphBuilder::from_file("no/such/file"); }), "no/such/file: cannot be read");
}

TEST(GraphBuilder, WrongUseIsAnErrorOfItsCallAndChangesNothing) {
  SigmoidGraph made;
  SigmoidGraph other;
  GraphBuilder& graph = made.graph;
  graph.add_output(made.y, "y");
  const std::string before = graph.serialize();
  const auto with = [&](const std::string& name, auto change) {
    GraphNode node = made.node(name);
    change(node);
    return error_of([&] { graph.add_node(node); });
  };
  const auto input = [](std::size_t i, GraphValue value) {
    return [=](GraphNode& node) { node.inputs[i].values = {value}; };
  };
  const GraphValue nothing;

  EXPECT_EQ(with("n", input(0, other.x)), "QLinearSigmoid 'n': input 'X' is a value of another graph");
  EXPECT_EQ(with("n", input(0, nothing)), "QLinearSigmoid 'n': input 'X' is missing");
  EXPECT_EQ(with("n", input(0, GraphValue(made.x.number() + 1000))),
            "QLinearSigmoid 'n': input 'X' is no value of this graph");
  EXPECT_EQ(with("n", input(2, made.s)),
            "QLinearSigmoid 'n': input 'X_zero_point' has type float, expected uint8 or int8");
  EXPECT_EQ(with("n", input(1, made.x)), "QLinearSigmoid 'n': input 'X_scale' has type uint8, expected float");
  EXPECT_EQ(with("n", [&](GraphNode& node) { node.inputs[0].port = "W"; }),
            "QLinearSigmoid 'n': the operator has no input 'W', its inputs are X, X_scale, X_zero_point, Y_scale and "
            "Y_zero_point");
  EXPECT_EQ(with("n", [&](GraphNode& node) { node.inputs[0].port = "X_scale"; }),
            "QLinearSigmoid 'n': input 'X_scale' is given twice");
  EXPECT_EQ(with("n", [&](GraphNode& node) { node.inputs[0].values.push_back(made.x); }),
            "QLinearSigmoid 'n': input 'X' has 2 values, expected 1");
  EXPECT_EQ(with("n", [&](GraphNode& node) { node.attributes = {{"alpha", 1.0F}}; }),
            "QLinearSigmoid 'n': the operator has no attribute 'alpha'");
  EXPECT_EQ(with("sigmoid", [](GraphNode&) {}), "QLinearSigmoid 'sigmoid': the graph has a node of this name already");
  EXPECT_EQ(with("n", [](GraphNode& node) { node.op_type = "Sigmoid"; }),
            "Sigmoid 'n': domain com.microsoft has no such operator in Octet's table");
  EXPECT_EQ(with("n", [](GraphNode& node) { node.domain = "ai.onnx"; }),
            "QLinearSigmoid 'n': domain ai.onnx has no such operator in Octet's table");
  GraphBuilder old(9);
  EXPECT_EQ(error_of([&] { old.add_node({"MatMulInteger", "", "n"}); }),
            "MatMulInteger 'n': the operator is there from opset 10 of ai.onnx on, but the model imports opset 9");

  EXPECT_EQ(error_of([&] { graph.add_input("x", DataType::uint8, {}); }),
            "input 'x': the graph has a value 'x' already");
  EXPECT_EQ(error_of([&] { graph.add_input("i", DataType::uint8, {-2}); }), "input 'i' has the negative extent -2");
  EXPECT_NE(error_of([&] { graph.add_input("i", DataType::string, {}); }).find("input 'i': type 8 (string)"),
            std::string::npos);
  EXPECT_NE(error_of([&] { graph.add_input("i", static_cast<DataType>(99), {}); }).find("type 99"), std::string::npos);
  EXPECT_EQ(error_of([&] { graph.add_constant({nullptr, DataType::uint8, {2}}, "c"); }), "constant 'c' has no data");
  EXPECT_EQ(error_of([&] { graph.add_constant({"", DataType::uint8, {-1}}, "c"); }),
            "constant 'c' has the negative extent -1");
  EXPECT_NE(error_of([&] { graph.add_constant({"", DataType::uint8, {1L << 40, 1L << 40}}, "c"); }).find("memory"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { graph.add_output(made.y); }), "output '': value 'y' is an output already");
  EXPECT_EQ(error_of([&] { graph.add_output(made.x, "y"); }), "output 'y': the graph has a value 'y' already");
  EXPECT_EQ(error_of([&] { graph.add_output(made.x, "x"); }), "output 'x': the graph has a value 'x' already");
  EXPECT_EQ(error_of([&] { graph.add_output(other.y); }), "output '' is a value of another graph");
  EXPECT_EQ(error_of([&] { graph.add_output(nothing, "o"); }), "output 'o' is absent");
  EXPECT_EQ(error_of([&] { graph.remove_output(made.x); }), "value 'x' is no output");
  EXPECT_NE(error_of([] { GraphBuilder(0); }).find("opset 0 of ai.onnx is not known"), std::string::npos);
  EXPECT_NE(error_of([] { GraphBuilder(1000); }).find("opset 1000 of ai.onnx is not known"), std::string::npos);
  EXPECT_EQ(graph.serialize(), before);
}

TEST(GraphBuilder, ShapesAreCheckedAsNodesAreAdded) {
  GraphBuilder graph;
  const GraphValue a = graph.add_input("a", DataType::uint8, {"M", 4});
  const GraphValue b = graph.add_input("b", DataType::int8, {5, 3});
  const GraphValue scalar = graph.add_input("scalar", DataType::int8, {});
  EXPECT_EQ(error_of([&] { graph.add_node({"MatMulInteger", "", "n", {{"A", a}, {"B", b}}}); }),
            "MatMulInteger 'n': inputs 'A' and 'B' have shapes [M,4] and [5,3]: K=4 and K=5");
  EXPECT_EQ(error_of([&] { graph.add_node({"MatMulInteger", "", "n", {{"A", a}, {"B", scalar}}}); }),
            "MatMulInteger 'n': input 'B' is a scalar, expected at least 1 dimension");
}

}  // namespace
}  // namespace octet::test
