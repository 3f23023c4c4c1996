// The scalar reference: what each operator means, as plain loops over plain numbers, written from the operators' text
// in ONNX and from the published float32 formulas. It shares nothing with the library but the public types, so that it
// can judge it.
#pragma once

#include <octet/octet.hpp>
#include <vector>

namespace octet::reference {

/// Computes one node. Inputs and outputs are in the node's order, absent optional ones default-constructed; the node's
/// operator, version and attributes are read, its constants are not. Throws octet::Error(not_implemented) for an
/// operator it does not know, and octet::Error(invalid_argument) where shapes or types do not fit.
void run(const Node& node, const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs);

/// True where run() knows the operator.
bool knows(const std::string& domain, const std::string& op_type);

}  // namespace octet::reference
