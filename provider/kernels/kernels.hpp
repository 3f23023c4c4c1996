// The kernels of the operator families. One file each: it checks values, arranges data, and asks the backends
// (primitives: oneDNN, primitives/vector: our loops, fallback: Eigen) for the part that takes the time.
#pragma once

#include <memory>

#include "provider/core/kernel.hpp"

namespace octet::core {

std::unique_ptr<const Kernel> make_matmul_kernel(const NodeContext& node);
std::unique_ptr<const Kernel> make_quantize_kernel(const NodeContext& node);
std::unique_ptr<const Kernel> make_binary_kernel(const NodeContext& node);
std::unique_ptr<const Kernel> make_unary_kernel(const NodeContext& node);
std::unique_ptr<const Kernel> make_reduce_kernel(const NodeContext& node);
std::unique_ptr<const Kernel> make_concat_kernel(const NodeContext& node);
std::unique_ptr<const Kernel> make_lstm_kernel(const NodeContext& node);

}  // namespace octet::core
