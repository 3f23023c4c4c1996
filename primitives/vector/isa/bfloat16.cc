// The bfloat16 product, for CPUs that have AVX512_BF16 beside VNNI.
#include "primitives/vector/isa/lanes.hpp"

#ifdef __AVX512VNNI__
namespace octet::vector::OCTET_ISA {
namespace {

#define OCTET_BFLOAT16 __attribute__((target("avx512bf16")))

constexpr std::int64_t kBlock = 64;  // columns
constexpr int kRegisters = 4;        // of a block
constexpr int kMostRows = 6;
// One or two rows take two blocks at a time: the sums of one would wait for each other.
constexpr int kFewRows = 2;

template <int kRows, int kBlocks>
OCTET_BFLOAT16 void product_pass(const Bfloat16Tile& tile, std::int64_t m, std::int64_t n) {
  const std::int64_t k = padded_pairs(tile.k);
  const std::uint16_t* a = tile.a + m * k;
  const std::uint16_t* b = tile.b + n * k;
  Floats sums[kRows][kBlocks][kRegisters];
  for (auto& row : sums)
    for (auto& block : row)
      for (Floats& sum : block) sum = spread(0.0F);
  for (std::int64_t i = 0; i < k; i += 2) {
#pragma GCC unroll 2
    for (int block = 0; block < kBlocks; ++block) {
      __m512bh weights[kRegisters];
#pragma GCC unroll 4
      for (int r = 0; r < kRegisters; ++r)
        weights[r] = (__m512bh)_mm512_loadu_si512(b + (block * k + i) * kBlock + r * 32);
#pragma GCC unroll 6
      for (int row = 0; row < kRows; ++row) {
        std::int32_t pair;
        __builtin_memcpy(&pair, a + row * k + i, sizeof pair);
        const auto values = (__m512bh)_mm512_set1_epi32(pair);
#pragma GCC unroll 4
        for (int r = 0; r < kRegisters; ++r)
          sums[row][block][r] = _mm512_dpbf16_ps(sums[row][block][r], values, weights[r]);
      }
    }
  }
#pragma GCC unroll 6
  for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 2
    for (int block = 0; block < kBlocks; ++block)
#pragma GCC unroll 4
      for (int r = 0; r < kRegisters; ++r) {
        const std::int64_t column = n + block * kBlock + r * 16;
        float* y = tile.y + (m + row) * tile.y_stride + column;
        const Floats start = load(tile.bias ? tile.bias + column : y);
        store(y, start + sums[row][block][r] * load(tile.scale + column));
      }
}

using Pass = void (*)(const Bfloat16Tile&, std::int64_t, std::int64_t);

void product(const Bfloat16Tile& tile) {
  constexpr Pass kPasses[kMostRows] = {product_pass<1, 1>, product_pass<2, 1>, product_pass<3, 1>,
                                       product_pass<4, 1>, product_pass<5, 1>, product_pass<6, 1>};
  constexpr Pass kWidePasses[kFewRows] = {product_pass<1, 2>, product_pass<2, 2>};
  for (std::int64_t n = 0, blocks; n < tile.columns; n += blocks * kBlock) {
    blocks = tile.rows <= kFewRows && tile.columns - n > kBlock ? 2 : 1;
    for (std::int64_t m = 0, rows; m < tile.rows; m += rows) {
      const std::int64_t passes = (tile.rows - m + kMostRows - 1) / kMostRows;
      rows = (tile.rows - m + passes - 1) / passes;  // 4 and 4 rather than 6 and 2
      (blocks == 2 ? kWidePasses : kPasses)[rows - 1](tile, m, n);
    }
  }
}

}  // namespace

const Bfloat16Kernels kBfloat16Product = {product};

}  // namespace octet::vector::OCTET_ISA
#endif
