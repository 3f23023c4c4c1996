// A graph as the plugin sees it, copied out of ONNX Runtime once, and types and tensors of ONNX Runtime.
#pragma once

#include <octet/octet.hpp>
#include <set>
#include <string>
#include <vector>

#include "provider/claims/graph.hpp"
#include "provider/ort/ort_api.hpp"

namespace octet::ort {

using claims::GraphNode;
using claims::kAbsent;

/// What claiming reads of a graph, and what the plugin needs besides. Handles live as long as the callback that the
/// graph came with.
struct Graph : claims::Graph {
  std::vector<const OrtValueInfo*> value_handles;  ///< by value
  std::vector<const OrtNode*> node_handles;        ///< by node
  bool is_nested = false;                          ///< a subgraph of a control-flow node
  std::set<std::string> symbols;                   ///< names of unknown extents: of all values,
  std::set<std::string> input_symbols;             ///< and of the graph's inputs
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
