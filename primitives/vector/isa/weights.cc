// Weights in training: the quantizer, and products of one row with what it makes.
#include "primitives/vector/isa/activations.hpp"
#include "primitives/vector/isa/for_lanes.hpp"
#include "primitives/vector/weight_kernels.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

#ifdef __AVX512F__
inline Floats rounded(Floats a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#else
inline Floats rounded(Floats a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#endif

/// What a register of weights is divided and rounded to, and the same within bounds. NaN stays.
struct Integers {
  Floats value, saturated;

  template <class Lanes>
  OCTET_INLINE Integers(const WeightMatrix& matrix, std::int64_t i, std::int64_t j, const Lanes& lanes)
      : value(rounded(div(lanes.get(matrix.weights + i * matrix.columns + j), lanes.get(matrix.scale + j)))),
        saturated(min(lanes.get(matrix.highest + j), max(lanes.get(matrix.lowest + j), value))) {}
};

/// Whether any of many integers are saturated. Lanes past the end of a row are 0 / 0: max leaves NaN out.
class Excess {
 public:
  OCTET_INLINE void add(const Integers& integers) { sum_ = max(magnitude(integers.value - integers.saturated), sum_); }
  bool any() const {
    float lanes[kLanes];
    store(lanes, sum_);
    bool found = false;
    for (const float lane : lanes) found = found || lane > 0;
    return found;
  }

 private:
  Floats sum_ = spread(0.0F);
};

bool fake_quantize(const WeightMatrix& matrix, float* y) {
  Excess excess;
  for (std::int64_t i = 0; i < matrix.rows; ++i)
    for_lanes(matrix.columns, [&](std::int64_t j, const auto& lanes) __attribute__((always_inline)) {
      const Integers integers(matrix, i, j, lanes);
      excess.add(integers);
      lanes.put(y + i * matrix.columns + j, integers.saturated * lanes.get(matrix.scale + j));
    });
  return excess.any();
}

void straight_through(const WeightMatrix& matrix, float* gradient) {
  for (std::int64_t i = 0; i < matrix.rows; ++i)
    for_lanes(matrix.columns, [&](std::int64_t j, const auto& lanes) __attribute__((always_inline)) {
      const Integers integers(matrix, i, j, lanes);
      float* at = gradient + i * matrix.columns + j;
      lanes.put(at, where<_CMP_EQ_OQ>(integers.value, integers.saturated, lanes.get(at), spread(0.0F)));
    });
}

constexpr std::int64_t kRowsAtOnce = 8;
// A word's lower half belongs to a lane of an even register, the upper one to the same lane of the register after it.
constexpr int kPairs = static_cast<int>(kWeightBlock / (2 * kWidth));

#ifdef __AVX512F__
inline Ints word(Floats even, Floats odd) {
  return _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(even), 16), _mm512_castps_si512(odd));
}
inline Floats even(Ints word) { return _mm512_castsi512_ps(_mm512_slli_epi32(word, 16)); }
inline Floats odd(Ints word) { return _mm512_castsi512_ps(_mm512_and_si512(word, spread(-0x10000))); }
inline __m256 halved(Floats a) { return _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1)); }
#else
inline Ints word(Floats even, Floats odd) {
  return _mm256_or_si256(_mm256_srli_epi32(_mm256_castps_si256(even), 16), _mm256_castps_si256(odd));
}
inline Floats even(Ints word) { return _mm256_castsi256_ps(_mm256_slli_epi32(word, 16)); }
inline Floats odd(Ints word) { return _mm256_castsi256_ps(_mm256_and_si256(word, spread(-0x10000))); }
inline __m256 halved(Floats a) { return a; }
#endif
inline Ints load_words(const std::uint32_t* p) { return load(reinterpret_cast<const std::int32_t*>(p)); }

bool pack(const WeightMatrix& matrix, std::uint32_t* packed) {
  Excess excess;
  const auto integers = [&](std::int64_t i, std::int64_t j) __attribute__((always_inline)) {
    const std::int64_t left = matrix.columns - j;
    if (left <= 0) return spread(0.0F);
    if (left >= kWidth) {
      const Integers found(matrix, i, j, Whole());
      excess.add(found);
      return found.saturated;
    }
    const Part part{static_cast<std::size_t>(left)};
    const Integers found(matrix, i, j, part);
    excess.add(found);
    float zero_at_end[kWidth] = {};
    part.put(zero_at_end, found.saturated);
    return load(zero_at_end);
  };
  for (std::int64_t i = 0; i < matrix.rows; i += kRowsAtOnce)
    for (std::int64_t block = 0; block < matrix.columns; block += kWeightBlock) {
      std::uint32_t* words = packed + (block * matrix.rows + i * kWeightBlock) / 2;
      for (std::int64_t row = i; row < matrix.rows && row < i + kRowsAtOnce; ++row)
        for (std::int64_t pair = 0; pair < kPairs; ++pair, words += kWidth) {
          const std::int64_t j = block + 2 * pair * kWidth;
          store_all(words, word(integers(row, j), integers(row, j + kWidth)));
        }
    }
  return excess.any();
}

// Sums of even and odd rows apart: one sum for each register of columns would wait for each fma before the next.
void product(const WeightMatrix& matrix, const std::uint32_t* packed, const float* x, float* y) {
  constexpr int kSums = 2;
  for (std::int64_t block = 0; block < matrix.columns; block += kWeightBlock) {
    Floats sums[kSums][2 * kPairs];
    for (auto& half : sums)
      for (Floats& sum : half) sum = spread(0.0F);
    const auto add = [&](Floats* to, std::int64_t i) __attribute__((always_inline)) {
      const Floats value = spread(x[i]);
#pragma GCC unroll 4
      for (int pair = 0; pair < kPairs; ++pair, packed += kWidth) {
        const Ints words = load_words(packed);
        to[2 * pair] = fma(value, even(words), to[2 * pair]);
        to[2 * pair + 1] = fma(value, odd(words), to[2 * pair + 1]);
      }
    };
    std::int64_t i = 0;
    for (; i + kSums <= matrix.rows; i += kSums)
#pragma GCC unroll 2
      for (int s = 0; s < kSums; ++s) add(sums[s], i + s);
    if (i < matrix.rows) add(sums[0], i);
    const std::int64_t end = matrix.columns - block < kWeightBlock ? matrix.columns - block : kWeightBlock;
    for_lanes(end, [&](std::int64_t j, const auto& lanes) __attribute__((always_inline)) {
      const Floats sum = sums[0][j / kWidth] + sums[1][j / kWidth];
      lanes.put(y + block + j, sum * lanes.get(matrix.scale + block + j));
    });
  }
}

/// The sums of eight registers.
inline __m256 horizontal_sums(const Floats* sums) {
  const auto pair = [=](int i) { return _mm256_hadd_ps(halved(sums[i]), halved(sums[i + 1])); };
  const __m256 low = _mm256_hadd_ps(pair(0), pair(2)), high = _mm256_hadd_ps(pair(4), pair(6));
  return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
}

void transposed_product(const WeightMatrix& matrix, const std::uint32_t* packed, const float* x, float* scaled,
                        float* y) {
  const std::int64_t columns = block_columns(matrix.columns);
  for_lanes(matrix.columns, [&](std::int64_t j, const auto& lanes) __attribute__((always_inline)) {
    lanes.put(scaled + j, lanes.get(x + j) * lanes.get(matrix.scale + j));
  });
  for (std::int64_t j = matrix.columns; j < columns; ++j) scaled[j] = 0;
  for (std::int64_t i = 0; i < matrix.rows; i += kRowsAtOnce) {
    const std::int64_t rows = matrix.rows - i < kRowsAtOnce ? matrix.rows - i : kRowsAtOnce;
    Floats sums[kRowsAtOnce];
    for (Floats& sum : sums) sum = spread(0.0F);
    for (std::int64_t block = 0; block < columns; block += kWeightBlock) {
      const std::uint32_t* first = packed + (block * matrix.rows + i * kWeightBlock) / 2;
#pragma GCC unroll 8
      for (std::int64_t row = 0; row < kRowsAtOnce; ++row) {
        const std::uint32_t* words = first + (row < rows ? row : rows - 1) * kWeightBlock / 2;
#pragma GCC unroll 4
        for (int pair = 0; pair < kPairs; ++pair) {
          const Ints of_pair = load_words(words + pair * kWidth);
          const float* factors = scaled + block + 2 * pair * kWidth;
          sums[row] = fma(even(of_pair), load(factors), sums[row]);
          sums[row] = fma(odd(of_pair), load(factors + kWidth), sums[row]);
        }
      }
    }
    float totals[kRowsAtOnce];
    _mm256_storeu_ps(totals, horizontal_sums(sums));
    for (std::int64_t row = 0; row < rows; ++row) y[i + row] = totals[row];
  }
}

}  // namespace

const WeightKernels kWeights = {fake_quantize, straight_through, pack, product, transposed_product};

}  // namespace octet::vector::OCTET_ISA
