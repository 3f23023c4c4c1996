// A DynamicQuantizeLSTM node, parsed.
#pragma once

#include <array>
#include <vector>

#include "primitives/vector/lstm_kernels.hpp"
#include "provider/core/kernel.hpp"

namespace octet::core {

struct LstmPorts {
  enum Input : std::size_t {
    x,
    w,
    r,
    b,
    sequence_lens,
    initial_h,
    initial_c,
    p,
    w_scale,
    w_zero_point,
    r_scale,
    r_zero_point
  };
  enum Output : std::size_t { y, y_h, y_c };
  static constexpr std::size_t kInputs = 12;
  static constexpr std::size_t kOutputs = 3;
};

/// What one direction does.
struct LstmDirection {
  bool reverse = false;
  vector::ActivationFunction f, g, h;
};

struct LstmNode {
  std::vector<LstmDirection> directions;
  float clip;  ///< infinite: none
  bool input_forget = false;
  bool per_tensor =
      false;  ///< one scale for all of X, and at each step one for all states, instead of one for each row

  explicit LstmNode(const NodeContext& node);
};

/// Extents of a node's tensors, and of what is made of them: units padded to whole blocks, gate columns in the order of
/// vector/lstm_kernels.hpp.
struct LstmShape {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  std::int64_t directions = 1;

  std::int64_t units() const noexcept { return vector::padded_units(hidden); }
  std::int64_t columns() const noexcept { return vector::kGates * units(); }
};

}  // namespace octet::core
