// A graph as the plugin sees it: everything that claiming needs, copied out of ONNX Runtime once. Deciding what to
// claim reads this only, so it can be followed (and tested) without ONNX Runtime.
#pragma once

#include <octet/octet.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "provider/ort/ort_api.hpp"

namespace octet::ort {

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
  const OrtValueInfo* handle = nullptr;
};

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
  const OrtNode* handle = nullptr;

  bool is(std::string_view type) const noexcept { return domain.empty() && op_type == type; }
  int input(std::size_t i) const noexcept { return i < inputs.size() ? inputs[i] : kAbsent; }
};

/// Nodes are in topological order. Handles live as long as the callback that `graph` came with.
struct Graph {
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;
  bool is_nested = false;               ///< a subgraph of a control-flow node
  std::set<std::string> symbols;        ///< names of unknown extents: of all values,
  std::set<std::string> input_symbols;  ///< and of the graph's inputs

  /// The node's name or, where it has none, that of its first output.
  const std::string& label(const GraphNode& node) const;
};

Graph read_graph(const OrtGraph* graph);

struct NodeSummary {
  std::string op_type;
  std::string domain;
  std::string ep_name;
  std::string name;
};
/// The nodes of the graphs nested in this one, at any depth.
std::vector<NodeSummary> read_nested_nodes(const Graph& graph);

/// Type and extents of a tensor type; absent (undefined) where it is none.
ValueInfo read_type(const OrtTypeInfo* info);

/// A type whose unknown extents may have names, such as "batch".
struct SymbolicType {
  ValueInfo type;                    ///< extents are -1 where not known
  std::vector<std::string> symbols;  ///< by dimension; "" where it has no name
};
SymbolicType read_symbolic_type(const OrtTypeInfo* info);

/// Type, extents and data of a constant. The data is the tensor's.
ValueInfo read_constant(const OrtValue* value);

/// A tensor's type, extents and data. Valid as long as the tensor.
TensorView read_tensor(const OrtValue* value);
void read_tensor(const OrtValue* value, TensorView& view);

}  // namespace octet::ort
