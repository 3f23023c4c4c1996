// Bringing operands into the product's form: packing weights, flipping signs, row sums.
#include <immintrin.h>

#include "primitives/vector/isa/interleave.hpp"
#include "primitives/vector/isa/isa.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

constexpr std::int64_t kGroup = 4;

// One group of 4 rows x 64 columns of a row-major matrix, all of it there.
#if defined(__AVX512BW__)
void pack_rows(const std::uint8_t* b, std::int64_t row_stride, std::uint8_t flip, std::int8_t* packed) {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  const auto row = [&](int i) { return _mm512_xor_si512(_mm512_loadu_si512(b + i * row_stride), flips); };
  const Interleaved columns = in_order(interleave(row(0), row(1), row(2), row(3)));
  for (int v = 0; v < 4; ++v) _mm512_storeu_si512(packed + 64 * v, columns.part[v]);
}
#else
void pack_rows(const std::uint8_t* b, std::int64_t row_stride, std::uint8_t flip, std::int8_t* packed) {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  for (int n = 0; n < kColumnBlock; n += 16) {
    const auto row = [&](int i) {
      const auto* source = reinterpret_cast<const __m128i*>(b + i * row_stride + n);
      return _mm_xor_si128(_mm_loadu_si128(source), flips);
    };
    const __m128i r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
    const __m128i low01 = _mm_unpacklo_epi8(r0, r1), high01 = _mm_unpackhi_epi8(r0, r1);
    const __m128i low23 = _mm_unpacklo_epi8(r2, r3), high23 = _mm_unpackhi_epi8(r2, r3);
    auto* target = reinterpret_cast<__m128i*>(packed + n * kGroup);
    _mm_storeu_si128(target, _mm_unpacklo_epi16(low01, low23));
    _mm_storeu_si128(target + 1, _mm_unpackhi_epi16(low01, low23));
    _mm_storeu_si128(target + 2, _mm_unpacklo_epi16(high01, high23));
    _mm_storeu_si128(target + 3, _mm_unpackhi_epi16(high01, high23));
  }
}
#endif

// The same of a matrix that is given transposed: a column's 4 weights are neighbours.
void pack_columns(const std::uint8_t* b, std::int64_t column_stride, std::uint8_t flip, std::int8_t* packed) {
  const std::uint32_t flips = flip * 0x01010101U;
  for (std::int64_t n = 0; n < kColumnBlock; ++n) {
    std::uint32_t four;
    __builtin_memcpy(&four, b + n * column_stride, sizeof four);
    four ^= flips;
    __builtin_memcpy(packed + n * kGroup, &four, sizeof four);
  }
}

// A group that has fewer rows or columns, or other strides.
void pack_edge(const std::uint8_t* b, std::int64_t row_stride, std::int64_t column_stride, std::int64_t rows,
               std::int64_t columns, std::uint8_t flip, std::int8_t* packed) {
  for (std::int64_t n = 0; n < kColumnBlock; ++n)
    for (std::int64_t i = 0; i < kGroup; ++i) {
      const bool inside = n < columns && i < rows;
      packed[n * kGroup + i] =
          inside ? static_cast<std::int8_t>(b[i * row_stride + n * column_stride] ^ flip) : std::int8_t{0};
    }
}

// The sums of a packed block's columns: products with 1, in exact 16-bit pairs (|w0 + w1| <= 256).
void sum_columns(const std::int8_t* block, std::int64_t groups, std::int32_t* sums) {
  const __m256i ones8 = _mm256_set1_epi8(1), ones16 = _mm256_set1_epi16(1);
  constexpr int kVectors = 8;
  __m256i totals[kVectors] = {};
  for (std::int64_t i = 0; i < groups; ++i, block += kColumnBlock * kGroup)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const __m256i weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + v * 32));
      totals[v] = _mm256_add_epi32(totals[v], _mm256_madd_epi16(_mm256_maddubs_epi16(ones8, weights), ones16));
    }
  for (int v = 0; v < kVectors; ++v) _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + v * 8), totals[v]);
}

// Whole blocks of a row-major matrix, row after row as memory has them: in columns of blocks each row would be a cache
// line far from the last, which no hardware guesses. Returns the first row that is not packed.
std::int64_t pack_whole_rows(const std::uint8_t* b, std::int64_t row_stride, std::int64_t k, std::int64_t blocks,
                             std::uint8_t flip, std::int8_t* packed) {
  const std::int64_t block_bytes = padded_k(k) * kColumnBlock;
  std::int64_t i = 0;
  for (; i + kGroup <= k; i += kGroup)
    for (std::int64_t block = 0; block < blocks; ++block)
      pack_rows(b + i * row_stride + block * kColumnBlock, row_stride, flip,
                packed + block * block_bytes + i * kColumnBlock);
  return i;
}

}  // namespace

void pack(const std::uint8_t* b, std::int64_t row_stride, std::int64_t column_stride, std::int64_t k,
          std::int64_t columns, std::uint8_t flip, std::int8_t* packed, std::int32_t* column_sum) {
  const std::int64_t whole_blocks = column_stride == 1 ? columns / kColumnBlock : 0;
  const std::int64_t whole_rows = pack_whole_rows(b, row_stride, k, whole_blocks, flip, packed);
  for (std::int64_t n = 0; n < columns; n += kColumnBlock) {
    const std::int64_t block_columns = columns - n < kColumnBlock ? columns - n : kColumnBlock;
    std::int8_t* block = packed + n * padded_k(k);
    const std::uint8_t* source = b + n * column_stride;
    std::int64_t i = n < whole_blocks * kColumnBlock ? whole_rows : 0;
    if (block_columns == kColumnBlock && row_stride == 1)
      for (; i + kGroup <= k; i += kGroup) pack_columns(source + i, column_stride, flip, block + i * kColumnBlock);
    for (; i < k; i += kGroup)
      pack_edge(source + i * row_stride, row_stride, column_stride, k - i, block_columns, flip,
                block + i * kColumnBlock);
    for (; i < padded_k(k); i += kGroup)
      pack_edge(source, row_stride, column_stride, 0, 0, 0, block + i * kColumnBlock);
    sum_columns(block, padded_k(k) / kGroup, column_sum + n);
  }
}

void flip(const std::uint8_t* x, std::int64_t count, std::uint8_t* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] ^ 0x80;
}

void row_sums(const std::uint8_t* a, std::int64_t rows, std::int64_t k, std::int32_t* sums) {
  for (std::int64_t m = 0; m < rows; ++m, a += k) {
    __m256i total = _mm256_setzero_si256();  // four 64-bit sums
    std::int64_t i = 0;
    for (; i + 32 <= k; i += 32) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i));
      total = _mm256_add_epi64(total, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
    }
    alignas(32) std::uint64_t parts[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(parts), total);
    std::uint64_t sum = parts[0] + parts[1] + parts[2] + parts[3];
    for (; i < k; ++i) sum += a[i];
    sums[m] = static_cast<std::int32_t>(sum);
  }
}

}  // namespace octet::vector::OCTET_ISA
