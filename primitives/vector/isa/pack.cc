// Bringing operands into the product's form: packing weights, flipping signs, row sums.
#include "primitives/vector/isa/groups.hpp"
#include "primitives/vector/isa/interleave.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

#if defined(__AVX512BW__)
struct ColumnSums {
  __m512i part[4] = {};

  void add(int v, __m512i weights) { part[v] = add_weights(part[v], weights); }
  void add(const std::int8_t* group) {
    for (int v = 0; v < 4; ++v) add(v, _mm512_loadu_si512(group + 64 * v));
  }
  void store(std::int32_t* sums) const {
    for (int v = 0; v < 4; ++v) _mm512_storeu_si512(sums + 16 * v, part[v]);
  }
};

// One group: row(i) gives 64 weights.
template <class Row>
void pack_group(const Row& row, std::int8_t* packed, ColumnSums& sums) {
  const Interleaved columns = in_order(interleave(row(0), row(1), row(2), row(3)));
  for (int v = 0; v < 4; ++v) {
    _mm512_storeu_si512(packed + 64 * v, columns.part[v]);
    sums.add(v, columns.part[v]);
  }
}

// The groups of k rows of up to 64 columns of a row-major matrix; what is not there becomes zeros.
void pack_rows(const std::uint8_t* b, std::int64_t row_stride, std::int64_t k, std::int64_t columns, std::uint8_t flip,
               std::int8_t* packed, ColumnSums& sums) {
  const __mmask64 mask = columns >= kColumnBlock ? ~__mmask64{0} : (__mmask64{1} << columns) - 1;
  const __m512i flips = _mm512_maskz_set1_epi8(mask, static_cast<char>(flip));
  std::int64_t i = 0;
  if (columns >= kColumnBlock)
    for (; i + kGroup <= k; i += kGroup)
      pack_group([&](int m) { return _mm512_xor_si512(_mm512_loadu_si512(b + (i + m) * row_stride), flips); },
                 packed + i * kColumnBlock, sums);
  const auto some = [&](int m) {
    if (i + m >= k) return _mm512_setzero_si512();
    return _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, b + (i + m) * row_stride), flips);
  };
  for (; i < k; i += kGroup) pack_group(some, packed + i * kColumnBlock, sums);
}
#else
struct ColumnSums {
  __m256i part[8] = {};

  void add(const std::int8_t* group) {
    for (int v = 0; v < 8; ++v)
      part[v] = add_weights(part[v], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(group + 32 * v)));
  }
  void store(std::int32_t* sums) const {
    for (int v = 0; v < 8; ++v) _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + 8 * v), part[v]);
  }
};

// One group of 4 rows x 64 columns.
void pack_group(const std::uint8_t* b, std::int64_t row_stride, std::uint8_t flip, std::int8_t* packed) {
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

// The groups of k rows of up to 64 columns of a row-major matrix; what is not there becomes zeros.
void pack_rows(const std::uint8_t* b, std::int64_t row_stride, std::int64_t k, std::int64_t columns, std::uint8_t flip,
               std::int8_t* packed, ColumnSums& sums) {
  constexpr std::int64_t kBehind = 8 * kGroup;  // sums are taken of what the caches have received
  for (std::int64_t i = 0; i < k; i += kGroup) {
    std::int8_t* group = packed + i * kColumnBlock;
    if (columns >= kColumnBlock && i + kGroup <= k) {
      pack_group(b + i * row_stride, row_stride, flip, group);
    } else {
      std::uint8_t whole[kGroup * kColumnBlock];
      __builtin_memset(whole, flip, sizeof whole);
      for (std::int64_t m = 0; m < kGroup && i + m < k; ++m)
        __builtin_memcpy(whole + m * kColumnBlock, b + (i + m) * row_stride, static_cast<std::size_t>(columns));
      pack_group(whole, kColumnBlock, flip, group);
    }
    if (i >= kBehind) sums.add(group - kBehind * kColumnBlock);
  }
  const std::int64_t groups = (k + kGroup - 1) / kGroup * kGroup;
  for (std::int64_t i = groups > kBehind ? groups - kBehind : 0; i < groups; i += kGroup)
    sums.add(packed + i * kColumnBlock);
}
#endif

// A whole group of a matrix that is given transposed: a column's 4 weights are neighbours.
void pack_columns(const std::uint8_t* b, std::int64_t column_stride, std::uint8_t flip, std::int8_t* packed) {
  const std::uint32_t flips = flip * 0x01010101U;
  for (std::int64_t n = 0; n < kColumnBlock; ++n) {
    std::uint32_t four;
    __builtin_memcpy(&four, b + n * column_stride, sizeof four);
    four ^= flips;
    __builtin_memcpy(packed + n * kGroup, &four, sizeof four);
  }
}

// A group of any strides that has fewer rows or columns.
void pack_edge(const std::uint8_t* b, std::int64_t row_stride, std::int64_t column_stride, std::int64_t rows,
               std::int64_t columns, std::uint8_t flip, std::int8_t* packed) {
  for (std::int64_t n = 0; n < kColumnBlock; ++n)
    for (std::int64_t i = 0; i < kGroup; ++i) {
      const bool inside = n < columns && i < rows;
      packed[n * kGroup + i] =
          inside ? static_cast<std::int8_t>(b[i * row_stride + n * column_stride] ^ flip) : std::int8_t{0};
    }
}

}  // namespace

void pack(const std::uint8_t* b, std::int64_t row_stride, std::int64_t column_stride, std::int64_t k,
          std::int64_t columns, std::uint8_t flip, std::int8_t* packed, std::int32_t* column_sum) {
  const std::int64_t groups = (k + kGroup - 1) / kGroup;
  for (std::int64_t n = 0; n < columns; n += kColumnBlock) {
    const std::int64_t block_columns = columns - n < kColumnBlock ? columns - n : kColumnBlock;
    const std::uint8_t* source = b + n * column_stride;
    std::int8_t* block = packed + n * padded_k(k);
    ColumnSums sums;
    if (column_stride == 1) {
      pack_rows(source, row_stride, k, block_columns, flip, block, sums);
    } else {
      for (std::int64_t i = 0; i < k; i += kGroup) {
        if (row_stride == 1 && k - i >= kGroup && block_columns == kColumnBlock)
          pack_columns(source + i, column_stride, flip, block + i * kColumnBlock);
        else
          pack_edge(source + i * row_stride, row_stride, column_stride, k - i, block_columns, flip,
                    block + i * kColumnBlock);
      }
      for (std::int64_t i = 0; i < groups; ++i) sums.add(block + i * kGroup * kColumnBlock);
    }
    const std::int64_t filled = groups * kGroup;
    __builtin_memset(block + filled * kColumnBlock, 0, static_cast<std::size_t>((padded_k(k) - filled) * kColumnBlock));
    sums.store(column_sum + n);
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
