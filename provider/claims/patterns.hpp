// Patterns that Octet computes as one: a DynamicQuantizeLinear with the integer products of what it quantizes, each
// with the float arithmetic that follows it.
//
//   x -> DynamicQuantizeLinear -> MatMulInteger -> Cast(float) -> Mul -> [Add bias]
//                       a_scale -> Mul(a_scale, b_scale) ---------^
//
// One product with its Cast, Mul and Add is one com.microsoft MatMulIntegerToFloat: f32(acc) * f32(a_scale * b_scale),
// then + bias rounded on its own, which are the operations of the chain in its order.
#pragma once

#include <functional>
#include <octet/octet.hpp>
#include <string>
#include <vector>

#include "provider/claims/graph.hpp"
#include "provider/claims/partition.hpp"

namespace octet::claims {

/// One operator of Octet, and the values it reads and writes. node.inputs has types and extents, no constant data.
struct Step {
  Node node;
  std::vector<std::string> inputs;   ///< "" where absent
  std::vector<std::string> outputs;  ///< "" where absent
};

/// Nodes of the graph that run as one.
struct Group {
  std::vector<int> nodes;         ///< in topological order
  std::vector<Step> steps;        ///< in the order of execution
  bool is_byte_function = false;  ///< to run as one table (byte_functions.hpp)
};

/// Whether Octet has a kernel for a step, with these types and extents.
using Supports = std::function<bool(const Step&)>;

/// The step that computes a node as it stands.
Step single_step(const Graph& graph, const GraphNode& node);

/// Claims all products, each as part of one group, and every group's nodes in `partition`. With `rowwise`, the products
/// of a quantizer that nobody else needs become one com.microsoft DynamicQuantizeMatMul each, which quantizes x row by
/// row; where the quantizer's outputs are used otherwise too, they stay as they are.
std::vector<Group> match_products(const Graph& graph, const Supports& supports, bool rowwise, Partition& partition);

}  // namespace octet::claims
