// oneDNN's reorder converts between float32 and 8 bits too, but is not used. Version 3.13, implementation jit:uni: it
// adds the zero point before it rounds and multiplies by a reciprocal, so that ties with an odd zero point come out
// wrong (135 of 512 multiples of 1/2), and it takes 1.4 to 8 times as long as our loops for 1K to 4M elements.
#include "provider/core/quantize_loops.hpp"

namespace octet::core {

Offer<QuantizeLoops> offer_onednn_quantize() {
  return Refusal{
      "the reorder adds the zero point before it rounds, which changes ties, and is slower than the vector loops"};
}

}  // namespace octet::core
