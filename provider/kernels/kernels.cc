// Which kernel computes which operator. Apart from the table of definitions, so that schemas need no backend.
#include "provider/kernels/kernels.hpp"

#include "provider/core/registry.hpp"

namespace octet::core {

MakeKernel kernel_maker(const OpDef& op) {
  switch (op.family) {
    case Family::matmul:
      return make_matmul_kernel;
    case Family::quantize:
      return make_quantize_kernel;
    case Family::binary:
      return make_binary_kernel;
    case Family::unary:
      return make_unary_kernel;
    case Family::reduce:
      return make_reduce_kernel;
    case Family::concat:
      return make_concat_kernel;
    case Family::lstm:
      break;
  }
  return make_lstm_kernel;
}

std::vector<std::string_view> kernel_backends(const OpDef& op) {
  if (op.family == Family::matmul || op.family == Family::lstm) return {"onednn", "vector", "eigen"};
  return {"vector", "eigen"};
}

}  // namespace octet::core
