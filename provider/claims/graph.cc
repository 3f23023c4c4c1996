#include "provider/claims/graph.hpp"

namespace octet::claims {

const std::string& Graph::label(const GraphNode& node) const {
  return node.name.empty() && !node.outputs.empty() && node.outputs[0] != kAbsent ? values[node.outputs[0]].name
                                                                                  : node.name;
}

void Graph::add(GraphNode node) {
  const int index = static_cast<int>(nodes.size());
  for (const std::vector<int>* used : {&node.inputs, &node.implicit_inputs})
    for (const int value : *used)
      if (value != kAbsent) values[value].consumers.push_back(index);
  for (const int value : node.outputs)
    if (value != kAbsent) values[value].producer = index;
  nodes.push_back(std::move(node));
}

}  // namespace octet::claims
