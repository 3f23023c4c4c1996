// What tells the operators of the matmul family apart.
#pragma once

#include <cstddef>

#include "provider/core/kernel.hpp"

namespace octet::core {

/// Where an operator keeps each operand; kNone where it has no such input.
struct MatMulPorts {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t a = 0;
  std::size_t b = 1;
  std::size_t a_scale = kNone;
  std::size_t a_zero_point = kNone;
  std::size_t b_scale = kNone;
  std::size_t b_zero_point = kNone;
  std::size_t y_scale = kNone;
  std::size_t y_zero_point = kNone;
  std::size_t bias = kNone;  ///< float, added after the scale
  std::size_t c = kNone;     ///< int32, added to the sums

  /// What a request has at a port: absent where the operator has no such input.
  static TensorInfo info(const PlanRequest& request, std::size_t port) {
    return port == kNone ? TensorInfo() : request.inputs[port];
  }
};

/// The parsed node.
struct MatMulNode {
  MatMulPorts ports;
  bool quantizes_a = false;  ///< A is float and is quantized in the run
  bool rowwise = false;      ///< each of its rows by its own range
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1.0F;

  explicit MatMulNode(const NodeContext& node);
};

}  // namespace octet::core
