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

/// What a strip of float columns may take of the L2 cache, so that its second reading finds it there.
constexpr std::int64_t kStripBytes = 512 * 1024;

std::int64_t strip_width(const FloatMatrix& b) {
  std::int64_t width = kColumnBlock;
  while (width > 16 && b.k * width * (b.bfloat16 ? 2 : 4) > kStripBytes) width /= 2;
  return width;
}

float scale_of(float bound, float levels) {
  if (!std::isfinite(bound)) return std::nanf("");
  const float scale = bound / levels;
  return scale < std::numeric_limits<float>::min() ? 1.0F : scale;
}

const void* element(const FloatMatrix& b, std::int64_t index) {
  return static_cast<const std::uint8_t*>(b.data) + index * (b.bfloat16 ? 2 : 4);
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

std::int8_t* QuantizedColumns::block(std::int64_t piece, std::int64_t n) const noexcept {
  return packed_ + capacity_ * pieces_.begin(piece) + n * padded_k(pieces_.length(piece));
}

const std::int8_t* QuantizedColumns::packed(std::int64_t piece, std::int64_t n) const noexcept {
  return block(piece, n);
}

void QuantizedColumns::quantize(const FloatMatrix& b, std::int64_t first, std::int64_t count, float levels) {
  const std::int64_t width = strip_width(b);
  for (std::int64_t n = 0; n < count; n += kColumnBlock) {
    if (b.transposed) {
      quantize_transposed(b, first + n, std::min(kColumnBlock, count - n), levels, n);
      continue;
    }
    for (std::int64_t at = n; at < n + kColumnBlock; at += width) {
      const std::int64_t columns = std::clamp<std::int64_t>(count - at, 0, width);
      const void* source = columns > 0 ? element(b, first + at) : b.data;
      quantize_strip({source, b.bfloat16, b.n, columns}, b.k, width, levels, at);
    }
  }
}

// Both readings of the strip, whatever pieces it is cut into.
void QuantizedColumns::quantize_strip(const vector::FloatColumns& strip, std::int64_t k, std::int64_t width,
                                      float levels, std::int64_t n) {
  const vector::RowwiseKernels& loops = *vector::kernels().rowwise;
  float* scale = scale_ + n;
  float reciprocal[kColumnBlock];
  std::fill_n(scale, width, 0.0F);
  loops.column_bounds(strip, k, scale);
  for (std::int64_t i = 0; i < width; ++i) {
    scale[i] = scale_of(scale[i], levels);
    reciprocal[i] = 1.0F / scale[i];
  }
  for (std::int64_t piece = 0; piece < pieces_.count(); ++piece) {
    vector::FloatColumns part = strip;
    part.b =
        static_cast<const std::uint8_t*>(strip.b) + pieces_.begin(piece) * strip.row_stride * (strip.bfloat16 ? 2 : 4);
    const std::int64_t in_block = n % kColumnBlock;
    loops.quantize_columns(part, pieces_.length(piece), reciprocal, width, block(piece, n - in_block) + in_block * 4,
                           sums_of(piece) + n);
  }
}

// A column is a row of memory here: quantized as such, then packed.
void QuantizedColumns::quantize_transposed(const FloatMatrix& b, std::int64_t first, std::int64_t count, float levels,
                                           std::int64_t n) {
  const vector::QuantizeKernels& loops = *vector::kernels().quantize;
  const auto k = static_cast<std::size_t>(b.k);
  Layout layout;
  const std::size_t bytes_at = layout.add(k * kColumnBlock);
  const std::size_t widened_at = layout.add(b.bfloat16 ? k * sizeof(float) : 0);
  const Scratch scratch(layout.total());
  std::uint8_t* bytes = scratch.bytes() + bytes_at;
  auto* widened = reinterpret_cast<float*>(scratch.bytes() + widened_at);
  std::fill_n(scale_ + n, kColumnBlock, 1.0F);
  for (std::int64_t i = 0; i < count; ++i) {
    const void* column = element(b, (first + i) * b.k);
    if (b.bfloat16) loops.widen[vector::kBfloat16](static_cast<const std::uint16_t*>(column), k, widened);
    const float* values = b.bfloat16 ? widened : static_cast<const float*>(column);
    float lowest = 0, highest = 0;
    if (k > 0) loops.min_max(values, k, &lowest, &highest);
    const float scale = scale_of(std::max(0.0F - lowest, highest), levels);
    scale_[n + i] = scale;
    vector::kernels().rowwise->quantize_s8(values, k, 1.0F / scale, reinterpret_cast<std::int8_t*>(bytes) + i * b.k);
  }
  for (std::int64_t piece = 0; piece < pieces_.count(); ++piece)
    vector::kernels().matmul.pack(bytes + pieces_.begin(piece), 1, b.k, pieces_.length(piece), count, 0,
                                  block(piece, n), sums_of(piece) + n);
}

void QuantizedColumns::pack(const std::int8_t* b, std::int64_t row_stride, std::int64_t column_stride,
                            std::int64_t count, const float* scale) {
  for (std::int64_t piece = 0; piece < pieces_.count(); ++piece)
    vector::kernels().matmul.pack(reinterpret_cast<const std::uint8_t*>(b) + pieces_.begin(piece) * row_stride,
                                  row_stride, column_stride, pieces_.length(piece), count, 0, block(piece, 0),
                                  sums_of(piece));
  std::fill_n(std::copy_n(scale, count, scale_), capacity_ - count, 1.0F);
}

}  // namespace octet::core
