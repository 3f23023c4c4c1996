// A product, sum or product of elements, followed by a function of its bytes or by DequantizeLinear: one group, so that
// ONNX Runtime's executor is asked once, and what the first operator writes is read while in the cache.
#pragma once

#include <vector>

#include "provider/claims/patterns.hpp"

namespace octet::claims {

/// Claims each untaken QGemm, QLinearMatMul, QLinearAdd or QLinearMul whose 8-bit result goes to nothing but an untaken
/// QLinearSigmoid, QLinearLeakyRelu or DequantizeLinear, together with that.
std::vector<Group> match_tails(const Graph& graph, const Supports& supports, Partition& partition);

}  // namespace octet::claims
