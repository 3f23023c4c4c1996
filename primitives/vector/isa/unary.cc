// Bytes through a table of 256, bytes as they are, and the functions that tables are made of.
#include "primitives/vector/isa/bytes.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

/// y = look(x), a register at a time.
template <class Look>
inline __attribute__((always_inline)) void for_each_register(const ByteRows& rows, const Look& look) {
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::uint8_t* x = rows.x + row * rows.x_stride;
    std::uint8_t* y = rows.y + row * rows.y_stride;
    std::size_t i = 0;
    for (; i + kRegisterBytes <= rows.n; i += kRegisterBytes) store_register(y + i, look(load_register(x + i)));
    if (i < rows.n) store_some(y + i, look(load_some(x + i, rows.n - i)), rows.n - i);
  }
}

/// Rows of sizeof(Piece) to twice as many bytes, as two overlapping pieces.
template <class Piece>
void copy_pieces(const ByteRows& rows) {
  const std::size_t second = rows.n - sizeof(Piece);
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::uint8_t* x = rows.x + row * rows.x_stride;
    std::uint8_t* y = rows.y + row * rows.y_stride;
    const Piece begin = piece_at<Piece>(x);
    const Piece end = piece_at<Piece>(x, second);
    put_piece(y, 0, begin);
    put_piece(y, second, end);
  }
}

void copy(const ByteRows& rows) {
  if (rows.n == 0) return;
  if (rows.n < 2) return copy_pieces<std::uint8_t>(rows);
  if (rows.n < 4) return copy_pieces<std::uint16_t>(rows);
  if (rows.n < 8) return copy_pieces<std::uint32_t>(rows);
  if (rows.n < 16) return copy_pieces<std::uint64_t>(rows);
  if (rows.n < 32) return copy_pieces<__m128i>(rows);
  if (rows.n < 64) return copy_pieces<__m256i>(rows);
  if (rows.n < 256) return for_each_register(rows, [](Bytes x) { return x; });
  for (std::int64_t row = 0; row < rows.rows; ++row)
    __builtin_memcpy(rows.y + row * rows.y_stride, rows.x + row * rows.x_stride, rows.n);
}

#ifdef __AVX512F__

/// 128 consecutive bytes of a table.
struct Half {
  Bytes low, high;
};
inline Half load_half(const std::uint8_t* table) { return {load_register(table), load_register(table + 64)}; }

// The table as words: the upper 7 bits of a byte choose one, the lowest bit a half of it. Bytes at even and at odd
// places are looked up apart; each result arrives in its own half of the word.
void lookup(const std::uint8_t* table, const ByteRows& rows) {
  const Half lower = load_half(table);
  const Half upper = load_half(table + 128);
  const Bytes eight = _mm512_set1_epi16(8);
  const auto word = [=](Bytes index, __mmask32 is_upper) __attribute__((always_inline)) {
    return _mm512_mask_blend_epi16(is_upper, _mm512_permutex2var_epi16(lower.low, index, lower.high),
                                   _mm512_permutex2var_epi16(upper.low, index, upper.high));
  };
  for_each_register(rows, [=](Bytes x) __attribute__((always_inline)) {
    const Bytes even = word(_mm512_srli_epi16(x, 1), _mm512_test_epi16_mask(x, _mm512_set1_epi16(0x80)));
    const Bytes odd = word(_mm512_srli_epi16(x, 9), _mm512_movepi16_mask(x));
    const Bytes even_shift = _mm512_and_si512(_mm512_slli_epi16(x, 3), eight);
    const Bytes odd_shift = _mm512_andnot_si512(_mm512_srli_epi16(x, 5), eight);
    return _mm512_mask_blend_epi8(0xAAAAAAAAAAAAAAAA, _mm512_srlv_epi16(even, even_shift),
                                  _mm512_sllv_epi16(odd, odd_shift));
  });
}

#else

constexpr int kRegisters = 4;

// pshufb looks up 16 bytes, by the lower 4 bits of an index, and gives 0 where its top bit is set. Step k takes 16 * k
// off the index (the top bit stays once it is set) and looks up the difference of rows k and k - 1 of the table: these
// sum up, by exclusive or, to the row of x.
class Differences {
 public:
  explicit Differences(const std::uint8_t* table) {
    __m128i before = _mm_setzero_si128();
    for (int k = 0; k < 16; ++k) {
      const auto row = piece_at<__m128i>(table + 16 * k);
      rows_[k] = _mm256_broadcastsi128_si256(k % 8 == 0 ? row : _mm_xor_si128(row, before));
      before = row;
    }
  }

  /// x[i] = what the table has for it.
  template <int kCount>
  __attribute__((always_inline)) void look(Bytes* x) const {
    const Bytes sixteen = _mm256_set1_epi8(16);
    const Bytes top = _mm256_set1_epi8(-128);
    Bytes found[kCount];
    for (int i = 0; i < kCount; ++i) found[i] = _mm256_setzero_si256();
    for (int half = 0; half < 2; ++half) {
      Bytes rest[kCount];
      for (int i = 0; i < kCount; ++i) rest[i] = half == 0 ? x[i] : _mm256_xor_si256(x[i], top);
      for (int k = 0; k < 8; ++k) {
        const Bytes row = rows_[8 * half + k];
        for (int i = 0; i < kCount; ++i) {
          found[i] = _mm256_xor_si256(found[i], _mm256_shuffle_epi8(row, rest[i]));
          rest[i] = _mm256_subs_epi8(rest[i], sixteen);
        }
      }
    }
    for (int i = 0; i < kCount; ++i) x[i] = found[i];
  }

 private:
  Bytes rows_[16];
};

void lookup(const std::uint8_t* table, const ByteRows& rows) {
  const Differences differences(table);
  ByteRows rest = rows;
  const std::size_t done = rows.n / (kRegisters * kRegisterBytes) * (kRegisters * kRegisterBytes);
  for (std::int64_t row = 0; row < rows.rows && done > 0; ++row) {
    const std::uint8_t* x = rows.x + row * rows.x_stride;
    std::uint8_t* y = rows.y + row * rows.y_stride;
    for (std::size_t i = 0; i < done; i += kRegisters * kRegisterBytes) {
      Bytes bytes[kRegisters];
      for (std::size_t k = 0; k < kRegisters; ++k) bytes[k] = load_register(x + i + k * kRegisterBytes);
      differences.look<kRegisters>(bytes);
      for (std::size_t k = 0; k < kRegisters; ++k) store_register(y + i + k * kRegisterBytes, bytes[k]);
    }
  }
  rest.n -= done;
  rest.x += done;
  rest.y += done;
  for_each_register(rest, [&](Bytes x) __attribute__((always_inline)) {
    differences.look<1>(&x);
    return x;
  });
}

#endif

#ifdef __AVX512VNNI__

// vpermi2b looks up 128 bytes; the top bit chooses between two such halves.
#define OCTET_VBMI __attribute__((target("avx512vbmi")))

OCTET_VBMI inline Bytes look(const Half& lower, const Half& upper, Bytes index) {
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), _mm512_permutex2var_epi8(lower.low, index, lower.high),
                                _mm512_permutex2var_epi8(upper.low, index, upper.high));
}

OCTET_VBMI void lookup_vbmi(const std::uint8_t* table, const ByteRows& rows) {
  const Half lower = load_half(table);
  const Half upper = load_half(table + 128);
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::uint8_t* x = rows.x + row * rows.x_stride;
    std::uint8_t* y = rows.y + row * rows.y_stride;
    std::size_t i = 0;
    for (; i + kRegisterBytes <= rows.n; i += kRegisterBytes)
      store_register(y + i, look(lower, upper, load_register(x + i)));
    if (i < rows.n) store_some(y + i, look(lower, upper, load_some(x + i, rows.n - i)), rows.n - i);
  }
}

#endif

void leaky_relu(const float* x, std::size_t n, float alpha, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] >= 0 ? x[i] : alpha * x[i];
}

// exp(d) = 2^k * exp(d - k * ln 2), the latter as its Taylor series, whose rest is below 2^-57 for |d - k * ln 2| <= ln
// 2 / 2. Plain operations in a fixed order: the same bits from every instruction set. Past the bounds the result is 1
// or 0.
inline double exponential(double d) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // 11 zero bits at its end: its products with k are exact
  constexpr double kLn2Low = 0x1.ef35793c76730p-45;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the lowest bits
  const double shifted = d * kLog2E + kRound;
  const double k = shifted - kRound;
  const double r = (d - k * kLn2High) - k * kLn2Low;
  double series = 1.0 / 6227020800.0;
  constexpr double kCoefficients[] = {1.0 / 479001600.0,
                                      1.0 / 39916800.0,
                                      1.0 / 3628800.0,
                                      1.0 / 362880.0,
                                      1.0 / 40320.0,
                                      1.0 / 5040.0,
                                      1.0 / 720.0,
                                      1.0 / 120.0,
                                      1.0 / 24.0,
                                      1.0 / 6.0,
                                      0.5,
                                      1.0,
                                      1.0};
  for (const double coefficient : kCoefficients) series = series * r + coefficient;
  std::int64_t power;
  __builtin_memcpy(&power, &shifted, sizeof power);
  power = static_cast<std::int64_t>(static_cast<std::uint64_t>(power) << 52) + 0x3FF0000000000000;
  double scale;
  __builtin_memcpy(&scale, &power, sizeof scale);
  return series * scale;
}

void sigmoid(const float* x, std::size_t n, float* y) {
  constexpr double kBound = 110;  // sigmoid(-104) is below half of the least float32
  for (std::size_t i = 0; i < n; ++i) {
    const double negative = -static_cast<double>(x[i]);
    const double low = negative > -kBound ? negative : -kBound;
    const double bounded = low < kBound ? low : kBound;
    const double value = 1.0 / (1.0 + exponential(bounded));
    y[i] = x[i] == x[i] ? static_cast<float>(value) : x[i];
  }
}

}  // namespace

const UnaryKernels kUnary = {lookup, copy, leaky_relu, sigmoid};
#ifdef __AVX512VNNI__
const UnaryKernels kUnaryVbmi = {lookup_vbmi, copy, leaky_relu, sigmoid};
#endif

}  // namespace octet::vector::OCTET_ISA
