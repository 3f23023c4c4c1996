#include "provider/kernels/quantized_columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "primitives/vector/kernels.hpp"
#include "provider/core/scratch.hpp"

namespace octet::core {
namespace {

using vector::kColumnBlock;
using vector::padded_k;

/// 255 * 128 * 65793 is the greatest magnitude of a sum that int32 holds.
constexpr std::int64_t kMostDepth = 65793 / 64 * 64;

constexpr std::int64_t kCachedBytes = 4 * 1024 * 1024;  // of B: more is not in the last cache, or not to be counted on

// Without branches, so that a compiler computes many at once. NaN where the bound is not finite.
float scale_of(float bound, float levels) {
  const float scale = bound / levels + (bound - bound);
  return scale < std::numeric_limits<float>::min() ? 1.0F : scale;
}

/// Columns that are taken together: 64, or 32 where only so two strips of them, one to quantize and one to find the
/// bounds of, stay in the L2 cache. Rows whole pages apart fall on few of its sets, and leave no strip there.
std::int64_t strip_width(const FloatMatrix& b) {
  constexpr std::int64_t kCacheBytes = 832 * 1024, kPageBytes = 4096;
  const std::int64_t row_bytes = b.n * b.element_bytes(), strip_bytes = b.k * kColumnBlock * b.element_bytes();
  const bool fits_narrow_only = strip_bytes <= kCacheBytes && 2 * strip_bytes > kCacheBytes;
  return fits_narrow_only && row_bytes % kPageBytes != 0 ? kColumnBlock / 2 : kColumnBlock;
}

}  // namespace

DepthPieces::DepthPieces(std::int64_t k) : k_(k), length_(k), count_((k + kMostDepth - 1) / kMostDepth) {
  if (count_ > 1) length_ = padded_k((k + count_ - 1) / count_);
}

std::int64_t DepthPieces::length(std::int64_t piece) const noexcept {
  return piece + 1 < count_ ? length_ : k_ - piece * length_;
}

std::int64_t DepthPieces::padded_end() const noexcept {
  return count_ == 0 ? 0 : (count_ - 1) * length_ + padded_k(length(count_ - 1));
}

std::size_t QuantizedColumns::bytes(const DepthPieces& pieces, std::int64_t capacity) {
  constexpr std::int64_t kWord = 4;
  return static_cast<std::size_t>(capacity * (pieces.padded_end() + pieces.count() * kWord + kWord));
}

QuantizedColumns::QuantizedColumns(const DepthPieces& pieces, std::int64_t capacity, std::uint8_t* memory)
    : pieces_(pieces),
      capacity_(capacity),
      packed_(reinterpret_cast<std::int8_t*>(memory)),
      sums_(reinterpret_cast<std::int32_t*>(packed_ + capacity * pieces.padded_end())),
      scale_(reinterpret_cast<float*>(sums_ + capacity * pieces.count())) {}

std::int8_t* QuantizedColumns::packed(std::int64_t piece, std::int64_t n) const noexcept {
  return packed_ + capacity_ * pieces_.begin(piece) + n * padded_k(pieces_.length(piece));
}

void QuantizedColumns::pack(const std::int8_t* b, std::int64_t row_stride, std::int64_t column_stride,
                            std::int64_t count, const float* scale) const {
  for (std::int64_t piece = 0; piece < pieces_.count(); ++piece)
    vector::kernels().matmul.pack(reinterpret_cast<const std::uint8_t*>(b) + pieces_.begin(piece) * row_stride,
                                  row_stride, column_stride, pieces_.length(piece), count, 0, packed(piece, 0),
                                  column_sum(piece, 0));
  std::fill_n(std::copy_n(scale, count, scale_), capacity_ - count, 1.0F);
}

ColumnQuantizer::ColumnQuantizer(const FloatMatrix& b, const DepthPieces& pieces, std::int64_t first, std::int64_t end,
                                 float levels)
    : b_(b), pieces_(pieces), levels_(levels), width_(strip_width(b)), next_(first), end_(end) {
  if (b.transposed) return;
  for (std::int64_t piece = 0; piece < pieces_.count(); ++piece) {
    vector::ColumnWalk step{};
    step.bounded = strip(piece, next_, std::min(end_ - next_, width_));
    walk(step, piece);
  }
  upwards_ = true;
}

bool ColumnQuantizer::multiplies(std::int64_t rows) const noexcept {
  return !b_.transposed && pieces_.count() == 1 && rows <= vector::kernels().rowwise->walk_products;
}

vector::FloatColumns ColumnQuantizer::strip(std::int64_t piece, std::int64_t begin, std::int64_t count) const noexcept {
  return {b_.at(pieces_.begin(piece) * b_.n + begin), count};
}

void ColumnQuantizer::walk(vector::ColumnWalk& step, std::int64_t piece) {
  step.bfloat16 = b_.bfloat16;
  step.rows = pieces_.length(piece);
  step.row_stride = b_.n;
  step.width = width_;
  step.upwards = upwards_;
  step.from_memory = b_.k * b_.n * b_.element_bytes() > kCachedBytes;
  step.bounds = bounds_;
  vector::kernels().rowwise->walk_columns(step);
}

void ColumnQuantizer::take(std::int64_t count, const QuantizedColumns& columns, std::int64_t n, const FewRows& rows) {
  if (b_.transposed) return quantize_transposed(count, columns, n);
  for (std::int64_t m = 0; m < rows.count; ++m) std::fill_n(rows.acc + m * rows.acc_stride, kColumnBlock, 0);
  for (std::int64_t at = 0; at < kColumnBlock; at += width_) {
    const std::int64_t taken = std::clamp<std::int64_t>(count - at, 0, width_), then = next_ + taken;
    float* const scale = columns.scale(n + at);
    float reciprocal[kColumnBlock];
    for (std::int64_t i = 0; i < width_; ++i) scale[i] = scale_of(bounds_[i], levels_);
    for (std::int64_t i = 0; i < width_; ++i) reciprocal[i] = 1.0F / scale[i];
    if (taken > 0) std::fill_n(bounds_, width_, 0.0F);
    for (std::int64_t piece = 0; piece < pieces_.count(); ++piece) {
      vector::ColumnWalk step{};
      step.quantized = strip(piece, next_, taken);
      step.reciprocal = reciprocal;
      step.column_sum = columns.column_sum(piece, n + at);
      std::fill_n(step.column_sum, width_, 0);
      if (rows.count == 0) {
        step.packed = columns.packed(piece, n) + at * vector::kGroup;
      } else {
        step.a_rows = rows.count;
        step.a = rows.a;
        step.a_stride = b_.k;
        step.acc = rows.acc + at;
        step.acc_stride = rows.acc_stride;
      }
      if (taken > 0 && then < end_) step.bounded = strip(piece, then, std::min(end_ - then, width_));
      walk(step, piece);
    }
    if (taken == 0) continue;
    next_ = then;
    upwards_ = !upwards_;
  }
}

// A column is a row of memory here: quantized as such, then packed.
void ColumnQuantizer::quantize_transposed(std::int64_t count, const QuantizedColumns& columns, std::int64_t n) {
  const vector::QuantizeKernels& loops = *vector::kernels().quantize;
  const auto k = static_cast<std::size_t>(b_.k);
  Layout layout;
  const std::size_t bytes_at = layout.add(k * kColumnBlock);
  const std::size_t widened_at = layout.add(b_.bfloat16 ? k * sizeof(float) : 0);
  const Scratch scratch(layout.total());
  std::uint8_t* bytes = scratch.bytes() + bytes_at;
  auto* widened = reinterpret_cast<float*>(scratch.bytes() + widened_at);
  std::fill_n(columns.scale(n), kColumnBlock, 1.0F);
  for (std::int64_t i = 0; i < count; ++i) {
    const void* column = b_.at((next_ + i) * b_.k);
    if (b_.bfloat16) loops.widen[vector::kBfloat16](static_cast<const std::uint16_t*>(column), k, widened);
    const float* values = b_.bfloat16 ? widened : static_cast<const float*>(column);
    float lowest = 0, highest = 0;
    if (k > 0) loops.min_max(values, k, &lowest, &highest);
    const float scale = scale_of(std::max(0.0F - lowest, highest), levels_);
    columns.scale(n)[i] = scale;
    vector::kernels().rowwise->quantize_s8(values, k, 1.0F / scale, reinterpret_cast<std::int8_t*>(bytes) + i * b_.k);
  }
  for (std::int64_t piece = 0; piece < pieces_.count(); ++piece)
    vector::kernels().matmul.pack(bytes + pieces_.begin(piece), 1, b_.k, pieces_.length(piece), count, 0,
                                  columns.packed(piece, n), columns.column_sum(piece, n));
  next_ += count;
}

}  // namespace octet::core
