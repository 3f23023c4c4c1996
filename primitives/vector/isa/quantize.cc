// Float32 to integers and back.
#include "primitives/vector/isa/bytes.hpp"
#include "primitives/vector/isa/for_lanes.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

// Four registers of int32 saturated to T and stored in order; for bytes lanes.hpp has it.
inline void store_saturated(std::uint16_t* y, Ints a, Ints b, Ints c, Ints d) {
  store_all(y, qwords_in_order(pack_u16(a, b)));
  store_all(y + 2 * kLanes, qwords_in_order(pack_u16(c, d)));
}
inline void store_saturated(std::int16_t* y, Ints a, Ints b, Ints c, Ints d) {
  store_all(y, qwords_in_order(pack_s16(a, b)));
  store_all(y + 2 * kLanes, qwords_in_order(pack_s16(c, d)));
}

// One register.
inline void store_saturated(std::uint8_t* y, Ints a) { store_quarter(y, in_order(pack_u8(pack_s16(a, a), a))); }
inline void store_saturated(std::int8_t* y, Ints a) { store_quarter(y, in_order(pack_s8(pack_s16(a, a), a))); }
inline void store_saturated(std::uint16_t* y, Ints a) { store_half(y, qwords_in_order(pack_u16(a, a))); }
inline void store_saturated(std::int16_t* y, Ints a) { store_half(y, qwords_in_order(pack_s16(a, a))); }

// Quotients beyond +-2^17 give the same saturated result as these, whatever the zero point. As the first operand of
// max, NaN becomes the least.
constexpr float kBound = 131072.0F;
inline Floats bounded(Floats quotient) { return min(max(quotient, spread(-kBound)), spread(kBound)); }

// y[i] = saturate(level(i, lanes)) for i < n, where level gives kLanes integers from i on and reads arrays through
// `lanes`.
template <class T, class Level>
inline void quantize_lanes(std::size_t n, T* y, const Level& level) {
  constexpr Whole kAll;
  std::size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
    store_saturated(y + i, level(i, kAll), level(i + kLanes, kAll), level(i + 2 * kLanes, kAll),
                    level(i + 3 * kLanes, kAll));
  for (; i + kLanes <= n; i += kLanes) store_saturated(y + i, level(i, kAll));
  if (i == n) return;
  if (n >= kLanes) {  // once more over elements that are done
    store_saturated(y + n - kLanes, level(n - kLanes, kAll));
    return;
  }
  T rest[kLanes];
  store_saturated(rest, level(0, Part{n}));
  for (i = 0; i < n; ++i) y[i] = rest[i];
}

// The correctly rounded quotient without a division (Markstein 1990): reciprocal = RN(1/scale); with the rest of
// 1/scale a product is within one unit of x/scale; one correction by its exact remainder rounds it correctly. Exponents
// are kept where nothing overflows and no remainder is rounded: |x| <= kBound * scale, and quotients too small for it
// round to 0 anyway.
constexpr float kLeastScale = 0x1p-64F;
constexpr float kGreatestScale = 0x1p64F;

template <class T>
void quantize(const float* x, std::size_t n, float scale, std::int32_t zero_point, void* y) {
  const Floats scales = spread(scale);
  const Ints zero_points = spread(zero_point);
  if (scale >= kLeastScale && scale <= kGreatestScale) {
    const float nearest = 1 / scale;
    const Floats reciprocal = spread(nearest);
    const Floats rest = spread(__builtin_fmaf(-nearest, scale, 1.0F) * nearest);
    const Floats least = spread(-kBound * scale);
    const Floats greatest = spread(kBound * scale);
    quantize_lanes(n, static_cast<T*>(y), [=](std::size_t i, const auto& lanes) {
      const Floats value = min(max(lanes.get(x + i), least), greatest);
      const Floats close = fma(value, reciprocal, mul(value, rest));
      return add(round(fma(fnma(close, scales, value), reciprocal, close)), zero_points);
    });
  } else {
    quantize_lanes(n, static_cast<T*>(y), [=](std::size_t i, const auto& lanes) {
      return add(round(bounded(div(lanes.get(x + i), scales))), zero_points);
    });
  }
}

void quantize_u8(const float* x, std::size_t n, float scale, std::int32_t zero_point, std::uint8_t* y) {
  quantize<std::uint8_t>(x, n, scale, zero_point, y);
}

template <class T>
void quantize_each(const float* x, std::size_t n, const float* scale, const std::int32_t* zero_point, void* y) {
  quantize_lanes(n, static_cast<T*>(y), [=](std::size_t i, const auto& lanes) {
    return add(round(bounded(div(lanes.get(x + i), lanes.get(scale + i)))), lanes.get(zero_point + i));
  });
}

void divide(float* __restrict x, std::size_t n, float scale) {
  for (std::size_t i = 0; i < n; ++i) x[i] /= scale;
}
void divide_each(float* __restrict x, std::size_t n, const float* __restrict scale) {
  for (std::size_t i = 0; i < n; ++i) x[i] /= scale[i];
}

template <class T>
inline float difference(T x, std::int32_t zero_point) {
  return static_cast<float>(static_cast<std::int32_t>(x) - zero_point);
}
template <>
inline float difference<std::int32_t>(std::int32_t x, std::int32_t zero_point) {
  return static_cast<float>(static_cast<double>(x) - static_cast<double>(zero_point));
}

template <class T>
void dequantize(const void* in, std::size_t n, float scale, std::int32_t zero_point, float* __restrict y) {
  const T* __restrict x = static_cast<const T*>(in);
  for (std::size_t i = 0; i < n; ++i) y[i] = difference(x[i], zero_point) * scale;
}

template <class T>
void dequantize_each(const void* in, std::size_t n, const float* __restrict scale,
                     const std::int32_t* __restrict zero_point, float* __restrict y) {
  const T* __restrict x = static_cast<const T*>(in);
  for (std::size_t i = 0; i < n; ++i) y[i] = difference(x[i], zero_point[i]) * scale[i];
}

bool has_nan(const float* x, std::size_t n) {
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < n; ++i) found |= static_cast<std::uint32_t>(x[i] != x[i]);
  return found != 0;
}

// Bounds of some lanes of the data. As the first operand of min and max, NaN is passed over, and a zero of either sign
// leaves the +0 that they start from; the sum of 0 * x tells whether all of x is finite.
struct Bounds {
  Floats min = spread(0.0F);
  Floats max = spread(0.0F);
  Floats zero = spread(0.0F);

  void take(Floats value) {
    min = OCTET_ISA::min(value, min);
    max = OCTET_ISA::max(value, max);
    zero = fma(value, spread(0.0F), zero);
  }
};

// The lanes brought down to one.
template <class Combine>
inline float fold(Floats a, const Combine& combine) {
#ifdef __AVX512F__
  const __m128 low = combine(_mm512_castps512_ps128(a), _mm512_extractf32x4_ps(a, 1));
  const __m128 four = combine(low, combine(_mm512_extractf32x4_ps(a, 2), _mm512_extractf32x4_ps(a, 3)));
#else
  const __m128 four = combine(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
#endif
  const __m128 two = combine(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(combine(two, _mm_movehdup_ps(two)));
}

void min_max(const float* x, std::size_t n, float* min_out, float* max_out) {
  Bounds bounds[4];
  std::size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
    for (std::size_t k = 0; k < 4; ++k) bounds[k].take(load(x + i + k * kLanes));
  for (; i + kLanes <= n; i += kLanes) bounds[0].take(load(x + i));
  if (i < n) bounds[0].take(load(x + i, n - i));

  for (std::size_t k = 1; k < 4; ++k) {
    bounds[0].min = min(bounds[k].min, bounds[0].min);
    bounds[0].max = max(bounds[k].max, bounds[0].max);
    bounds[0].zero = fma(bounds[k].zero, spread(0.0F), bounds[0].zero);  // 0 * 0 is 0
  }
  float least = fold(bounds[0].min, [](__m128 a, __m128 b) { return _mm_min_ps(a, b); });
  float greatest = fold(bounds[0].max, [](__m128 a, __m128 b) { return _mm_max_ps(a, b); });
  const float zero = fold(bounds[0].zero, [](__m128 a, __m128 b) { return _mm_add_ps(a, b); });
  if (zero != 0 && has_nan(x, n)) least = greatest = __builtin_nanf("");  // NaN differs from 0
  *min_out = least;
  *max_out = greatest;
}

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float float_of(std::uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// 16-bit elements may lie anywhere: the inner product takes pointers of any alignment.
inline std::uint16_t element(const std::uint16_t* x, std::size_t i) { return piece_at<std::uint16_t>(x, i * 2); }
inline void put_element(std::uint16_t* y, std::size_t i, std::uint16_t value) { put_piece(y, i * 2, value); }

void half_to_float(const std::uint16_t* x, std::size_t n, float* y) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  for (; i < n; ++i) y[i] = _cvtsh_ss(element(x, i));
}

void float_to_half(const float* x, std::size_t n, std::uint16_t* y) {
  constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), kNearestEven));
  for (; i < n; ++i) put_element(y, i, _cvtss_sh(x[i], kNearestEven));
}

void bfloat16_to_float(const std::uint16_t* __restrict x, std::size_t n, float* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = float_of(static_cast<std::uint32_t>(element(x, i)) << 16);
}

void float_to_bfloat16(const float* __restrict x, std::size_t n, std::uint16_t* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t bits = bits_of(x[i]);
    const std::uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    const std::uint32_t quiet = (bits >> 16 & 0x8000) | 0x7FC0;
    put_element(y, i, static_cast<std::uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : rounded));
  }
}

// Two 8-bit elements to a byte. T says whether 4 bits hold 0..15 or -8..7.
template <class T, int kLow, int kHigh>
void pack4(const T* __restrict x, std::size_t n, std::uint8_t* __restrict y) {
  const auto nibble = [](T value) {
    const int clamped = value < kLow ? kLow : value > kHigh ? kHigh : value;
    return static_cast<std::uint8_t>(clamped & 15);
  };
  for (std::size_t i = 0; i < n / 2; ++i)
    y[i] = static_cast<std::uint8_t>(nibble(x[2 * i]) | nibble(x[2 * i + 1]) << 4);
  if (n % 2 != 0) y[n / 2] = nibble(x[n - 1]);
}

// Adding and taking away kSign extends the sign.
template <class T, int kSign>
void unpack4(const std::uint8_t* __restrict x, std::size_t n, T* __restrict y) {
  const auto element = [](int nibble) { return static_cast<T>((nibble ^ kSign) - kSign); };
  for (std::size_t i = 0; i < n / 2; ++i) {
    y[2 * i] = element(x[i] & 15);
    y[2 * i + 1] = element(x[i] >> 4);
  }
  if (n % 2 != 0) y[n - 1] = element(x[n / 2] & 15);
}

void int32_to_float(const std::int32_t* __restrict x, std::size_t n, float* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]);
}

}  // namespace

using std::int16_t, std::int32_t, std::int8_t, std::uint16_t, std::uint8_t;

const QuantizeKernels kQuantize = {
    min_max,
    quantize_u8,
    {quantize<uint8_t>, quantize<int8_t>, quantize<uint16_t>, quantize<int16_t>},
    {quantize_each<uint8_t>, quantize_each<int8_t>, quantize_each<uint16_t>, quantize_each<int16_t>},
    divide,
    divide_each,
    {dequantize<uint8_t>, dequantize<int8_t>, dequantize<uint16_t>, dequantize<int16_t>, dequantize<int32_t>},
    {dequantize_each<uint8_t>, dequantize_each<int8_t>, dequantize_each<uint16_t>, dequantize_each<int16_t>,
     dequantize_each<int32_t>},
    int32_to_float,
    {half_to_float, bfloat16_to_float},
    {float_to_half, float_to_bfloat16},
    pack4<uint8_t, 0, 15>,
    pack4<int8_t, -8, 7>,
    unpack4<uint8_t, 0>,
    unpack4<int8_t, 8>,
};

}  // namespace octet::vector::OCTET_ISA
