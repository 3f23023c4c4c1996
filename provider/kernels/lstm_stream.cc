#include "provider/kernels/lstm_stream.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "primitives/vector/kernels.hpp"
#include "provider/core/parallel.hpp"
#include "provider/core/scratch.hpp"

namespace octet::core {
namespace {

using vector::kColumnBlock;
using vector::padded_k;
using vector::padded_pairs;

/// Gates of a chunk's inputs that stay in the cache until their steps come, and rows enough for a product at full
/// speed.
constexpr std::int64_t kChunkBytes = 512 * 1024;
constexpr std::int64_t kLeastChunkRows = 64;

/// With fewer rows than these, a step is about reading weights: pieces are small enough to be in the first cache still
/// when the next step, which goes through them in the other direction, begins with them.
constexpr std::int64_t kManyRows = 8;
constexpr std::int64_t kPieceBytes = 16 * 1024;
constexpr std::int64_t kLeastPieceColumns = 128;
constexpr std::int64_t kMostTileColumns = 512;

std::int64_t chunk_rows(const LstmShape& shape, std::int64_t rows) {
  const std::int64_t cached = kChunkBytes / (shape.columns() * static_cast<std::int64_t>(sizeof(float)));
  return std::max(rows, std::min(shape.steps * rows, std::max(cached, kLeastChunkRows)));
}

std::size_t bytes_of(std::int64_t count, std::int64_t size) { return static_cast<std::size_t>(count * size); }

constexpr std::int64_t kQuantizationBytes = 12;

Bounds bounds_of(const float* x, std::size_t n) {
  Bounds bounds;
  vector::kernels().quantize->min_max(x, n, &bounds.min, &bounds.max);
  return bounds;
}

// Where 8-bit rows would be, rows of bfloat16.
std::uint16_t* rounded_row(std::uint8_t* rows, std::int64_t row, std::int64_t k) {
  return reinterpret_cast<std::uint16_t*>(rows) + row * padded_pairs(k);
}

void round_row(const float* x, std::int64_t k, std::uint16_t* row) {
  vector::kernels().quantize->narrow[vector::kBfloat16](x, static_cast<std::size_t>(k), row);
  if (k % 2 != 0) row[k] = 0;
}

}  // namespace

LstmStreamMemory::LstmStreamMemory(const LstmShape& shape, std::int64_t rows, std::uint32_t parts,
                                   const ProductPiece& piece, bool bfloat16)
    : input_rows(chunk_rows(shape, rows)) {
  const auto row_bytes = [=](std::int64_t k) { return bfloat16 ? 2 * padded_pairs(k) : k; };
  const std::int64_t column_bytes = bfloat16 ? row_bytes(shape.hidden) : padded_k(shape.hidden);
  tile_rows = std::min(rows, piece.rows);
  tile_columns = std::min(shape.columns(), piece.columns / kColumnBlock * kColumnBlock);
  if (rows < kManyRows) tile_columns = std::min(tile_columns, kMostTileColumns);
  product_columns = tile_columns;
  if (rows < kManyRows) {
    const std::int64_t small = kPieceBytes / column_bytes / kColumnBlock * kColumnBlock;
    product_columns = std::min(tile_columns, std::max(small, kLeastPieceColumns));
  }
  Layout layout;
  input = layout.add(bytes_of(input_rows, row_bytes(shape.input)));
  input_quantization = layout.add(bytes_of(input_rows, kQuantizationBytes));
  gates = layout.add(bytes_of(input_rows * shape.columns(), sizeof(float)));
  state = layout.add(bytes_of(rows, row_bytes(shape.hidden)));
  state_quantization = layout.add(bytes_of(rows, kQuantizationBytes));
  c = layout.add(bytes_of(rows * shape.units(), sizeof(float)));
  h = layout.add(bytes_of(rows * shape.units(), sizeof(float)));
  tiles = layout.add(bytes_of(static_cast<std::int64_t>(parts) * tile_rows * tile_columns, sizeof(std::int32_t)));
  bytes_ = layout.total();
}

LstmStream::LstmStream(const LstmTask& task, const std::int64_t* rows, std::int64_t count,
                       const LstmStreamMemory& layout, std::uint8_t* memory, std::uint32_t parts)
    : task_(task), rows_(rows), layout_(layout), parts_(parts) {
  const auto quantization = [&](std::size_t at, std::int64_t number) {
    auto* scale = reinterpret_cast<float*>(memory + at);
    auto* integers = reinterpret_cast<std::int32_t*>(scale + number);
    return Quantization{scale, integers, integers + number};
  };
  input_ = memory + layout.input;
  input_quantization_ = quantization(layout.input_quantization, layout.input_rows);
  gates_ = reinterpret_cast<float*>(memory + layout.gates);
  state_ = memory + layout.state;
  state_quantization_ = quantization(layout.state_quantization, count);
  c_ = reinterpret_cast<float*>(memory + layout.c);
  h_ = reinterpret_cast<float*>(memory + layout.h);
  tiles_ = reinterpret_cast<std::int32_t*>(memory + layout.tiles);

  const LstmShape& shape = task.shape;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto set = [&](float* states, const float* given) {
      float* state = states + i * shape.units();
      std::fill_n(state, shape.units(), 0.0F);
      if (given) std::copy_n(given + rows[i] * shape.hidden, shape.hidden, state);
    };
    set(c_, task.initial_c);
    set(h_, task.initial_h);
  }
  state_is_zero_ = task.initial_h == nullptr;
  active_ = active_at(0, count);
  begin_chunk();
  if (active_ > 0) quantize_states(task.node->per_tensor ? count : active_);
}

std::int64_t LstmStream::active_at(std::int64_t step, std::int64_t most) const {
  while (most > 0 && length(most - 1) <= step) --most;
  return most;
}

void LstmStream::begin_chunk() {
  phase_ = Phase::quantize;
  chunk_end_ = step_;
  chunk_rows_ = 0;
  gates_row_ = 0;
  for (std::int64_t rows = active_; rows > 0 && chunk_rows_ + rows <= layout_.input_rows;
       rows = active_at(chunk_end_, rows)) {
    chunk_rows_ += rows;
    ++chunk_end_;
  }
}

void LstmStream::run_part(std::uint32_t part) {
  switch (phase_) {
    case Phase::quantize:
      return quantize_inputs(part);
    case Phase::multiply:
      return multiply_inputs(part);
    case Phase::step:
      return step(part);
  }
}

bool LstmStream::advance() {
  if (phase_ == Phase::quantize) {
    phase_ = Phase::multiply;
  } else if (phase_ == Phase::multiply) {
    phase_ = Phase::step;
  } else {
    finish_step();
    if (active_ == 0) return false;
    if (step_ == chunk_end_) begin_chunk();
  }
  return true;
}

void LstmStream::set_quantization(const Quantization& target, std::int64_t row, const DynamicParams& params,
                                  const std::uint8_t* values, std::int64_t k, bool with_term) const {
  target.scale[row] = params.scale;
  target.zero_point[row] = params.zero_point;
  target.term[row] = 0;
  if (!with_term) return;
  std::int32_t sum = 0;
  vector::kernels().matmul.row_sums(values, 1, k, &sum);
  target.term[row] =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(k) * params.zero_point - static_cast<std::uint32_t>(sum));
}

// Rows of the chunk, part by part: step after step, in each the sequences that have it.
void LstmStream::quantize_inputs(std::uint32_t part) {
  const LstmShape& shape = task_.shape;
  const Range range = split(chunk_rows_, 1, parts_, part);
  std::int64_t first = 0, active = active_;
  for (std::int64_t step = step_; step < chunk_end_ && first < range.end; ++step) {
    active = active_at(step, active);
    const std::int64_t end = std::min(first + active, range.end);
    for (std::int64_t row = std::max(first, range.begin); row < end; ++row) {
      const std::int64_t i = row - first;
      const std::int64_t time = task_.direction->reverse ? length(i) - 1 - step : step;
      const float* x = task_.x + (time * shape.batch + rows_[i]) * shape.input;
      if (task_.bfloat16) {
        round_row(x, shape.input, rounded_row(input_, row, shape.input));
        continue;
      }
      std::uint8_t* values = input_ + row * shape.input;
      const auto size = static_cast<std::size_t>(shape.input);
      DynamicParams params = task_.x_params;
      if (!task_.node->per_tensor) {
        const Bounds bounds = bounds_of(x, size);
        params = dynamic_quantize_params(bounds.min, bounds.max);
      }
      vector::kernels().quantize->quantize_u8(x, size, params.scale, params.zero_point, values);
      set_quantization(input_quantization_, row, params, values, shape.input, task_.w.zero_point != nullptr);
    }
    first += active;
  }
}

vector::RowwiseSums LstmStream::sums(const GateWeights& weights, const Quantization& quantization, std::int64_t row,
                                     std::int64_t column) const {
  vector::RowwiseSums sums{};
  sums.row_scale = quantization.scale + row;
  sums.row_zero_point = quantization.zero_point + row;
  sums.row_term = quantization.term + row;
  sums.column_scale = weights.scale + column;
  sums.column_sum = weights.column_sums + column;
  sums.zero_point = weights.zero_point ? weights.zero_point + column : nullptr;
  return sums;
}

// The sums' place is that of the gates that they become.
void LstmStream::multiply_inputs(std::uint32_t part) {
  const LstmShape& shape = task_.shape;
  const Product* product = task_.input_product;
  const Range range = split(shape.columns(), kColumnBlock, parts_, part);
  if (task_.bfloat16) return multiply_rounded_inputs(range);
  const std::int64_t column_block = product ? product->column_block() : shape.columns();
  const std::int64_t row_block = product ? product->row_block() : chunk_rows_;
  for (std::int64_t n = range.begin; n < range.end; n += column_block)
    for (std::int64_t m = 0; m < chunk_rows_; m += row_block) {
      const std::int64_t rows = std::min(row_block, chunk_rows_ - m), columns = std::min(column_block, range.end - n);
      float* gates = gates_ + m * shape.columns() + n;
      auto* acc = reinterpret_cast<std::int32_t*>(gates);
      if (product)
        product->run(rows, columns, input_ + m * shape.input, task_.w.packed + n * padded_k(shape.input), nullptr, acc,
                     shape.columns());
      else
        for (std::int64_t i = 0; i < rows; ++i) std::fill_n(acc + i * shape.columns(), columns, 0);
      vector::RowwiseTile inputs{};
      inputs.sums = sums(task_.w, input_quantization_, m, n);
      inputs.sums.rows = rows;
      inputs.sums.columns = columns;
      inputs.sums.acc = acc;
      inputs.sums.acc_stride = shape.columns();
      inputs.bias = task_.bias + n;
      inputs.y = gates;
      inputs.y_stride = shape.columns();
      vector::kernels().rowwise->finish(inputs);
    }
}

void LstmStream::multiply_rounded_inputs(Range columns) const {
  const LstmShape& shape = task_.shape;
  vector::Bfloat16Tile tile{};
  tile.rows = chunk_rows_;
  tile.columns = columns.end - columns.begin;
  tile.k = shape.input;
  tile.a = rounded_row(input_, 0, shape.input);
  tile.b = task_.w.bfloat16 + columns.begin * padded_pairs(shape.input);
  tile.scale = task_.w.scale + columns.begin;
  tile.bias = task_.bias + columns.begin;
  tile.y = gates_ + columns.begin;
  tile.y_stride = shape.columns();
  vector::kernels().bfloat16->product(tile);
}

// To the gates of the inputs, which no other step needs.
void LstmStream::add_rounded_states(std::int64_t row, std::int64_t rows, Range columns) const {
  const LstmShape& shape = task_.shape;
  vector::Bfloat16Tile tile{};
  tile.rows = rows;
  tile.columns = columns.end - columns.begin;
  tile.k = shape.hidden;
  tile.a = rounded_row(state_, row, shape.hidden);
  tile.b = task_.r.bfloat16 + columns.begin * padded_pairs(shape.hidden);
  tile.scale = task_.r.scale + columns.begin;
  tile.y = gates_ + (gates_row_ + row) * shape.columns() + columns.begin;
  tile.y_stride = shape.columns();
  vector::kernels().bfloat16->product(tile);
}

// Back and forth: a step begins with the weights that the one before it has used last.
void LstmStream::multiply_states(std::int64_t row, std::int64_t rows, Range columns, std::int32_t* tile) const {
  const std::int64_t block = layout_.product_columns;
  const std::int64_t blocks = (columns.end - columns.begin + block - 1) / block;
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t n = columns.begin + (step_ % 2 == 0 ? i : blocks - 1 - i) * block;
    if (task_.bfloat16) {
      add_rounded_states(row, rows, {n, std::min(n + block, columns.end)});
      continue;
    }
    task_.state_product->run(rows, std::min(block, columns.end - n), state_ + row * task_.shape.hidden,
                             task_.r.packed + n * padded_k(task_.shape.hidden), nullptr, tile + (n - columns.begin),
                             layout_.tile_columns);
  }
}

void LstmStream::step(std::uint32_t part) {
  const LstmShape& shape = task_.shape;
  const Range range = split(shape.columns(), kColumnBlock, parts_, part);
  std::int32_t* tile = tiles_ + static_cast<std::int64_t>(part) * layout_.tile_rows * layout_.tile_columns;
  vector::CellStep cells{};
  cells.inputs_stride = shape.columns();
  cells.state_stride = shape.units();
  cells.f = task_.direction->f;
  cells.g = task_.direction->g;
  cells.h_function = task_.direction->h;
  cells.clip = task_.node->clip;
  cells.input_forget = task_.node->input_forget;
  const std::int64_t tiles = (range.end - range.begin + layout_.tile_columns - 1) / layout_.tile_columns;
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t n = range.begin + (step_ % 2 == 0 ? i : tiles - 1 - i) * layout_.tile_columns;
    const std::int64_t columns = std::min(layout_.tile_columns, range.end - n);
    cells.peephole = task_.peephole ? task_.peephole + n : nullptr;
    for (std::int64_t m = 0; m < active_; m += layout_.tile_rows) {
      const std::int64_t rows = std::min(layout_.tile_rows, active_ - m);
      if (!state_is_zero_)
        multiply_states(m, rows, {n, n + columns}, tile);
      else if (!task_.bfloat16)
        std::fill_n(tile, rows * layout_.tile_columns, 0);
      if (!task_.bfloat16) {
        cells.sums = sums(task_.r, state_quantization_, m, n);
        cells.sums.acc = tile;
        cells.sums.acc_stride = layout_.tile_columns;
      }
      cells.sums.rows = rows;
      cells.sums.columns = columns;
      cells.inputs = gates_ + (gates_row_ + m) * shape.columns() + n;
      cells.c = c_ + m * shape.units() + n / vector::kGates;
      cells.h = h_ + m * shape.units() + n / vector::kGates;
      vector::kernels().lstm->cell_step(cells);
    }
  }
}

// The new states go to Y, where they end to Y_h and Y_c, and in 8 bits into the next step.
void LstmStream::finish_step() {
  const LstmShape& shape = task_.shape;
  const auto copy = [&](const float* states, std::int64_t i, float* target) {
    std::memcpy(target, states + i * shape.units(), static_cast<std::size_t>(shape.hidden) * sizeof(float));
  };
  for (std::int64_t i = 0; i < active_; ++i) {
    const std::int64_t time = task_.direction->reverse ? length(i) - 1 - step_ : step_;
    if (task_.y) copy(h_, i, task_.y + time * task_.y_step + rows_[i] * shape.hidden);
    if (step_ + 1 < length(i)) continue;
    if (task_.y_h) copy(h_, i, task_.y_h + rows_[i] * shape.hidden);
    if (task_.y_c) copy(c_, i, task_.y_c + rows_[i] * shape.hidden);
  }
  state_is_zero_ = false;
  gates_row_ += active_;
  ++step_;
  const std::int64_t before = active_;
  active_ = active_at(step_, active_);
  if (active_ > 0) quantize_states(task_.node->per_tensor ? before : active_);
}

// Each of the active rows by its own range, or by that of the first `rows` rows together.
void LstmStream::quantize_states(std::int64_t rows) {
  const LstmShape& shape = task_.shape;
  if (task_.bfloat16) {
    for (std::int64_t i = 0; i < active_; ++i)
      round_row(h_ + i * shape.units(), shape.hidden, rounded_row(state_, i, shape.hidden));
    return;
  }
  const auto size = static_cast<std::size_t>(shape.hidden);
  const bool together = task_.node->per_tensor;
  DynamicParams params{};
  if (together) {
    Bounds whole;
    for (std::int64_t i = 0; i < rows; ++i) whole.take(bounds_of(h_ + i * shape.units(), size));
    params = dynamic_quantize_params(whole.min, whole.max);
  }
  for (std::int64_t i = 0; i < active_; ++i) {
    const float* h = h_ + i * shape.units();
    if (!together) {
      const Bounds bounds = bounds_of(h, size);
      params = dynamic_quantize_params(bounds.min, bounds.max);
    }
    std::uint8_t* values = state_ + i * shape.hidden;
    vector::kernels().quantize->quantize_u8(h, size, params.scale, params.zero_point, values);
    set_quantization(state_quantization_, i, params, values, shape.hidden, task_.r.zero_point != nullptr);
  }
}

}  // namespace octet::core
