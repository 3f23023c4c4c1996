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
  /// Where everything lies in its memory.
  struct Layouts {
    std::size_t acc, row_term, row_zero_point, row_scale, column_term, scale, packed_sums, packed, total;

    Layouts(std::int64_t rows, std::int64_t columns, std::int64_t packed_depth) {
      Layout layout;
      const auto words = [&](std::int64_t count) { return layout.add(static_cast<std::size_t>(count) * 4); };
      acc = words(rows * columns);
      row_term = words(rows);
      row_zero_point = words(rows);
      row_scale = words(rows);
      column_term = words(columns);
      scale = words(columns);
      packed_sums = words(columns);
      packed = layout.add(static_cast<std::size_t>(columns * packed_depth));
      total = layout.total();
    }
  };

  std::int64_t columns;
  Scratch memory;
  std::int32_t* acc;
  std::int32_t* row_term;
  std::int32_t* row_zero_point;
  float* row_scale;
  std::int32_t* column_term;
  float* scale;
  std::int32_t* packed_sums;
  std::int8_t* packed;
  const std::int32_t* column_sum = nullptr;  // of the current columns

  /// For `columns_` rounded up to whole blocks.
  Tile(std::int64_t rows, std::int64_t columns_, std::int64_t packed_depth)
      : Tile(vector::padded_n(columns_), Layouts(rows, vector::padded_n(columns_), packed_depth)) {}

 private:
  Tile(std::int64_t columns_, const Layouts& at)
      : columns(columns_),
        memory(at.total),
        acc(reinterpret_cast<std::int32_t*>(memory.bytes() + at.acc)),
        row_term(reinterpret_cast<std::int32_t*>(memory.bytes() + at.row_term)),
        row_zero_point(reinterpret_cast<std::int32_t*>(memory.bytes() + at.row_zero_point)),
        row_scale(reinterpret_cast<float*>(memory.bytes() + at.row_scale)),
        column_term(reinterpret_cast<std::int32_t*>(memory.bytes() + at.column_term)),
        scale(reinterpret_cast<float*>(memory.bytes() + at.scale)),
        packed_sums(reinterpret_cast<std::int32_t*>(memory.bytes() + at.packed_sums)),
        packed(reinterpret_cast<std::int8_t*>(memory.bytes() + at.packed)) {}
};

}  // namespace octet::core
