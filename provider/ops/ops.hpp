// The definitions of the operators, one file per family. A definition says everything that is known of an operator
// without computing it; its documentation gives the formula of its numbers.
#pragma once

#include <vector>

#include "provider/core/op_def.hpp"

namespace octet::core {

inline constexpr const char* kMicrosoftDomain = "com.microsoft";

void add_matmul_ops(std::vector<OpDef>& ops);
void add_quantize_ops(std::vector<OpDef>& ops);
void add_binary_ops(std::vector<OpDef>& ops);
void add_unary_ops(std::vector<OpDef>& ops);
void add_reduce_ops(std::vector<OpDef>& ops);
void add_concat_ops(std::vector<OpDef>& ops);
void add_lstm_ops(std::vector<OpDef>& ops);

}  // namespace octet::core
