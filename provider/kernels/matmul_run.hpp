// What passes between the steps of one run of a MatMulPlan.
#pragma once

#include "primitives/vector/kernels.hpp"
#include "provider/core/scratch.hpp"
#include "provider/kernels/matmul_plan.hpp"

namespace octet::core {

struct MatMulPlan::Operands {
  const std::uint8_t* a = nullptr;         // [a_matrices][m][k], unsigned
  const std::int32_t* row_sums = nullptr;  // [a_matrices][m], or null where no zero point of B needs them
  const std::uint8_t* b = nullptr;         // as given, where it is not packed yet
  const std::int32_t* c = nullptr;
  void* y = nullptr;
  const float* a_scale = nullptr;
  const float* b_scale = nullptr;
  const float* bias = nullptr;
  const std::int32_t* a_zero_point = nullptr;
  const std::int32_t* b_zero_point = nullptr;
  bool b_zero_point_is_zero = false;
  bool begins_with_terms = false;  // the sums begin at the column terms
  bool sums_are_final = false;     // nothing is left to do after the product
  float y_scale = 0;
  std::int32_t y_zero_point = 0;
};

struct MatMulPlan::Tile {
  std::int64_t columns;
  Scratch memory;
  std::int32_t* acc;
  std::int32_t* row_term;
  std::int32_t* row_zero_point;
  float* row_scale;
  std::int32_t* column_term;
  float* scale;
  std::int8_t* packed;
  std::int32_t* packed_sums;

  Tile(std::int64_t rows, std::int64_t columns_, std::int64_t packed_depth)
      : Tile(rows, columns_, packed_depth, Layout()) {}

  const std::int32_t* column_sum = nullptr;  // of the current columns

 private:
  Tile(std::int64_t rows, std::int64_t columns_, std::int64_t packed_depth, Layout layout)
      : columns(vector::padded_n(columns_)), memory(take(layout, rows, columns, packed_depth)) {
    acc = reinterpret_cast<std::int32_t*>(memory.bytes());
    row_term = acc + rows * columns;
    row_zero_point = row_term + padded(rows);
    row_scale = reinterpret_cast<float*>(row_zero_point + padded(rows));
    column_term = row_zero_point + 2 * padded(rows);
    scale = reinterpret_cast<float*>(column_term + columns);
    packed_sums = reinterpret_cast<std::int32_t*>(scale + columns);
    packed = reinterpret_cast<std::int8_t*>(packed_sums + columns);
  }
  static std::int64_t padded(std::int64_t rows) { return (rows + 15) / 16 * 16; }
  static std::size_t take(Layout& layout, std::int64_t rows, std::int64_t columns, std::int64_t packed_depth) {
    layout.add(static_cast<std::size_t>((rows * columns + 3 * padded(rows) + 3 * columns) * 4));
    layout.add(static_cast<std::size_t>(columns * packed_depth));
    return layout.total();
  }
};

}  // namespace octet::core
