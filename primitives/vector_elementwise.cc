// The element-wise, reduction and concat operators by our own loops.
#include "primitives/vector/kernels.hpp"
#include "provider/core/cpu.hpp"
#include "provider/core/elementwise_loops.hpp"

namespace octet::core {
namespace {

std::string named(const char* family, bool with_vbmi = false) {
  return std::string(family) + ":" + vector::kernels().isa + (with_vbmi ? "_vbmi" : "");
}

/// Null where the CPU cannot look up bytes in registers.
const vector::UnaryKernels* with_vbmi() { return has_vbmi() ? vector::kernels().unary_vbmi : nullptr; }

}  // namespace

Offer<UnaryLoops> offer_vector_unary() {
  const vector::UnaryKernels* fastest = with_vbmi();
  return std::make_unique<UnaryLoops>(UnaryLoops{fastest ? *fastest : *vector::kernels().unary,
                                                 *vector::kernels().quantize, named("table", fastest != nullptr)});
}

Offer<BinaryLoops> offer_vector_binary() {
  return std::make_unique<BinaryLoops>(BinaryLoops{*vector::kernels().binary, with_vbmi(), named("binary")});
}

Offer<ReduceLoops> offer_vector_reduce() {
  return std::make_unique<ReduceLoops>(ReduceLoops{*vector::kernels().reduce, named("reduce")});
}

}  // namespace octet::core
