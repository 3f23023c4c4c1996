// The part of the quantize family that takes the time: loops over elements. Each backend offers a whole set; geometry,
// parameters, conversions and threads are the kernel's.
#pragma once

#include <string>

#include "primitives/vector/quantize_kernels.hpp"
#include "provider/core/dispatch.hpp"

namespace octet::core {

struct QuantizeLoops {
  const vector::QuantizeKernels& loops;  ///< never destroyed
  std::string implementation;
};

Offer<QuantizeLoops> offer_onednn_quantize();  // primitives/onednn_quantize.cc
Offer<QuantizeLoops> offer_vector_quantize();  // primitives/vector_quantize.cc
Offer<QuantizeLoops> offer_eigen_quantize();   // fallback/eigen_quantize.cc

}  // namespace octet::core
