// A DynamicQuantizeLSTM node, parsed.
#pragma once

#include <array>
#include <vector>

#include "primitives/vector/lstm_kernels.hpp"
#include "provider/core/kernel.hpp"
#include "provider/ops/lstm.hpp"

namespace octet::core {

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
