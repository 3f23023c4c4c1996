// The QDQ format: float operators between QuantizeLinear and DequantizeLinear, which another provider fuses.
#pragma once

#include "provider/claims/graph.hpp"

namespace octet::claims {

/// True where a QuantizeLinear or DequantizeLinear only marks a float operator as quantized (the QDQ format). ONNX
/// Runtime fuses such units (DequantizeLinear -> operator -> QuantizeLinear) into 8-bit operators of its own; claiming
/// the marks would leave the operator in float. Marks are:
/// - a pair QuantizeLinear -> DequantizeLinear, or DequantizeLinear -> QuantizeLinear (both),
/// - a DequantizeLinear of a constant (a weight),
/// - a DequantizeLinear whose consumer has another DequantizeLinear as input or a QuantizeLinear as consumer, or is
/// ArgMax
///   (which works on the quantized tensor as well),
/// - a QuantizeLinear of an operator that has a DequantizeLinear as input, or of a Relu or Clip (whose bounds it may
///   include, so that the operator goes).
/// What is left quantizes or dequantizes for its own sake, as at the borders of a model of 8-bit operators.
bool marks_qdq_unit(const Graph& graph, const GraphNode& node);

}  // namespace octet::claims
