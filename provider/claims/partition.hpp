// Which sets of nodes may become one node each without making the graph cyclic. ONNX Runtime drops everything that a
// provider claims where one claimed group is not convex, so no group is claimed without asking here.
#pragma once

#include <vector>

#include "provider/claims/graph.hpp"

namespace octet::claims {

class Partition {
 public:
  explicit Partition(const Graph& graph) : graph_(graph), group_of_(graph.nodes.size(), kAbsent) {}

  /// True where no node is claimed and no path leads from the set through other nodes back into it, all groups claimed
  /// so far seen as one node each.
  bool can_claim(const std::vector<int>& nodes) const;
  void claim(const std::vector<int>& nodes);
  /// Claimed here, or assigned to a provider before.
  bool taken(int node) const { return group_of_[node] != kAbsent || !graph_.nodes[node].ep_name.empty(); }

 private:
  bool reaches(const std::vector<int>& nodes) const;

  const Graph& graph_;
  std::vector<int> group_of_;  ///< by node
  std::vector<std::vector<int>> groups_;
};

}  // namespace octet::claims
