// The integer product: u8 activations times packed s8 weights, exact int32 sums modulo 2^32 on every instruction set.
#include <immintrin.h>

#include "primitives/vector/isa/groups.hpp"
#include "primitives/vector/isa/interleave.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

// One vector of accumulators. dot() adds, for each of kColumns columns, the products of 4 activations with 4 weights.
// With VNNI that is one instruction. Without it, bytes are widened to 16 bits first: vpmaddubsw would saturate its pair
// sums, vpmaddwd does not; a column then has two partial sums side by side, which store() adds.
#if defined(__AVX512VNNI__)
struct Dot {
  using Vector = __m512i;
  static constexpr int kColumns = 16;
  static constexpr int kVectors = 4;
  static constexpr int kRows = 6;
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector activations(std::uint32_t four) { return _mm512_set1_epi32(static_cast<int>(four)); }
  static Vector weights(const std::int8_t* b) { return _mm512_loadu_si512(b); }
  static Vector dot(Vector acc, Vector a, Vector b) { return _mm512_dpbusd_epi32(acc, a, b); }
  static Vector load(const std::int32_t* y) { return _mm512_loadu_si512(y); }
  static void store(std::int32_t* y, Vector acc) { _mm512_storeu_si512(y, acc); }
};
#elif defined(__AVX512BW__)
struct Dot {
  using Vector = __m512i;
  static constexpr int kColumns = 8;
  static constexpr int kVectors = 8;
  static constexpr int kRows = 3;
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector activations(std::uint32_t four) {
    return _mm512_cvtepu8_epi16(_mm256_set1_epi32(static_cast<int>(four)));
  }
  static Vector weights(const std::int8_t* b) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)));
  }
  static Vector dot(Vector acc, Vector a, Vector b) { return _mm512_add_epi32(acc, _mm512_madd_epi16(a, b)); }
  static Vector load(const std::int32_t* y) {
    return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(y)));
  }
  static void store(std::int32_t* y, Vector acc) {
    const Vector sums = _mm512_add_epi32(acc, _mm512_srli_epi64(acc, 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtepi64_epi32(sums));
  }
};
#elif defined(__AVXVNNI__)
struct Dot {
  using Vector = __m256i;
  static constexpr int kColumns = 8;
  static constexpr int kVectors = 4;
  static constexpr int kRows = 3;
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector activations(std::uint32_t four) { return _mm256_set1_epi32(static_cast<int>(four)); }
  static Vector weights(const std::int8_t* b) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)); }
  static Vector dot(Vector acc, Vector a, Vector b) { return _mm256_dpbusd_avx_epi32(acc, a, b); }
  static Vector load(const std::int32_t* y) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(y)); }
  static void store(std::int32_t* y, Vector acc) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), acc); }
};
#else
struct Dot {
  using Vector = __m256i;
  static constexpr int kColumns = 4;
  static constexpr int kVectors = 4;
  static constexpr int kRows = 3;
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector activations(std::uint32_t four) { return _mm256_cvtepu8_epi16(_mm_set1_epi32(static_cast<int>(four))); }
  static Vector weights(const std::int8_t* b) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b)));
  }
  static Vector dot(Vector acc, Vector a, Vector b) { return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b)); }
  static Vector load(const std::int32_t* y) {
    return _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(y)));
  }
  static void store(std::int32_t* y, Vector acc) {
    const Vector sums = _mm256_add_epi32(acc, _mm256_srli_epi64(acc, 32));
    const Vector even = _mm256_permutevar8x32_epi32(sums, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_castsi256_si128(even));
  }
};
#endif

constexpr std::int64_t kPassColumns = Dot::kColumns * Dot::kVectors;
constexpr int kAheadRows = 2;

// Columns [0, kPassColumns) of kRows rows. kAhead: with each group, kAheadRows rows of what is wanted next are fetched.
template <int kRows, bool kAhead>
void product_pass(const ProductTile& tile) {
  const std::uint8_t *a = tile.a, *ahead = tile.ahead.first;
  const std::int8_t* b = tile.b;
  const std::int64_t k = tile.k, a_stride = tile.a_stride, ahead_stride = tile.ahead.stride;
  Dot::Vector sums[kRows][Dot::kVectors];
  for (auto& row : sums)
    for (auto& sum : row) sum = Dot::zero();
  if (tile.start)
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 8
      for (int v = 0; v < Dot::kVectors; ++v)
        sums[m][v] = Dot::load(tile.start + m * tile.start_stride + v * Dot::kColumns);
  const auto add_group = [&](const std::int8_t* group, const auto& activations_of) {
    Dot::Vector weights[Dot::kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < Dot::kVectors; ++v) weights[v] = Dot::weights(group + v * Dot::kColumns * kGroup);
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      const auto activations = Dot::activations(activations_of(m));
#pragma GCC unroll 8
      for (int v = 0; v < Dot::kVectors; ++v) sums[m][v] = Dot::dot(sums[m][v], activations, weights[v]);
    }
  };
  const std::int64_t full = k / kGroup * kGroup;
  for (std::int64_t i = 0; i < full; i += kGroup) {
    if (kAhead)
      for (int row = 0; row < kAheadRows; ++row, ahead += ahead_stride)
        _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T0);
    add_group(b + i * kColumnBlock, [&](int m) { return load_four(a + m * a_stride + i); });
  }
  if (full < k) add_group(b + full * kColumnBlock, [&](int m) { return load_tail(a + m * a_stride + full, k - full); });
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m)
#pragma GCC unroll 8
    for (int v = 0; v < Dot::kVectors; ++v) Dot::store(tile.acc + m * tile.acc_stride + v * Dot::kColumns, sums[m][v]);
}

using Pass = void (*)(const ProductTile&);

// Passes of more rows than there are registers for are never asked for.
constexpr int possible(int rows) { return rows <= Dot::kRows ? rows : 1; }

template <bool kAhead>
Pass pass_for(std::int64_t rows) {
  static_assert(Dot::kRows <= 6);
  constexpr Pass kPasses[] = {product_pass<1, kAhead>,           product_pass<2, kAhead>,
                              product_pass<3, kAhead>,           product_pass<possible(4), kAhead>,
                              product_pass<possible(5), kAhead>, product_pass<possible(6), kAhead>};
  return kPasses[rows - 1];
}

// A block whose columns are not all there: computed in a small tile of which the real columns are copied.
void narrow_pass(Pass pass, const ProductTile& tile) {
  std::int32_t sums[Dot::kRows * kPassColumns] = {};
  const std::size_t bytes = static_cast<std::size_t>(tile.columns) * sizeof *sums;
  ProductTile whole = tile;
  whole.acc = sums;
  whole.acc_stride = kPassColumns;
  if (tile.start) {
    for (std::int64_t m = 0; m < tile.rows; ++m)
      __builtin_memcpy(sums + m * kPassColumns, tile.start + m * tile.start_stride, bytes);
    whole.start = sums;
    whole.start_stride = kPassColumns;
  }
  pass(whole);
  for (std::int64_t m = 0; m < tile.rows; ++m)
    __builtin_memcpy(tile.acc + m * tile.acc_stride, sums + m * kPassColumns, bytes);
}

}  // namespace

void product(const ProductTile& tile) {
  ProductTile part = tile;
  for (std::int64_t n = 0; n < tile.columns; n += kPassColumns) {
    part.columns = tile.columns - n;
    part.b = tile.b + n / kColumnBlock * kColumnBlock * padded_k(tile.k) + n % kColumnBlock * kGroup;
    for (std::int64_t m = 0; m < tile.rows; m += part.rows) {
      const std::int64_t passes = (tile.rows - m + Dot::kRows - 1) / Dot::kRows;
      part.rows = (tile.rows - m + passes - 1) / passes;  // 4 and 4 rather than 6 and 2
      part.a = tile.a + m * tile.a_stride;
      part.acc = tile.acc + m * tile.acc_stride + n;
      if (tile.start) part.start = tile.start + m * tile.start_stride + n;
      const bool fetches = part.ahead.rows > 0;
      const Pass pass = fetches ? pass_for<true>(part.rows) : pass_for<false>(part.rows);
      part.columns >= kPassColumns ? pass(part) : narrow_pass(pass, part);
      if (!fetches) continue;
      const std::int64_t fetched = tile.k / kGroup * kAheadRows;
      part.ahead.first += fetched * tile.ahead.stride;
      part.ahead.rows -= fetched;
    }
  }
}

#if defined(__AVX512VNNI__)
namespace {

constexpr std::int64_t kPlainBlocks = 16;  // of columns, whose sums stay in the L1 cache
constexpr std::int64_t kPlainStep = 8;     // rows of weights for which a block's sums are taken up once

// Up to kPlainBlocks blocks of columns for kRows rows, in the order of memory: row after row. Interleaved vectors are
// used as they come, with their columns in another order; the sums are put in order once at the end.
template <int kRows>
void plain_pass(std::int64_t columns, std::int64_t k, const std::uint8_t* a, const PlainWeights& weights,
                std::int64_t n, std::int32_t* acc, std::int64_t acc_stride, std::int32_t* column_sum) {
  const std::int64_t blocks = (columns + kColumnBlock - 1) / kColumnBlock;
  const auto mask_of = [&](std::int64_t block) {
    const std::int64_t rest = columns - block * kColumnBlock;
    return rest < kColumnBlock ? (__mmask64{1} << rest) - 1 : ~__mmask64{0};
  };
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(weights.flip)), ones = _mm512_set1_epi8(1);
  Interleaved all_sums[kPlainBlocks][kRows + 1] = {};  // those of the columns come last
  for (std::int64_t i = 0; i < k; i += kPlainStep)
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::uint8_t* b = weights.b + n + block * kColumnBlock;
      const __mmask64 mask = mask_of(block);
      const auto row = [&](std::int64_t at) {
        if (at >= k) return _mm512_setzero_si512();
        return _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, b + at * weights.row_stride), flips);
      };
      for (std::int64_t j = i + kPlainStep; j < i + 2 * kPlainStep && j < k; ++j)
        _mm_prefetch(reinterpret_cast<const char*>(b + j * weights.row_stride), _MM_HINT_T0);
      Interleaved sums[kRows + 1];
#pragma GCC unroll 5
      for (int m = 0; m <= kRows; ++m) sums[m] = all_sums[block][m];
      for (std::int64_t j = i; j < i + kPlainStep && j < k; j += kGroup) {
        const Interleaved group = interleave(row(j), row(j + 1), row(j + 2), row(j + 3));
#pragma GCC unroll 5
        for (int m = 0; m <= kRows; ++m) {
          const std::uint8_t* four = a + m * k + j;
          const __m512i broadcast =
              m == kRows
                  ? ones
                  : _mm512_set1_epi32(static_cast<int>(k - j >= kGroup ? load_four(four) : load_tail(four, k - j)));
#pragma GCC unroll 4
          for (int v = 0; v < 4; ++v) sums[m].part[v] = _mm512_dpbusd_epi32(sums[m].part[v], broadcast, group.part[v]);
        }
      }
#pragma GCC unroll 5
      for (int m = 0; m <= kRows; ++m) all_sums[block][m] = sums[m];
    }
  for (std::int64_t block = 0; block < blocks; ++block)
    for (int m = 0; m <= kRows; ++m) {
      const Interleaved ordered = in_order(all_sums[block][m]);
      std::int32_t* y = (m == kRows ? column_sum : acc + m * acc_stride) + block * kColumnBlock;
      for (int v = 0; v < 4; ++v)
        _mm512_mask_storeu_epi32(y + 16 * v, static_cast<__mmask16>(mask_of(block) >> (16 * v)), ordered.part[v]);
    }
}

}  // namespace

bool plain_product(std::int64_t rows, std::int64_t columns, std::int64_t k, const std::uint8_t* a,
                   const PlainWeights& weights, std::int32_t* acc, std::int64_t acc_stride, std::int32_t* column_sum) {
  // Parts of about one width: what the hardware fetches beyond a narrow one is gone when the next part wants it.
  const std::int64_t blocks = (columns + kColumnBlock - 1) / kColumnBlock;
  const std::int64_t parts = (blocks + kPlainBlocks - 1) / kPlainBlocks;
  const std::int64_t width = (blocks + parts - 1) / parts * kColumnBlock;
  for (std::int64_t n = 0; n < columns; n += width) {
    const std::int64_t count = columns - n < width ? columns - n : width;
    for (std::int64_t m = 0; m < rows; m += 4) {
      constexpr decltype(&plain_pass<1>) kPasses[] = {plain_pass<1>, plain_pass<2>, plain_pass<3>, plain_pass<4>};
      const auto pass = kPasses[rows - m < 4 ? rows - m - 1 : 3];
      pass(count, k, a + m * k, weights, n, acc + m * acc_stride + n, acc_stride, column_sum + n);
    }
  }
  return true;
}
#else
bool plain_product(std::int64_t, std::int64_t, std::int64_t, const std::uint8_t*, const PlainWeights&, std::int32_t*,
                   std::int64_t, std::int32_t*) {
  return false;
}
#endif

}  // namespace octet::vector::OCTET_ISA
