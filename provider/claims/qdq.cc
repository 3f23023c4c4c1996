#include "provider/claims/qdq.hpp"

#include <algorithm>

namespace octet::claims {
namespace {

bool is_quantize(const GraphNode& node) { return node.op_type == "QuantizeLinear"; }
bool is_dequantize(const GraphNode& node) { return node.op_type == "DequantizeLinear"; }

const GraphNode* producer(const Graph& graph, int value) {
  if (value == kAbsent || graph.values[value].producer == kAbsent) return nullptr;
  return &graph.nodes[graph.values[value].producer];
}

template <class Predicate>
bool any_consumer(const Graph& graph, const GraphNode& node, Predicate&& predicate) {
  for (int value : node.outputs)
    if (value != kAbsent)
      for (int consumer : graph.values[value].consumers)
        if (predicate(graph.nodes[consumer])) return true;
  return false;
}

int count_dequantized_inputs(const Graph& graph, const GraphNode& node) {
  return static_cast<int>(std::count_if(node.inputs.begin(), node.inputs.end(), [&](int value) {
    const GraphNode* source = producer(graph, value);
    return source && is_dequantize(*source);
  }));
}

}  // namespace

bool marks_qdq_unit(const Graph& graph, const GraphNode& node) {
  const int x = node.input(0);
  const GraphNode* source = producer(graph, x);
  if (is_quantize(node)) {
    return any_consumer(graph, node, is_dequantize) ||
           (source && (is_dequantize(*source) || source->is("Relu") || source->is("Clip") ||
                       count_dequantized_inputs(graph, *source) > 0));
  }
  if (!is_dequantize(node)) return false;
  if ((source && is_quantize(*source)) || (x != kAbsent && graph.values[x].is_constant)) return true;
  return any_consumer(graph, node, [&](const GraphNode& consumer) {
    return is_quantize(consumer) || consumer.is("ArgMax") || count_dequantized_inputs(graph, consumer) > 1 ||
           any_consumer(graph, consumer, is_quantize);
  });
}

}  // namespace octet::claims
