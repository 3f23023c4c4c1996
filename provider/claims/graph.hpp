// A graph as a provider for ONNX Runtime is shown it: all that claiming reads. The plugin copies it out of ONNX
// Runtime, the command line makes it of a model file.
#pragma once

#include <octet/octet.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet::claims {

constexpr int kAbsent = -1;  ///< index of an optional input or output that a node leaves out

/// An edge of the graph.
struct GraphValue {
  std::string name;
  DataType dtype = DataType::undefined;           ///< undefined: not known, or no tensor
  std::optional<std::vector<std::int64_t>> dims;  ///< -1 where not known; nothing where the rank is not known
  int producer = kAbsent;                         ///< node, or kAbsent: graph input, initializer, outer scope
  std::vector<int> consumers;                     ///< nodes, each once for every use (those of their subgraphs too)
  bool is_graph_output = false;
  bool is_constant = false;
};

/// Has the inputs and outputs that its schema asks for.
struct GraphNode {
  std::string name;
  std::string op_type;
  std::string domain;   ///< "" for ai.onnx
  std::string ep_name;  ///< provider that has the node already, or ""
  int since_version = 1;
  Attributes attributes;
  std::vector<int> inputs;           ///< values, kAbsent where left out
  std::vector<int> implicit_inputs;  ///< values that the node's subgraphs use
  std::vector<int> outputs;

  bool is(std::string_view type) const noexcept { return domain.empty() && op_type == type; }
  int input(std::size_t i) const noexcept { return i < inputs.size() ? inputs[i] : kAbsent; }
};

/// Nodes are in topological order.
struct Graph {
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;

  /// The node's name or, where it has none, that of its first output.
  const std::string& label(const GraphNode& node) const;
  /// Appends a node, and notes it with its values.
  void add(GraphNode node);
};

}  // namespace octet::claims
