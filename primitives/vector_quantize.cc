// Quantization by our own loops.
#include "primitives/vector/kernels.hpp"
#include "provider/core/quantize_loops.hpp"

namespace octet::core {

Offer<QuantizeLoops> offer_vector_quantize() {
  const vector::Kernels& kernels = vector::kernels();
  return std::make_unique<QuantizeLoops>(QuantizeLoops{*kernels.quantize, std::string("quantize:") + kernels.isa});
}

}  // namespace octet::core
