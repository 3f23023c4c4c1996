// From int32 sums to the output's type: corrections of the zero points, scale, bias, rounding. Plain loops that the
// compiler turns into this instruction set's vectors.
#include <immintrin.h>

#include "primitives/vector/isa/isa.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

// Integer terms wrap modulo 2^32, as unsigned arithmetic does.
using Sum = std::uint32_t;

constexpr std::int64_t kChunk = 64;
alignas(64) constexpr std::int32_t kZeros[kChunk] = {};
alignas(64) constexpr float kFloatZeros[kChunk] = {};

// Up to kChunk neighbouring sums of one row, with what belongs to each column. Absent terms are zeros.
struct Chunk {
  std::int64_t count;
  const std::int32_t* acc;
  const std::int32_t* __restrict column_term;
  const std::int32_t* __restrict addend;
  const std::int32_t* __restrict b_zero_point;
  Sum row_term;
  Sum row_sum;
  const float* __restrict scale;
  const float* __restrict bias;

  // kSimple: neither addend nor zero points of B by column, which is nearly always so.
  template <bool kSimple>
  std::int32_t sum(std::int64_t i) const {
    Sum value = static_cast<Sum>(acc[i]) + static_cast<Sum>(column_term[i]) + row_term;
    if (!kSimple) value += static_cast<Sum>(addend[i]) - row_sum * static_cast<Sum>(b_zero_point[i]);
    return static_cast<std::int32_t>(value);
  }
};

// finish(chunk, y) for every chunk of every row.
template <class T, class Finish>
void for_each_chunk(const EpilogueTile& tile, const Finish& finish) {
  for (std::int64_t m = 0; m < tile.rows; ++m)
    for (std::int64_t n = 0; n < tile.columns; n += kChunk) {
      Chunk chunk;
      chunk.count = tile.columns - n < kChunk ? tile.columns - n : kChunk;
      chunk.acc = tile.acc + m * tile.acc_stride + n;
      chunk.column_term = tile.column_term ? tile.column_term + n : kZeros;
      chunk.addend = tile.addend ? tile.addend + m * tile.addend_stride + n : kZeros;
      chunk.b_zero_point = tile.b_zero_point ? tile.b_zero_point + n : kZeros;
      chunk.row_term = tile.row_term ? static_cast<Sum>(tile.row_term[m]) : 0;
      chunk.row_sum = tile.row_sum ? static_cast<Sum>(tile.row_sum[m]) : 0;
      chunk.scale = tile.scale ? tile.scale + n : kFloatZeros;
      chunk.bias = tile.bias ? tile.bias + n : kFloatZeros;
      finish(chunk, static_cast<T*>(tile.y) + m * tile.y_stride + n);
    }
}

// y is acc, or does not overlap it: either way element i depends on element i alone.
template <bool kSimple>
void finish_s32(const Chunk& chunk, std::int32_t* y) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < chunk.count; ++i) y[i] = chunk.sum<kSimple>(i);
}

template <bool kSimple, bool kBias>
void finish_f32(const Chunk& chunk, float* __restrict y) {
  for (std::int64_t i = 0; i < chunk.count; ++i) {
    const float product = static_cast<float>(chunk.sum<kSimple>(i)) * chunk.scale[i];
    y[i] = kBias ? product + chunk.bias[i] : product;
  }
}

template <bool kSimple, bool kBias>
void finish_f16(const Chunk& chunk, std::uint16_t* y) {
  alignas(64) float values[kChunk];
  finish_f32<kSimple, kBias>(chunk, values);
  std::int64_t i = 0;
  for (; i + 8 <= chunk.count; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_load_ps(values + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), halves);
  }
  for (; i < chunk.count; ++i) y[i] = static_cast<std::uint16_t>(_cvtss_sh(values[i], _MM_FROUND_TO_NEAREST_INT));
}

template <class T, bool kSimple>
void finish_8bit(const Chunk& chunk, float zero_point, T* __restrict y) {
  constexpr float kLowest = static_cast<T>(-1) < 0 ? -128.0F : 0.0F;
  constexpr float kHighest = kLowest + 255.0F;
  for (std::int64_t i = 0; i < chunk.count; ++i) {
    float value = __builtin_rintf(static_cast<float>(chunk.sum<kSimple>(i)) * chunk.scale[i]) + zero_point;
    value = value > kLowest ? value : kLowest;  // also where value is NaN
    value = value < kHighest ? value : kHighest;
    y[i] = static_cast<T>(static_cast<std::int32_t>(value));
  }
}

bool is_simple(const EpilogueTile& tile) { return tile.addend == nullptr && tile.b_zero_point == nullptr; }

template <class T>
void epilogue_8bit(const EpilogueTile& tile) {
  const auto zero_point = static_cast<float>(tile.y_zero_point);
  if (is_simple(tile))
    for_each_chunk<T>(tile, [=](const Chunk& chunk, T* y) { finish_8bit<T, true>(chunk, zero_point, y); });
  else
    for_each_chunk<T>(tile, [=](const Chunk& chunk, T* y) { finish_8bit<T, false>(chunk, zero_point, y); });
}

}  // namespace

void column_terms(const ColumnParameters& parameters, std::int32_t* __restrict term) {
  const std::int32_t* __restrict column_sum = parameters.column_sum;
  const std::int32_t* __restrict zero_point = parameters.b_zero_point;
  const Sum k = static_cast<Sum>(parameters.k), a = static_cast<Sum>(parameters.a_zero_point);
  auto* __restrict sums = reinterpret_cast<Sum*>(term);
  if (parameters.b_zero_point_stride == 0) {
    const Sum shift = k * static_cast<Sum>(zero_point[0]);
    for (std::int64_t n = 0; n < parameters.columns; ++n) sums[n] = a * (shift - static_cast<Sum>(column_sum[n]));
  } else {
    for (std::int64_t n = 0; n < parameters.columns; ++n)
      sums[n] = a * (k * static_cast<Sum>(zero_point[n]) - static_cast<Sum>(column_sum[n]));
  }
  if (parameters.c)
    for (std::int64_t n = 0; n < parameters.columns; ++n)
      sums[n] += static_cast<Sum>(parameters.c[n * parameters.c_stride]);
}

void column_scales(const ColumnParameters& parameters, bool divide, float* __restrict scale) {
  const float* __restrict b_scale = parameters.b_scale;
  if (parameters.b_scale_stride == 0) {
    const float common = parameters.a_scale * b_scale[0];
    for (std::int64_t n = 0; n < parameters.columns; ++n) scale[n] = common;
  } else {
    for (std::int64_t n = 0; n < parameters.columns; ++n) scale[n] = parameters.a_scale * b_scale[n];
  }
  if (divide)
    for (std::int64_t n = 0; n < parameters.columns; ++n) scale[n] = scale[n] / parameters.y_scale;
}

void epilogue_s32(const EpilogueTile& tile) {
  is_simple(tile) ? for_each_chunk<std::int32_t>(tile, finish_s32<true>)
                  : for_each_chunk<std::int32_t>(tile, finish_s32<false>);
}

void epilogue_f32(const EpilogueTile& tile) {
  if (!is_simple(tile))
    tile.bias ? for_each_chunk<float>(tile, finish_f32<false, true>)
              : for_each_chunk<float>(tile, finish_f32<false, false>);
  else
    tile.bias ? for_each_chunk<float>(tile, finish_f32<true, true>)
              : for_each_chunk<float>(tile, finish_f32<true, false>);
}

void epilogue_f16(const EpilogueTile& tile) {
  if (!is_simple(tile))
    tile.bias ? for_each_chunk<std::uint16_t>(tile, finish_f16<false, true>)
              : for_each_chunk<std::uint16_t>(tile, finish_f16<false, false>);
  else
    tile.bias ? for_each_chunk<std::uint16_t>(tile, finish_f16<true, true>)
              : for_each_chunk<std::uint16_t>(tile, finish_f16<true, false>);
}

void epilogue_u8(const EpilogueTile& tile) { epilogue_8bit<std::uint8_t>(tile); }
void epilogue_s8(const EpilogueTile& tile) { epilogue_8bit<std::int8_t>(tile); }

}  // namespace octet::vector::OCTET_ISA
