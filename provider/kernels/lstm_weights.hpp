// An LSTM's weights and parameters, in the order of gate columns that the loops use
// (primitives/vector/lstm_kernels.hpp).
#pragma once

#include <memory>

#include "provider/kernels/lstm_node.hpp"
#include "provider/kernels/packed_weights.hpp"

namespace octet::core {

/// The packed form of W or R, [directions][k][4 * hidden] as ONNX has it; held once in the process.
std::shared_ptr<const PackedWeights> pack_gate_weights(const TensorView& weights, std::int64_t k, std::int64_t hidden);

/// W or R without its zero points, for the product of bfloat16 activations (vector/bfloat16_kernels.hpp).
class Bfloat16GateWeights {
 public:
  /// `weights` and `zero_point` are the node's.
  Bfloat16GateWeights(const TensorView& weights, const TensorView& zero_point, std::int64_t k, std::int64_t hidden);

  const std::uint16_t* data(std::int64_t direction) const noexcept { return packed_.get() + direction * each_; }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(directions_ * each_) * sizeof(std::uint16_t); }
  bool operator==(const Bfloat16GateWeights& other) const noexcept;
  std::uint64_t hash() const noexcept { return hash_; }

 private:
  void pack(const TensorView& weights, const TensorView& zero_point, std::int64_t direction, std::uint16_t* packed);

  std::int64_t directions_, k_, hidden_;
  std::int64_t each_;  ///< elements of a direction
  AlignedArray<std::uint16_t> packed_;
  std::uint64_t hash_ = 0;
};

/// Held once in the process.
std::shared_ptr<const Bfloat16GateWeights> pack_bfloat16_gate_weights(const TensorView& weights,
                                                                      const TensorView& zero_point, std::int64_t k,
                                                                      std::int64_t hidden);

/// The form of pack_gate_weights() of one direction, into given memory, for weights that come with a run.
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
