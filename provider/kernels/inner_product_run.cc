// One run of the inner product.
#include <algorithm>
#include <optional>
#include <utility>

#include "primitives/vector/kernels.hpp"
#include "provider/core/crew.hpp"
#include "provider/core/scratch.hpp"
#include "provider/kernels/dynamic_quantize.hpp"
#include "provider/kernels/inner_product.hpp"

namespace octet::core {
namespace {

constexpr double kNanosecondsPerElement = 0.2;  // of quantization
constexpr std::size_t kAlignment = 64;

std::size_t bytes_of(std::int64_t count, std::size_t size) { return static_cast<std::size_t>(count) * size; }

template <class T>
T* at_byte(std::uint8_t* memory, std::size_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

/// Columns of the first block, such that the others begin with a cache line, where that holds for all rows.
std::int64_t columns_to_line(const FloatMatrix& b, std::int64_t column) {
  constexpr std::int64_t kLine = 64;
  const std::int64_t past = reinterpret_cast<std::intptr_t>(b.at(column)) % kLine;
  const bool aligns = !b.transposed && past % b.element_bytes() == 0 && b.n * b.element_bytes() % kLine == 0;
  return aligns && past != 0 ? (kLine - past) / b.element_bytes() : vector::kColumnBlock;
}

}  // namespace

/// Where everything lies in the workspace. What a part of the work needs is there for each part.
struct InnerProductState::Layouts {
  std::size_t a, row_scale, row_zero_point, widened, tiles, total;
  std::size_t widened_bytes, tile_bytes;
  std::size_t acc, totals, weights;  ///< in a tile

  Layouts(const InnerProductState& state, std::int64_t rows, int threads) {
    const InnerProductSpec& spec = state.spec_;
    const std::size_t parts = std::min<std::size_t>(static_cast<std::size_t>(threads), Crew<Parts>::kMostParts);
    const std::int64_t sums = std::min(state.row_block_, rows) * state.column_block_;
    Layout tile;
    acc = tile.add(bytes_of(sums, sizeof(std::int32_t)));
    totals = tile.add(state.pieces_.count() > 1 ? bytes_of(sums, sizeof(std::int64_t)) : 0);
    weights = tile.add(spec.options.constant_b ? 0 : QuantizedColumns::bytes(state.pieces_, state.column_block_));
    tile_bytes = tile.total();
    widened_bytes = spec.options.a_type == DataType::float32 ? 0 : bytes_of((spec.k + 15) / 16 * 16, sizeof(float));
    Layout all;
    a = all.add(bytes_of(rows, static_cast<std::size_t>(spec.k)));
    row_scale = all.add(bytes_of(rows, sizeof(float)));
    row_zero_point = all.add(bytes_of(rows, sizeof(std::int32_t)));
    widened = all.add(parts * widened_bytes);
    tiles = all.add(parts * tile_bytes);
    total = all.total();
  }
};

struct InnerProductState::Run {
  std::int64_t rows;
  const std::uint8_t* a;
  const void* b;
  std::uint8_t* c;
  std::uint8_t* quantized;  ///< by piece of K: rows x its length
  float* row_scale;
  std::int32_t* row_zero_point;
  const Layouts& layouts;
};

/// Parts of C, computed in two phases: rows of A are quantized, then tiles of C are computed. Where parts share rows
/// they are work for a Crew, which waits between the phases for less than a second fork would take.
struct InnerProductState::Parts {
  const InnerProductState& state;
  const Run& run;
  std::uint8_t* memory;
  ProductGrid grid;
  bool quantizes = true;

  Range band(std::size_t i) const noexcept { return split(run.rows, 1, grid.bands, i % grid.bands); }

  /// Part i quantizes a share of the rows of its band.
  void quantize(std::size_t i) const {
    const Layouts& at = run.layouts;
    const Range rows = band(i), share = split(rows.end - rows.begin, 1, grid.columns, i / grid.bands);
    state.quantize_rows(run, {rows.begin + share.begin, rows.begin + share.end},
                        at_byte<float>(memory, at.widened + i * at.widened_bytes));
  }
  void multiply(std::size_t i) const {
    const Layouts& at = run.layouts;
    state.run_part(run, band(i), split(state.spec_.n, vector::kColumnBlock, grid.columns, i / grid.bands),
                   memory + at.tiles + i * at.tile_bytes);
  }

  void run_part(std::size_t i) const { quantizes ? quantize(i) : multiply(i); }
  bool advance() noexcept { return std::exchange(quantizes, false); }
};

std::size_t InnerProductState::workspace_bytes(std::int64_t rows, int threads) const {
  if (rows == 0 || spec_.n == 0) return 0;
  return Layouts(*this, rows, threads).total + kAlignment - 1;
}

void InnerProductState::check_forward(std::int64_t rows, const void* a, const void* b, const void* c) const {
  if (rows < 0 || rows > spec_.m) fail(std::to_string(rows) + " rows are given, expected at most m");
  if (!has_parameters_) {
    if (spec_.options.constant_b) fail("B is constant, but no parameters are set");
    if (parameter_count(spec_.options.activation, spec_.n) > 0) fail("the activation has parameters, but none are set");
  }
  if (rows == 0 || spec_.n == 0) return;
  if (a == nullptr && spec_.k > 0) fail("A is null");
  if (b == nullptr && spec_.k > 0 && !spec_.options.constant_b) fail("B is not constant, but null");
  if (c == nullptr) fail("C is null");
}

void InnerProductState::forward(std::int64_t rows, const void* a, const void* b, void* workspace, void* c,
                                const Call& call) const {
  check_forward(rows, a, b, c);
  if (rows == 0 || spec_.n == 0) return;
  const int threads = threads_of(call);
  if (workspace == nullptr) {
    const Scratch scratch(workspace_bytes(rows, threads));
    return forward(rows, a, b, scratch.bytes(), c, call);
  }
  const Layouts layouts(*this, rows, threads);
  auto* memory = static_cast<std::uint8_t*>(workspace);
  memory += (kAlignment - reinterpret_cast<std::uintptr_t>(memory) % kAlignment) % kAlignment;
  const Run run{rows,
                static_cast<const std::uint8_t*>(a),
                b,
                static_cast<std::uint8_t*>(c),
                memory + layouts.a,
                at_byte<float>(memory, layouts.row_scale),
                at_byte<std::int32_t>(memory, layouts.row_zero_point),
                layouts};
  Parts parts{*this, run, memory, cut(rows, call)};
  if (parts.grid.columns == 1) {
    parallel_for(call, parts.grid.count(), [&](std::size_t i) {
      parts.quantize(i);
      parts.multiply(i);
    });
  } else {
    Crew<Parts> crew(parts, static_cast<std::uint32_t>(parts.grid.count()));
    parallel_for(call, parts.grid.count(), [&](std::size_t i) { crew.join(static_cast<std::uint32_t>(i)); });
  }
}

ProductGrid InnerProductState::cut(std::int64_t rows, const Call& call) const {
  const bool constant = spec_.options.constant_b;
  const double m = static_cast<double>(rows), k = static_cast<double>(spec_.k), n = static_cast<double>(spec_.n);
  const double speed = products_.empty() ? 1 : products_[0]->multiplications_per_nanosecond();
  const double weights = constant ? reading_nanoseconds(k * n, true) : k * n * kNanosecondsPerElement;
  const double work = m * k * n / speed + m * k * kNanosecondsPerElement + weights;
  const std::size_t wanted = std::min<std::size_t>(parts_for(call, work), Crew<Parts>::kMostParts);
  return cut_product(wanted, rows, spec_.n, spec_.k, constant);
}

void InnerProductState::quantize_rows(const Run& run, Range rows, float* widened) const {
  const vector::QuantizeKernels& loops = *vector::kernels().quantize;
  const auto k = static_cast<std::size_t>(spec_.k);
  const bool is_float = spec_.options.a_type == DataType::float32;
  for (std::int64_t m = rows.begin; m < rows.end; ++m) {
    const std::uint8_t* source = run.a + m * spec_.k * element_bytes(spec_.options.a_type);
    if (!is_float) loops.widen[vector::kBfloat16](reinterpret_cast<const std::uint16_t*>(source), k, widened);
    const float* row = is_float ? reinterpret_cast<const float*>(source) : widened;
    const DynamicParams params = row_quantize_params(row, spec_.k);
    run.row_scale[m] = params.scale;
    run.row_zero_point[m] = params.zero_point;
    for (std::int64_t piece = 0; piece < pieces_.count(); ++piece) {
      const std::int64_t begin = pieces_.begin(piece), length = pieces_.length(piece);
      loops.quantize_u8(row + begin, static_cast<std::size_t>(length), params.scale, params.zero_point,
                        run.quantized + run.rows * begin + m * length);
    }
  }
}

void InnerProductState::run_part(const Run& run, Range rows, Range columns, std::uint8_t* memory) const {
  const InnerProductOptions& options = spec_.options;
  auto* acc = at_byte<std::int32_t>(memory, run.layouts.acc);
  auto* totals = at_byte<std::int64_t>(memory, run.layouts.totals);
  const QuantizedColumns weights = options.constant_b
                                       ? QuantizedColumns(pieces_, vector::padded_n(spec_.n), weights_memory_.get())
                                       : QuantizedColumns(pieces_, column_block_, memory + run.layouts.weights);
  const std::int64_t height = rows.end - rows.begin;
  const FloatMatrix b{run.b, options.b_type == DataType::bfloat16, options.trans_b, spec_.k, spec_.n};
  std::optional<ColumnQuantizer> quantizer;
  if (!options.constant_b) quantizer.emplace(b, pieces_, columns.begin, columns.end, levels_of(options));
  const bool few = quantizer && decision_.backend == "vector" && quantizer->multiplies(height);
  std::int64_t width = quantizer && height <= row_block_ ? columns_to_line(b, columns.begin) : column_block_;
  for (std::int64_t n = columns.begin; n < columns.end; n += width, width = column_block_) {
    const Range block{n, std::min(n + width, columns.end)};
    const std::int64_t first = options.constant_b ? n : 0;  // in `weights`
    if (few) {
      quantizer->multiply(block.end - n, weights, height, run.quantized + rows.begin * spec_.k, acc, column_block_);
      finish(run, rows, weights, block, first, acc);
      continue;
    }
    if (quantizer) quantizer->quantize(block.end - n, weights, first);
    for (std::int64_t m = rows.begin; m < rows.end; m += row_block_) {
      const Range band{m, std::min(m + row_block_, rows.end)};
      multiply(run, band, weights, {first, first + block.end - n}, acc, totals);
      finish(run, band, weights, block, first, acc);
    }
  }
}

// With one piece of K, `acc` gets its sums as they are; with several, or none, the exact sums in float32.
void InnerProductState::multiply(const Run& run, Range rows, const QuantizedColumns& weights, Range columns,
                                 std::int32_t* acc, std::int64_t* totals) const {
  const std::int64_t height = rows.end - rows.begin, width = columns.end - columns.begin;
  const auto product_of = [&](std::int64_t piece) {
    const std::int64_t length = pieces_.length(piece);
    const std::uint8_t* a = run.quantized + run.rows * pieces_.begin(piece) + rows.begin * length;
    const Product& product = piece + 1 < pieces_.count() ? *products_.front() : *products_.back();
    product.run(height, width, a, weights.packed(piece, columns.begin), nullptr, acc, column_block_);
  };
  if (pieces_.count() == 0) std::fill_n(acc, height * column_block_, 0);
  if (pieces_.count() == 1) product_of(0);
  if (pieces_.count() <= 1) return;
  std::fill_n(totals, height * column_block_, 0);
  for (std::int64_t piece = 0; piece < pieces_.count(); ++piece) {
    product_of(piece);
    const std::int32_t* column_sum = weights.column_sum(piece, columns.begin);
    for (std::int64_t m = 0; m < height; ++m) {
      const auto zero_point = static_cast<std::uint32_t>(run.row_zero_point[rows.begin + m]);
      for (std::int64_t n = 0; n < width; ++n) {
        const std::int64_t i = m * column_block_ + n;
        totals[i] += static_cast<std::int32_t>(static_cast<std::uint32_t>(acc[i]) -
                                               zero_point * static_cast<std::uint32_t>(column_sum[n]));
      }
    }
  }
  auto* exact = reinterpret_cast<float*>(acc);
  for (std::int64_t i = 0; i < height * column_block_; ++i) exact[i] = static_cast<float>(totals[i]);
}

void InnerProductState::finish(const Run& run, Range rows, const QuantizedColumns& weights, Range columns,
                               std::int64_t first, const std::int32_t* acc) const {
  vector::RowwiseTile tile{};
  tile.sums.rows = rows.end - rows.begin;
  tile.sums.columns = columns.end - columns.begin;
  tile.sums.acc = acc;
  tile.sums.acc_stride = column_block_;
  tile.sums.row_scale = run.row_scale + rows.begin;
  tile.sums.row_zero_point = run.row_zero_point + rows.begin;
  tile.sums.column_scale = weights.scale(first);
  if (pieces_.count() == 1)
    tile.sums.column_sum = weights.column_sum(0, first);
  else
    tile.exact_sums = reinterpret_cast<const float*>(acc);  // 0 has the same bits in both types
  tile.bias = bias_.empty() ? nullptr : bias_.data() + columns.begin;
  static_assert(static_cast<int>(InnerProductActivation::gelu) == static_cast<int>(vector::OutputActivation::gelu));
  tile.activation = static_cast<vector::OutputActivation>(spec_.options.activation);
  const bool by_column = tile.activation == vector::OutputActivation::prelu;
  tile.parameters = parameters_.data() + (by_column ? columns.begin : 0);
  const DataType type = spec_.options.c_type;
  tile.y = run.c + (rows.begin * spec_.n + columns.begin) * element_bytes(type);
  tile.y_stride = spec_.n;
  tile.bfloat16 = type == DataType::bfloat16;
  vector::kernels().rowwise->finish(tile);
}

}  // namespace octet::core
