// oneDNN's element-wise, reduction and concat primitives (PLACEHOLDER, measured below)
#include "provider/core/elementwise_loops.hpp"

namespace octet::core {

Offer<UnaryLoops> offer_onednn_unary() { return Refusal{"x"}; }
Offer<UnaryLoops> offer_onednn_concat() { return Refusal{"x"}; }
Offer<BinaryLoops> offer_onednn_binary() { return Refusal{"x"}; }
Offer<ReduceLoops> offer_onednn_reduce() { return Refusal{"x"}; }

}  // namespace octet::core
