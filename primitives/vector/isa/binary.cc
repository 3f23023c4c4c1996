// Sums and products of two 8-bit tensors.
#include "primitives/vector/isa/bytes.hpp"
#include "primitives/vector/isa/lanes.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

// --- bytes to lanes and back ---------------------------------------------------------------------

#ifdef __AVX512F__

inline Ints widened(__m128i bytes, std::uint8_t) { return _mm512_cvtepu8_epi32(bytes); }
inline Ints widened(__m128i bytes, std::int8_t) { return _mm512_cvtepi8_epi32(bytes); }
inline Floats to_floats(Ints a) { return _mm512_cvtepi32_ps(a); }
inline Ints sub(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
inline Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
inline Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
/// The products of the lower halves of lanes, signed.
inline Ints mul_low_halves(Ints a, Ints b) { return _mm512_madd_epi16(a, _mm512_maskz_mov_epi16(0x55555555, b)); }

template <class T>
inline Ints load_bytes(const T* p) {
  return widened(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), T());
}
template <class T>
inline Ints load_bytes(const T* p, std::size_t count) {
  return widened(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1U << count) - 1), p), T());
}

inline __m128i narrowed(Ints a, std::uint8_t) {
  return _mm512_cvtusepi32_epi8(_mm512_max_epi32(a, _mm512_setzero_si512()));
}
inline __m128i narrowed(Ints a, std::int8_t) { return _mm512_cvtsepi32_epi8(a); }
template <class T>
inline void store_saturated(T* p, Ints a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), narrowed(a, T()));
}
template <class T>
inline void store_saturated(T* p, Ints a, std::size_t count) {
  _mm_mask_storeu_epi8(p, static_cast<__mmask16>((1U << count) - 1), narrowed(a, T()));
}
inline void store(std::int32_t* p, Ints a) { _mm512_storeu_si512(p, a); }
inline void store(std::int32_t* p, Ints a, std::size_t count) {
  _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1U << count) - 1), a);
}

#else

inline Ints widened(__m128i bytes, std::uint8_t) { return _mm256_cvtepu8_epi32(bytes); }
inline Ints widened(__m128i bytes, std::int8_t) { return _mm256_cvtepi8_epi32(bytes); }
inline Floats to_floats(Ints a) { return _mm256_cvtepi32_ps(a); }
inline Ints sub(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
inline Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
inline Floats sub(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
inline Ints mul_low_halves(Ints a, Ints b) {
  return _mm256_madd_epi16(a, _mm256_blend_epi16(b, _mm256_setzero_si256(), 0xAA));
}

template <class T>
inline Ints load_bytes(const T* p) {
  return widened(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)), T());
}
template <class T>
inline Ints load_bytes(const T* p, std::size_t count) {
  return widened(_mm_cvtsi64_si128(static_cast<long long>(load_pieces(p, count))), T());
}

/// 8 bytes at the beginning of a register.
template <class T>
inline Ints narrowed(Ints a) {
  const Ints words = pack_s16(a, a);
  return in_order(T(-1) < T(0) ? pack_s8(words, words) : pack_u8(words, words));
}
template <class T>
inline void store_saturated(T* p, Ints a) {
  store_quarter(p, narrowed<T>(a));
}
template <class T>
inline void store_saturated(T* p, Ints a, std::size_t count) {
  store_pieces(p, static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(narrowed<T>(a)))), count);
}
inline void store(std::int32_t* p, Ints a) { store_all(p, a); }
/// Of bytes that were loaded as pieces.
inline void store(std::int32_t* p, Ints a, std::size_t count) {
  const __m128i low = _mm256_castsi256_si128(a);
  if (count >= 4) {
    put_piece(p, 0, low);
    put_piece(p + count - 4, 0, _mm256_extracti128_si256(a, 1));
  } else if (count >= 2) {
    put_piece(p, 0, _mm_cvtsi128_si64(low));
    put_piece(p + count - 2, 0, _mm_extract_epi64(low, 1));
  } else {
    put_piece(p, 0, _mm_cvtsi128_si32(low));
  }
}

#endif

// --- loops ---------------------------------------------------------------------------------------

struct All {
  template <class T>
  Ints operator()(const T* p) const {
    return load_bytes(p);
  }
};
struct Some {
  std::size_t count;
  template <class T>
  Ints operator()(const T* p) const {
    return load_bytes(p, count);
  }
};

/// y[i] = saturate(level(i, loader)) for i < n, where level gives kLanes integers from i on and reads bytes through the
/// loader. Nothing is read again after its place is written: y may be what is read.
template <class T, class Level>
inline __attribute__((always_inline)) void write(std::size_t n, T* y, const Level& level) {
  constexpr All kAll;
  std::size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
    store_saturated(y + i, level(i, kAll), level(i + kLanes, kAll), level(i + 2 * kLanes, kAll),
                    level(i + 3 * kLanes, kAll));
  for (; i + kLanes <= n; i += kLanes) store_saturated(y + i, level(i, kAll));
  if (i < n) store_saturated(y + i, level(i, Some{n - i}), n - i);
}
template <class Level>
inline __attribute__((always_inline)) void write(std::size_t n, std::int32_t* y, const Level& level) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, level(i, All()));
  if (i < n) store(y + i, level(i, Some{n - i}), n - i);
}

/// function(a, b, y) for each row.
template <class T, class Y, class Function>
inline void for_each_row(const BinaryRows& rows, const Function& function) {
  const T* a = static_cast<const T*>(rows.a);
  const T* b = static_cast<const T*>(rows.b);
  Y* y = static_cast<Y*>(rows.y);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    function(a, b, y);
    a += rows.a_stride;
    b += rows.b_stride;
    y += rows.n;
  }
}

// Above it a float is saturated anyway; NaN, as the second operand of min, stays, and becomes the least integer.
constexpr float kBound = 0x1p30F;
struct RoundBounded {
  Ints operator()(Floats a) const { return round(min(spread(kBound), a)); }
};
struct Round {
  Ints operator()(Floats a) const { return round(a); }
};

// --- add -----------------------------------------------------------------------------------------

template <class T, BinaryForm kForm, class Rounding>
void add_rows(const AddParameters& parameters, const BinaryRows& rows) {
  const Floats a_factor = spread(parameters.a_factor);
  const Floats b_factor = spread(parameters.b_factor);
  const Floats offset = spread(parameters.offset);
  constexpr Rounding kRound;
  for_each_row<T, T>(rows, [=](const T* a, const T* b, T* y) {
    if constexpr (kForm == kVectors) {
      write(rows.n, y, [=](std::size_t i, const auto& loader) {
        const Floats other = fma(to_floats(loader(b + i)), b_factor, offset);
        return kRound(fma(to_floats(loader(a + i)), a_factor, other));
      });
    } else if constexpr (kForm == kScalarA) {
      const Floats value = spread(static_cast<float>(*a));
      write(rows.n, y, [=](std::size_t i, const auto& loader) {
        return kRound(fma(value, a_factor, fma(to_floats(loader(b + i)), b_factor, offset)));
      });
    } else {
      const Floats other = fma(spread(static_cast<float>(*b)), b_factor, offset);
      write(rows.n, y,
            [=](std::size_t i, const auto& loader) { return kRound(fma(to_floats(loader(a + i)), a_factor, other)); });
    }
  });
}

template <class T, BinaryForm kForm>
void add(const AddParameters& parameters, const BinaryRows& rows) {
  const float greatest = 256 * __builtin_fabsf(parameters.a_factor) + 256 * __builtin_fabsf(parameters.b_factor) +
                         __builtin_fabsf(parameters.offset);
  if (greatest < kBound)
    add_rows<T, kForm, Round>(parameters, rows);
  else
    add_rows<T, kForm, RoundBounded>(parameters, rows);
}

// --- multiply ------------------------------------------------------------------------------------

// Bytes of a register as words of its 128-bit lanes, and back. What unpacking takes apart, packing joins in the same
// order.
struct Words {
  Ints low, high;
};

#ifdef __AVX512F__
inline Ints spread_word(std::int32_t value) { return _mm512_set1_epi16(static_cast<std::int16_t>(value)); }
inline Words words_of(Bytes a) {
  return {_mm512_unpacklo_epi8(a, _mm512_setzero_si512()), _mm512_unpackhi_epi8(a, _mm512_setzero_si512())};
}
/// Of words, as int32.
inline Words products(Ints a, Ints b) {
  const Ints low = _mm512_mullo_epi16(a, b);
  const Ints high = _mm512_mulhi_epi16(a, b);
  return {_mm512_unpacklo_epi16(low, high), _mm512_unpackhi_epi16(low, high)};
}
#else
inline Ints spread_word(std::int32_t value) { return _mm256_set1_epi16(static_cast<std::int16_t>(value)); }
inline Words words_of(Bytes a) {
  return {_mm256_unpacklo_epi8(a, _mm256_setzero_si256()), _mm256_unpackhi_epi8(a, _mm256_setzero_si256())};
}
inline Words products(Ints a, Ints b) {
  const Ints low = _mm256_mullo_epi16(a, b);
  const Ints high = _mm256_mulhi_epi16(a, b);
  return {_mm256_unpacklo_epi16(low, high), _mm256_unpackhi_epi16(low, high)};
}
#endif

/// Signed bytes are unsigned ones with the top bit flipped and 128 more of a zero point.
template <class T>
constexpr bool kIsSigned = T(-1) < T(0);
template <class T>
inline Words differences(Bytes bytes, Ints zero) {
  const Words words = words_of(kIsSigned<T> ? flipped(bytes) : bytes);
  return {sub_words(words.low, zero), sub_words(words.high, zero)};
}

// Differences fit in 9 bits and a sign, so that their products are exact, as int32 and as float32.
template <class T, class Rounding>
void multiply_vectors(const MultiplyParameters& parameters, const BinaryRows& rows) {
  constexpr std::int32_t kOffset = kIsSigned<T> ? 128 : 0;
  const Ints a_zero = spread_word(parameters.a_zero_point + kOffset);
  const Ints b_zero = spread_word(parameters.b_zero_point + kOffset);
  const Floats factor = spread(parameters.factor);
  const Floats y_zero = spread(parameters.y_zero_point);
  const auto level = [=](Ints product) { return Rounding()(add(mul(to_floats(product), factor), y_zero)); };
  const auto words = [=](Ints a, Ints b) {
    const Words product = products(a, b);
    return pack_s16(level(product.low), level(product.high));
  };
  const auto bytes = [=](Bytes a_bytes, Bytes b_bytes) {
    const Words a = differences<T>(a_bytes, a_zero);
    const Words b = differences<T>(b_bytes, b_zero);
    const Ints low = words(a.low, b.low);
    const Ints high = words(a.high, b.high);
    return kIsSigned<T> ? pack_s8(low, high) : pack_u8(low, high);
  };
  for_each_row<T, T>(rows, [=](const T* a, const T* b, T* y) {
    std::size_t i = 0;
    for (; i + kRegisterBytes <= rows.n; i += kRegisterBytes)
      store_register(y + i, bytes(load_register(a + i), load_register(b + i)));
    const std::size_t rest = rows.n - i;
    if (rest > 0) store_some(y + i, bytes(load_some(a + i, rest), load_some(b + i, rest)), rest);
  });
}

template <class T, BinaryForm kForm, class Rounding>
void multiply_rows(const MultiplyParameters& parameters, const BinaryRows& rows) {
  if constexpr (kForm == kVectors) {
    multiply_vectors<T, Rounding>(parameters, rows);
  } else {
    constexpr bool kFixedA = kForm == kScalarA;
    const Floats zero = spread(static_cast<float>(kFixedA ? parameters.b_zero_point : parameters.a_zero_point));
    const Floats factor = spread(parameters.factor);
    const Floats y_zero = spread(parameters.y_zero_point);
    for_each_row<T, T>(rows, [=](const T* a, const T* b, T* y) {
      const std::int32_t one = kFixedA ? *a - parameters.a_zero_point : *b - parameters.b_zero_point;
      const Floats value = spread(static_cast<float>(one));
      const T* x = kFixedA ? b : a;
      write(rows.n, y, [=](std::size_t i, const auto& loader) {
        const Floats product = mul(sub(to_floats(loader(x + i)), zero), value);
        return Rounding()(add(mul(product, factor), y_zero));
      });
    });
  }
}

template <class T, BinaryForm kForm>
void multiply(const MultiplyParameters& parameters, const BinaryRows& rows) {
  const float greatest = 0x1p17F * __builtin_fabsf(parameters.factor) + __builtin_fabsf(parameters.y_zero_point);
  if (greatest < kBound)
    multiply_rows<T, kForm, Round>(parameters, rows);
  else
    multiply_rows<T, kForm, RoundBounded>(parameters, rows);
}

template <class T, BinaryForm kForm>
void multiply_integer(std::int32_t a_zero_point, std::int32_t b_zero_point, const BinaryRows& rows) {
  const Ints a_zero = spread(a_zero_point);
  const Ints b_zero = spread(b_zero_point);
  for_each_row<T, std::int32_t>(rows, [=](const T* a, const T* b, std::int32_t* y) {
    if constexpr (kForm == kVectors) {
      write(rows.n, y, [=](std::size_t i, const auto& loader) {
        return mul_low_halves(sub(loader(a + i), a_zero), sub(loader(b + i), b_zero));
      });
    } else {
      const Ints value = spread(std::int32_t{kForm == kScalarA ? *a - a_zero_point : *b - b_zero_point});
      const T* x = kForm == kScalarA ? b : a;
      const Ints zero = kForm == kScalarA ? b_zero : a_zero;
      write(rows.n, y,
            [=](std::size_t i, const auto& loader) { return mul_low_halves(sub(loader(x + i), zero), value); });
    }
  });
}

}  // namespace

const BinaryKernels kBinary = {
    {{add<std::uint8_t, kVectors>, add<std::uint8_t, kScalarA>, add<std::uint8_t, kScalarB>},
     {add<std::int8_t, kVectors>, add<std::int8_t, kScalarA>, add<std::int8_t, kScalarB>}},
    {{multiply<std::uint8_t, kVectors>, multiply<std::uint8_t, kScalarA>, multiply<std::uint8_t, kScalarB>},
     {multiply<std::int8_t, kVectors>, multiply<std::int8_t, kScalarA>, multiply<std::int8_t, kScalarB>}},
    {{multiply_integer<std::uint8_t, kVectors>, multiply_integer<std::uint8_t, kScalarA>,
      multiply_integer<std::uint8_t, kScalarB>},
     {multiply_integer<std::int8_t, kVectors>, multiply_integer<std::int8_t, kScalarA>,
      multiply_integer<std::int8_t, kScalarB>}},
};

}  // namespace octet::vector::OCTET_ISA
