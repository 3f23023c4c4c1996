// What the provider takes of a graph.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "provider/ort/patterns.hpp"
#include "provider/ort/session.hpp"

namespace octet::ort {

struct Claims {
  std::vector<Group> groups;  ///< run as one node each
  std::vector<int> singles;   ///< run as they stand, by the kernels of kernel.hpp
};

/// Whether the registered kernels include one for this node.
using HasKernel = std::function<bool(const GraphNode& node)>;

/// Products and quantizers first (patterns.hpp), then every other node that Octet has a kernel for. A node that Octet
/// refuses is left to the other providers; verbose=dispatch says why.
Claims claim_nodes(const Graph& graph, const HasKernel& has_kernel, Session& session);

/// An operator on 8-bit (or smaller) quantized tensors, whether Octet computes it or not.
bool is_quantized(const std::string& op_type, const std::string& domain);

}  // namespace octet::ort
