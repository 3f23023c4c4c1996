// Float32 products with a packed right operand.
#include "primitives/vector/isa/lanes.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

// Accumulators: kMostRows x kRegisters, which with a row of B leaves a register for what is spread.
constexpr int kRegisters = kLanes == 16 ? 4 : 2;
constexpr int kMostRows = 6;
/// y[j][i] = x[i][j] for i and j below 8.
inline void transpose_8x8(const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride) {
  __m256 rows[8], pairs[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) rows[i] = _mm256_loadu_ps(x + i * x_stride);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    rows[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    rows[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
    rows[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    rows[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    _mm256_storeu_ps(y + j * y_stride, _mm256_permute2f128_ps(rows[j], rows[j + 4], 0x20));
    _mm256_storeu_ps(y + (j + 4) * y_stride, _mm256_permute2f128_ps(rows[j], rows[j + 4], 0x31));
  }
}

/// y[j][i] = x[i][j]. Eight rows of y at once: rows may be a power of 2 apart, and share few places in a cache then.
void transpose_into(const float* x, std::int64_t rows, std::int64_t columns, float* y, std::int64_t y_stride) {
  constexpr std::int64_t kSquare = 8;
  for (std::int64_t j = 0; j < columns; j += kSquare)
    for (std::int64_t i = 0; i < rows; i += kSquare) {
      if (i + kSquare <= rows && j + kSquare <= columns) {
        transpose_8x8(x + i * columns + j, columns, y + j * y_stride + i, y_stride);
        continue;
      }
      for (std::int64_t row = i; row < (i + kSquare < rows ? i + kSquare : rows); ++row)
        for (std::int64_t column = j; column < (j + kSquare < columns ? j + kSquare : columns); ++column)
          y[column * y_stride + row] = x[row * columns + column];
    }
}

void transpose(const float* x, std::int64_t rows, std::int64_t columns, float* y) {
  transpose_into(x, rows, columns, y, rows);
}

void pack(const float* b, bool transposed, std::int64_t k, std::int64_t n, float* packed) {
  if (k == 0) return;
  for (std::int64_t j = 0; j < n; j += kFloatBlock, packed += k * kFloatBlock) {
    const std::int64_t columns = n - j < kFloatBlock ? n - j : kFloatBlock;
    if (columns < kFloatBlock) __builtin_memset(packed, 0, static_cast<std::size_t>(k * kFloatBlock) * sizeof *packed);
    if (transposed) {
      transpose_into(b + j * k, columns, k, packed, kFloatBlock);
      continue;
    }
    for (std::int64_t i = 0; i < k; ++i)
      __builtin_memcpy(packed + i * kFloatBlock, b + i * n + j, static_cast<std::size_t>(columns) * sizeof *b);
  }
}

/// The sums of kRows rows by kColumns registers of columns, of which `columns` are wanted. One or two rows have two
/// sums for even and odd k: a single one would wait for each fma before the next.
template <int kRows, int kColumns>
void tile(std::int64_t k, const float* a, const float* packed, std::int64_t columns, float* y, std::int64_t n) {
  constexpr int kSums = kRows <= 2 ? 2 : 1;
  Floats sums[kSums][kRows][kColumns];
#pragma GCC unroll 2
  for (int s = 0; s < kSums; ++s)
#pragma GCC unroll 6
    for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 4
      for (int r = 0; r < kColumns; ++r) sums[s][m][r] = spread(0.0F);
  const auto add = [&](int s, std::int64_t i) __attribute__((always_inline)) {
    Floats b[kColumns];
#pragma GCC unroll 4
    for (int r = 0; r < kColumns; ++r) b[r] = load(packed + i * kFloatBlock + r * kWidth);
#pragma GCC unroll 6
    for (int m = 0; m < kRows; ++m) {
      const Floats value = spread(a[m * k + i]);
#pragma GCC unroll 4
      for (int r = 0; r < kColumns; ++r) sums[s][m][r] = fma(value, b[r], sums[s][m][r]);
    }
  };
  std::int64_t i = 0;
  for (; i + kSums <= k; i += kSums)
#pragma GCC unroll 2
    for (int s = 0; s < kSums; ++s) add(s, i + s);
  if (i < k) add(0, i);
#pragma GCC unroll 6
  for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 4
    for (int r = 0; r < kColumns; ++r) {
      const Floats sum = kSums == 2 ? sums[0][m][r] + sums[kSums - 1][m][r] : sums[0][m][r];
      const std::int64_t left = columns - r * kWidth;
      float* target = y + m * n + r * kWidth;
      if (left >= kWidth)
        store(target, sum);
      else if (left > 0)
        store(target, sum, static_cast<std::size_t>(left));
    }
}

using Tile = void (*)(std::int64_t, const float*, const float*, std::int64_t, float*, std::int64_t);

template <int kColumns>
Tile tile_of(std::int64_t rows) {
  constexpr Tile kTiles[kMostRows] = {tile<1, kColumns>, tile<2, kColumns>, tile<3, kColumns>,
                                      tile<4, kColumns>, tile<5, kColumns>, tile<6, kColumns>};
  return kTiles[rows - 1];
}

Tile tile_for(std::int64_t rows, std::int64_t columns) {
  if (columns <= kWidth) return tile_of<1>(rows);
  return columns <= 2 * kWidth ? tile_of<2>(rows) : tile_of<kRegisters>(rows);
}

// Rows are dealt out evenly: the fewer a tile has, the more it waits for B.
void product(std::int64_t rows, std::int64_t n, std::int64_t k, const float* a, const float* packed, float* y) {
  const std::int64_t groups = (rows + kMostRows - 1) / kMostRows;
  for (std::int64_t block = 0; block < n; block += kFloatBlock, packed += k * kFloatBlock) {
    const std::int64_t end = block + kFloatBlock < n ? block + kFloatBlock : n;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t m = rows * group / groups, count = rows * (group + 1) / groups - m;
      for (std::int64_t j = block; j < end; j += kRegisters * kWidth)
        tile_for(count, end - j)(k, a + m * k, packed + (j - block), end - j, y + m * n + j, n);
    }
  }
}

}  // namespace

const FloatKernels kFloat = {pack, transpose, product};

}  // namespace octet::vector::OCTET_ISA
