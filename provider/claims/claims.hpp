// What the provider takes of a graph. The one place that decides it: the plugin runs what is claimed, `octet explain`
// tells it without ONNX Runtime.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "provider/claims/patterns.hpp"

namespace octet::claims {

struct Claims {
  std::vector<Group> groups;   ///< run as one node each
  std::vector<int> singles;    ///< run as they stand
  std::vector<int> qdq_marks;  ///< left, as they mark units of the QDQ format (qdq.hpp)
};

/// What claiming depends on besides the graph.
struct Conditions {
  Options operators;                              ///< of everything claimed; rowwise decides on groups, too
  bool can_fuse = true;                           ///< whether groups can run; single nodes are claimed in any case
  std::function<bool(int node)> has_kernel;       ///< whether there is a kernel that runs this node as it stands
  std::function<void(const std::string&)> trace;  ///< gets a line for each group and each refusal; may be empty
};

/// Products and quantizers first (patterns.hpp), then what is a function of bytes, then tails, then every other node
/// that Octet has a kernel for. A node that Octet refuses is left to the other providers; but where those would end the
/// process or have nothing, a wrong node is taken, and ends the session when its kernel is made.
Claims claim_nodes(const Graph& graph, const Conditions& conditions);

/// "taken together: QLinearSigmoid 'act', QLinearMul 'product', as one table of 256 values": the nodes of a group and
/// what runs in their place, where that is something else.
std::string describe(const Graph& graph, const Group& group);
/// "left to onnxruntime: QuantizeLinear 'q' marks a unit of the QDQ format"
std::string describe_qdq_mark(const Graph& graph, const GraphNode& node);

/// An operator on 8-bit (or smaller) quantized tensors, whether Octet computes it or not.
bool is_quantized(const std::string& op_type, const std::string& domain);

}  // namespace octet::claims
