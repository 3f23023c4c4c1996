// The parts of the binary, unary, reduce and concat families that take the time: loops over bytes. Each backend offers
// whole sets; geometry, parameters and threads are the kernels'.
#pragma once

#include <string>

#include "primitives/vector/binary_kernels.hpp"
#include "primitives/vector/quantize_kernels.hpp"
#include "primitives/vector/reduce_kernels.hpp"
#include "primitives/vector/unary_kernels.hpp"
#include "provider/core/dispatch.hpp"

namespace octet::core {

/// Unary functions and concatenation: tables are made by `quantize` and `loops`, and looked up by `loops`.
struct UnaryLoops {
  const vector::UnaryKernels& loops;  ///< never destroyed, as all that follow
  const vector::QuantizeKernels& quantize;
  std::string implementation;
};

struct BinaryLoops {
  const vector::BinaryKernels& loops;
  /// Where looking up bytes in a table is faster than computing them with one operand fixed; else null.
  const vector::UnaryKernels* lookup;
  std::string implementation;
};

struct ReduceLoops {
  const vector::ReduceKernels& loops;
  std::string implementation;
};

// primitives/onednn_elementwise.cc
Offer<UnaryLoops> offer_onednn_unary();
Offer<UnaryLoops> offer_onednn_concat();
Offer<BinaryLoops> offer_onednn_binary();
Offer<ReduceLoops> offer_onednn_reduce();
// primitives/vector_elementwise.cc
Offer<UnaryLoops> offer_vector_unary();
Offer<BinaryLoops> offer_vector_binary();
Offer<ReduceLoops> offer_vector_reduce();
// fallback/eigen_unary.cc, eigen_binary.cc, eigen_reduce.cc
Offer<UnaryLoops> offer_eigen_unary();
Offer<BinaryLoops> offer_eigen_binary();
Offer<ReduceLoops> offer_eigen_reduce();

}  // namespace octet::core
