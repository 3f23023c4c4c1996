// Element-wise operators that together are a function of one byte: x * sigmoid(x) of a quantized tensor, say. They run
// as one look-up in the table of its 256 values.
#pragma once

#include <vector>

#include "provider/claims/patterns.hpp"

namespace octet::claims {

/// Claims each largest set of untaken QLinearSigmoid, QLinearLeakyRelu, QLinearAdd and QLinearMul nodes, two at least,
/// that reads one tensor but for constants and of which one result is used elsewhere.
std::vector<Group> match_byte_functions(const Graph& graph, const Supports& supports, Partition& partition);

}  // namespace octet::claims
