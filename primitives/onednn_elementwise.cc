// oneDNN has primitives for these families, but none is used. Version 3.13 against our loops, one thread, AVX-512 with
// VNNI and VBMI, 256 to 4M elements in the same process:
//   binary     jit:uni. No zero points (a linear post-op can stand for them), 1 of 3500 sums and 1 of 5500 products
//   rounds
//              differently; 26 to 39 times the time for 256 elements, 1.5 (sums) and 1.35 (products) from 98304 on.
//   eltwise    jit_int8:avx512_core: leaky relu without scales, 2.4 to 33 times the time of the table; no 8-bit
//   sigmoid. reduction  jit:avx512_core: 6 to 16 times the time over inner axes; over the outer ones, or all, ref:any.
//   concat     ref:any with scales, simple:any without: 1.1 to 32 times the time of a copy.
#include "provider/core/elementwise_loops.hpp"

namespace octet::core {

Offer<UnaryLoops> offer_onednn_unary() {
  return Refusal{
      "no 8-bit sigmoid, and a leaky relu that knows no scales and takes 2.4 times as long as a table or more"};
}

Offer<UnaryLoops> offer_onednn_concat() {
  return Refusal{"with scales it is a reference implementation, without them slower than a copy"};
}

Offer<BinaryLoops> offer_onednn_binary() {
  return Refusal{"no zero points, other results in some elements, and 1.35 times the time of the vector loops or more"};
}

Offer<ReduceLoops> offer_onednn_reduce() {
  return Refusal{"6 times the time of the vector loops or more, and a reference implementation over outer axes"};
}

}  // namespace octet::core
