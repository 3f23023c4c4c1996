// From the sums of a MatMulPlan's tile to its output.
#include <algorithm>

#include "provider/kernels/matmul_run.hpp"

namespace octet::core {
namespace {

/// Integer terms wrap modulo 2^32.
std::int32_t wrap(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

}  // namespace

// What depends on the column only: the correction for A's zero point and the scale.
void MatMulPlan::prepare_columns(const Operands& run, const Tile& tile, std::int64_t matrix, std::int64_t row,
                                 Range columns) const {
  vector::ColumnParameters parameters{};
  parameters.columns = columns.end - columns.begin;
  parameters.k = shape_.k;
  parameters.column_sum = tile.column_sum;
  parameters.a_zero_point = run.a_zero_point[a_zero_point_.offset(matrix) + row * a_zero_point_.stride];
  parameters.b_zero_point = run.b_zero_point + b_zero_point_.offset(matrix) + columns.begin * b_zero_point_.stride;
  parameters.b_zero_point_stride = b_zero_point_.stride;
  if (run.c && c_row_stride_ == 0) parameters.c = run.c + columns.begin * c_column_stride_;
  parameters.c_stride = c_column_stride_;
  vector::kernels().matmul.column_terms(parameters, tile.column_term);
  if (y_.dtype == DataType::int32) return;
  parameters.a_scale = node_.alpha * run.a_scale[a_scale_.offset(matrix) + row * a_scale_.stride];
  parameters.b_scale = run.b_scale + b_scale_.offset(matrix) + columns.begin * b_scale_.stride;
  parameters.b_scale_stride = b_scale_.stride;
  parameters.y_scale = run.y_scale;
  vector::kernels().matmul.column_scales(parameters, is_8bit(y_.dtype), tile.scale);
}

void MatMulPlan::finish_rows(const Operands& run, Tile& tile, std::int64_t matrix, Range rows, Range columns,
                             const std::int32_t* acc, std::int64_t acc_stride) const {
  if (per_row_ && y_.dtype == DataType::float32 && !has_c_)
    return finish_rowwise(run, tile, matrix, rows, columns, acc, acc_stride);
  const std::int64_t count = rows.end - rows.begin;
  vector::EpilogueTile finish{};
  finish.columns = columns.end - columns.begin;
  finish.acc_stride = acc_stride;
  finish.y_stride = shape_.n;
  finish.column_term = tile.column_term;
  finish.scale = tile.scale;
  finish.bias = run.bias ? run.bias + columns.begin : nullptr;
  finish.y_zero_point = run.y_zero_point;
  const bool row_c = run.c && c_row_stride_ != 0 && c_column_stride_ == 0;
  const bool full_c = run.c && c_row_stride_ != 0 && c_column_stride_ != 0;
  const std::int32_t* sums =
      run.row_sums ? run.row_sums + shape_.a_index[static_cast<std::size_t>(matrix)] * shape_.m + rows.begin : nullptr;
  if (sums && b_zero_point_.stride != 0)
    finish.b_zero_point = run.b_zero_point + b_zero_point_.offset(matrix) + columns.begin;
  if ((sums && b_zero_point_.stride == 0) || row_c) {
    const std::int64_t zero_point =
        sums && b_zero_point_.stride == 0 ? run.b_zero_point[b_zero_point_.offset(matrix)] : 0;
    for (std::int64_t i = 0; i < count; ++i)
      tile.row_term[i] =
          wrap((sums ? -zero_point * sums[i] : 0) + (row_c ? run.c[(rows.begin + i) * c_row_stride_] : 0));
    finish.row_term = tile.row_term;
  }
  const std::size_t y_size = static_cast<std::size_t>(bit_width(y_.dtype)) / 8;
  const auto finish_from = [&](std::int64_t first, std::int64_t number) {
    vector::EpilogueTile part = finish;
    part.rows = number;
    part.acc = acc + first * acc_stride;
    part.row_sum = finish.b_zero_point ? sums + first : nullptr;
    if (part.row_term) part.row_term += first;
    if (full_c) {
      part.addend = run.c + (rows.begin + first) * c_row_stride_ + columns.begin;
      part.addend_stride = c_row_stride_;
    }
    const std::int64_t at = (matrix * shape_.m + rows.begin + first) * shape_.n + columns.begin;
    part.y = static_cast<std::uint8_t*>(run.y) + static_cast<std::size_t>(at) * y_size;
    epilogue_(part);
  };
  if (!per_row_) return finish_from(0, count);
  for (std::int64_t i = 0; i < count; ++i) {
    prepare_columns(run, tile, matrix, rows.begin + i, columns);
    finish_from(i, 1);
  }
}

// Rows with scales and zero points of their own: what a column has is prepared once for all of them.
void MatMulPlan::finish_rowwise(const Operands& run, Tile& tile, std::int64_t matrix, Range rows, Range columns,
                                const std::int32_t* acc, std::int64_t acc_stride) const {
  const std::int64_t count = rows.end - rows.begin, width = columns.end - columns.begin;
  vector::ColumnParameters parameters{};
  parameters.columns = width;
  parameters.a_scale = 1;
  parameters.b_scale = run.b_scale + b_scale_.offset(matrix) + columns.begin * b_scale_.stride;
  parameters.b_scale_stride = b_scale_.stride;
  vector::kernels().matmul.column_scales(parameters, false, tile.scale);

  const float* scale = run.a_scale + a_scale_.offset(matrix) + rows.begin * a_scale_.stride;
  const std::int32_t* zero_point = run.a_zero_point + a_zero_point_.offset(matrix) + rows.begin * a_zero_point_.stride;
  for (std::int64_t i = 0; i < count; ++i) {
    tile.row_scale[i] = scale[i * a_scale_.stride];
    tile.row_zero_point[i] = zero_point[i * a_zero_point_.stride];
  }
  vector::RowwiseTile finish{};
  finish.sums = {count,      width,           acc,    acc_stride, tile.row_scale, tile.row_zero_point, tile.row_term,
                 tile.scale, tile.column_sum, nullptr};
  if (run.row_sums) {
    const std::int64_t first = shape_.a_index[static_cast<std::size_t>(matrix)] * shape_.m + rows.begin;
    for (std::int64_t i = 0; i < count; ++i)
      tile.row_term[i] = wrap(shape_.k * tile.row_zero_point[i] - run.row_sums[first + i]);
    const std::int32_t* b_zero_point =
        run.b_zero_point + b_zero_point_.offset(matrix) + columns.begin * b_zero_point_.stride;
    for (std::int64_t n = 0; n < width; ++n) tile.column_term[n] = b_zero_point[n * b_zero_point_.stride];
    finish.sums.zero_point = tile.column_term;
  }
  finish.bias = run.bias ? run.bias + columns.begin : nullptr;
  finish.y = static_cast<float*>(run.y) + (matrix * shape_.m + rows.begin) * shape_.n + columns.begin;
  finish.y_stride = shape_.n;
  vector::kernels().rowwise->finish(finish);
}

}  // namespace octet::core
