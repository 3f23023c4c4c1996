// Weights in training: float32 numbers, which every product sees as an 8-bit quantizer makes them,
//   meant = integer * scale,  integer = saturate(rint(weight / scale) + zero_point) - zero_point
//
// A product of one row with them is about reading them. For that they are packed as their integers, which bfloat16
// holds exactly, in half the bytes of a float32; blocks of 64 columns, two columns to a word.
#pragma once

#include <cstdint>

namespace octet::vector {

/// [rows, columns] with a scale for each column, and the bounds of `integer`: those of the 8-bit type less the zero
/// point.
struct WeightMatrix {
  std::int64_t rows, columns;
  const float* weights;
  const float* scale;
  const float* lowest;
  const float* highest;
};

constexpr std::int64_t kWeightBlock = 64;

/// `columns` in whole blocks.
constexpr std::int64_t block_columns(std::int64_t columns) {
  return (columns + kWeightBlock - 1) / kWeightBlock * kWeightBlock;
}
constexpr std::int64_t packed_words(std::int64_t rows, std::int64_t columns) {
  return rows * block_columns(columns) / 2;
}

struct WeightKernels {
  /// y[rows][columns] = meant. True where a weight saturates.
  bool (*fake_quantize)(const WeightMatrix& matrix, float* y);
  /// gradient = 0 where the weight saturates
  void (*straight_through)(const WeightMatrix& matrix, float* gradient);
  /// True where a weight saturates.
  bool (*pack)(const WeightMatrix& matrix, std::uint32_t* packed);
  /// y[columns] = x[rows] * meant
  void (*product)(const WeightMatrix& matrix, const std::uint32_t* packed, const float* x, float* y);
  /// y[rows] = x[columns] * meant, transposed. `scaled` is memory for block_columns(columns) floats.
  void (*transposed_product)(const WeightMatrix& matrix, const std::uint32_t* packed, const float* x, float* scaled,
                             float* y);
};

}  // namespace octet::vector
