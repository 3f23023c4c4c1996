#include "provider/claims/partition.hpp"

#include <algorithm>

namespace octet::claims {

bool Partition::can_claim(const std::vector<int>& nodes) const {
  if (std::any_of(nodes.begin(), nodes.end(), [&](int node) { return taken(node); })) return false;
  return nodes.size() == 1 || !reaches(nodes);  // a single node stays what it was
}

void Partition::claim(const std::vector<int>& nodes) {
  for (int node : nodes) group_of_[node] = static_cast<int>(groups_.size());
  groups_.push_back(nodes);
}

/// Depth-first from the set's consumers; reaching one member of a claimed group is reaching all of it.
bool Partition::reaches(const std::vector<int>& nodes) const {
  std::vector<bool> in_set(graph_.nodes.size());
  for (int node : nodes) in_set[node] = true;
  std::vector<bool> visited(graph_.nodes.size());
  std::vector<int> pending;
  const auto visit = [&](int node) {
    if (visited[node]) return;
    visited[node] = true;
    pending.push_back(node);
  };
  bool left_set = false;
  const auto expand = [&](int node) {
    for (int value : graph_.nodes[node].outputs) {
      if (value == kAbsent) continue;
      for (int consumer : graph_.values[value].consumers) {
        if (in_set[consumer] && left_set) return true;
        if (!in_set[consumer]) visit(consumer);
      }
    }
    return false;
  };
  for (int node : nodes) expand(node);
  left_set = true;
  while (!pending.empty()) {
    const int node = pending.back();
    pending.pop_back();
    if (group_of_[node] != kAbsent)
      for (int member : groups_[group_of_[node]]) visit(member);
    if (expand(node)) return true;
  }
  return false;
}

}  // namespace octet::claims
