// The product of bfloat16 activations and 8-bit weights without their zero points, which bfloat16 holds exactly
// (magnitudes up to 255).
//
// Packed weights. Columns in blocks of 64, padded with zeros; in a block, pairs of rows of k: 64 columns x 2 values. k
// is padded with a zero to a multiple of 2. A range of columns that begins at a multiple of 64 begins at
// column * padded_pairs(k).
#pragma once

#include <cstdint>

namespace octet::vector {

constexpr std::int64_t padded_pairs(std::int64_t k) { return (k + 1) / 2 * 2; }

/// y[m][n] = f32(start + f32(sum * scale[n])), start = bias[n], or y[m][n] itself without a bias. The sum is float32,
/// two products after the other to each step of k (vdpbf16ps, which takes subnormal numbers as 0): the same bits for
/// any rows and columns beside.
struct Bfloat16Tile {
  std::int64_t rows;
  std::int64_t columns;  ///< a multiple of 64
  std::int64_t k;
  const std::uint16_t* a;  ///< rows of padded_pairs(k) values, the last one 0 where k is odd
  const std::uint16_t* b;  ///< packed
  const float* scale;
  const float* bias;  ///< or null
  float* y;
  std::int64_t y_stride;
};

struct Bfloat16Kernels {
  void (*product)(const Bfloat16Tile& tile);
};

}  // namespace octet::vector
