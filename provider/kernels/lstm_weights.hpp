// An LSTM's weights and parameters, in the order of gate columns that the loops use
// (primitives/vector/lstm_kernels.hpp).
#pragma once

#include <memory>

#include "provider/kernels/lstm_node.hpp"
#include "provider/kernels/packed_weights.hpp"

namespace octet::core {

/// The packed form of W or R, [directions][k][4 * hidden] as ONNX has it; held once in the process.
std::shared_ptr<const PackedWeights> pack_gate_weights(const TensorView& weights, std::int64_t k, std::int64_t hidden);

/// The same of one direction into given memory, for weights that come with a run.
class GateWeightsMemory {
 public:
  GateWeightsMemory(std::int64_t k, const LstmShape& shape) noexcept : k_(k), shape_(shape) {}
  std::size_t bytes() const noexcept { return sums_offset() + static_cast<std::size_t>(shape_.columns()) * 4; }
  void pack(const TensorView& weights, std::int64_t direction, std::uint8_t* memory) const;
  const std::int8_t* packed(const std::uint8_t* memory) const noexcept;
  const std::int32_t* column_sums(const std::uint8_t* memory) const noexcept;

 private:
  std::size_t sums_offset() const noexcept;
  std::int64_t k_;
  LstmShape shape_;
};

/// What belongs to one direction's gate columns; null where all is 0 (zero points: of s8 weights).
struct LstmParameters {
  const float* w_scale = nullptr;
  const float* r_scale = nullptr;
  const float* bias = nullptr;  ///< f32(Wb + Rb); never null
  const float* peephole = nullptr;
  const std::int32_t* w_zero_point = nullptr;
  const std::int32_t* r_zero_point = nullptr;
};

/// Lays the parameters of all directions into one memory block.
class LstmParameterMemory {
 public:
  static std::size_t bytes(const LstmShape& shape) noexcept;
  /// `inputs` are the node's.
  static void fill(const TensorView* inputs, const LstmShape& shape, std::uint8_t* memory, LstmParameters* directions);
};

}  // namespace octet::core
