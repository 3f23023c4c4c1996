// What the tests of the graph builder share.
#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <octet/graph_builder.hpp>

#include "test/support/error_of.hpp"
#include "test/support/folder.hpp"

namespace octet::test {

inline onnx::ModelProto parsed(const GraphBuilder& graph) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(graph.serialize()));
  return model;
}

inline onnx::ModelProto read_model(const std::filesystem::path& path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  FILE* file = std::fopen(path.c_str(), "rb");
  EXPECT_EQ(std::fread(bytes.data(), 1, bytes.size(), file), bytes.size());
  std::fclose(file);
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

inline GraphBuilder reloaded(const GraphBuilder& graph) {
  const std::string bytes = graph.serialize();
  return GraphBuilder::from_model(bytes.data(), bytes.size());
}

/// "uint8[2,batch,?]"
inline std::string describe(const GraphValueInfo& info) {
  std::string text = data_type_name(info.dtype);
  if (!info.dims) return text;
  std::string dims;
  for (const GraphDim& dim : *info.dims) {
    const std::string extent = dim.value >= 0 ? std::to_string(dim.value) : dim.symbol.empty() ? "?" : dim.symbol;
    dims += (dims.empty() ? "" : ",") + extent;
  }
  return text + "[" + dims + "]";
}

inline std::vector<std::string> names(const GraphBuilder& graph, const std::vector<GraphValue>& values) {
  std::vector<std::string> result;
  for (const GraphValue value : values) result.push_back(graph.info(value).name);
  return result;
}

/// QLinearSigmoid of a uint8 tensor "x"; the values x, s, z and y.
struct SigmoidGraph {
  GraphBuilder graph;
  GraphValue x, s, z, y;

  explicit SigmoidGraph(std::int64_t opset = GraphBuilder::kDefaultOpset) : graph(opset) {
    const float scale = 0.1F;
    const std::uint8_t zero_point = 3;
    x = graph.add_input("x", DataType::uint8, {"N", 4});
    s = graph.add_constant({&scale, DataType::float32, nullptr, 0}, "s");
    z = graph.add_constant({&zero_point, DataType::uint8, nullptr, 0}, "z");
    y = graph.add_node(node("sigmoid"))[0];
  }
  GraphNode node(const std::string& name) const {
    GraphNode node{"QLinearSigmoid", "com.microsoft", name};
    node.inputs = {{"X", x}, {"X_scale", s}, {"X_zero_point", z}, {"Y_scale", s}, {"Y_zero_point", z}};
    return node;
  }
};

}  // namespace octet::test
