// Quantization by Eigen: the formulas as array expressions, for every type.
#include <Eigen/Core>
#include <algorithm>
#include <cstring>
#include <limits>

#include "provider/core/quantize_loops.hpp"

namespace octet::core {
namespace {

constexpr std::size_t kBlock = 512;

template <class T>
using Map = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <class T>
using ConstMap = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

template <class T>
ConstMap<T> input(const void* x, std::size_t n) {
  return {static_cast<const T*>(x), static_cast<Eigen::Index>(n)};
}
template <class T>
Map<T> output(void* y, std::size_t n) {
  return {static_cast<T*>(y), static_cast<Eigen::Index>(n)};
}

/// Quotients beyond +-2^17 are saturated whatever the zero point, and all sums of smaller ones are exact in float.
template <class T, class Quotients, class ZeroPoints>
void saturate(const Quotients& quotients, const ZeroPoints& zero_points, T* y) {
  constexpr float kBound = 131072.0F;
  constexpr float kLowest = std::numeric_limits<T>::lowest();
  constexpr float kHighest = std::numeric_limits<T>::max();
  Eigen::Array<float, Eigen::Dynamic, 1, Eigen::ColMajor, kBlock, 1> levels = quotients;
  for (float& level : levels) level = level >= -kBound ? level : -kBound;  // also where it is NaN
  levels = levels.min(kBound).rint();
  levels = (levels + zero_points).max(kLowest).min(kHighest);
  for (Eigen::Index i = 0; i < levels.size(); ++i) y[i] = static_cast<T>(static_cast<std::int32_t>(levels[i]));
}

template <class T>
void quantize(const float* x, std::size_t n, float scale, std::int32_t zero_point, void* y) {
  for (std::size_t i = 0; i < n; i += kBlock)
    saturate(input<float>(x + i, std::min(n - i, kBlock)) / scale, static_cast<float>(zero_point),
             static_cast<T*>(y) + i);
}
template <class T>
void quantize_each(const float* x, std::size_t n, const float* scale, const std::int32_t* zero_point, void* y) {
  for (std::size_t i = 0; i < n; i += kBlock) {
    const std::size_t count = std::min(n - i, kBlock);
    const auto zero_points =
        input<std::int32_t>(zero_point + i, count).template cast<float>();  // exact: at most 16 bits
    saturate(input<float>(x + i, count) / input<float>(scale + i, count), zero_points, static_cast<T*>(y) + i);
  }
}
void quantize_u8(const float* x, std::size_t n, float scale, std::int32_t zero_point, std::uint8_t* y) {
  quantize<std::uint8_t>(x, n, scale, zero_point, y);
}

void divide(float* x, std::size_t n, float scale) { output<float>(x, n) /= scale; }
void divide_each(float* x, std::size_t n, const float* scale) { output<float>(x, n) /= input<float>(scale, n); }

// Differences of int32 need 33 bits: double holds them, and its conversion to float rounds once.
template <class T>
void dequantize(const void* x, std::size_t n, float scale, std::int32_t zero_point, float* y) {
  output<float>(y, n) = (input<T>(x, n).template cast<double>() - zero_point).template cast<float>() * scale;
}
template <class T>
void dequantize_each(const void* x, std::size_t n, const float* scale, const std::int32_t* zero_point, float* y) {
  const auto zero_points = input<std::int32_t>(zero_point, n).template cast<double>();
  output<float>(y, n) =
      (input<T>(x, n).template cast<double>() - zero_points).template cast<float>() * input<float>(scale, n);
}

void min_max(const float* x, std::size_t n, float* min, float* max) {
  const auto values = input<float>(x, n);
  *min = *max = n == 0 ? 0.0F : std::numeric_limits<float>::quiet_NaN();
  if (n == 0 || values.isNaN().any()) return;
  *min = std::min(0.0F, values.minCoeff());
  *max = std::max(0.0F, values.maxCoeff());
}

void int32_to_float(const std::int32_t* x, std::size_t n, float* y) {
  output<float>(y, n) = input<std::int32_t>(x, n).cast<float>();
}
template <class T>
void widen(const std::uint16_t* x, std::size_t n, float* y) {
  output<float>(y, n) = input<T>(x, n).template cast<float>();
}
template <class T>
void narrow(const float* x, std::size_t n, std::uint16_t* y) {
  output<T>(y, n) = input<float>(x, n).template cast<T>();
}

template <class T>
void pack4(const T* x, std::size_t n, std::uint8_t* y) {
  const auto nibble = [&](std::size_t i) {
    const int low = std::is_signed_v<T> ? -8 : 0;
    return i < n ? std::clamp<int>(x[i], low, low + 15) & 15 : 0;
  };
  for (std::size_t i = 0; i < n; i += 2) y[i / 2] = static_cast<std::uint8_t>(nibble(i) | nibble(i + 1) << 4);
}
template <class T>
void unpack4(const std::uint8_t* x, std::size_t n, T* y) {
  constexpr int kSign = std::is_signed_v<T> ? 8 : 0;
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(((x[i / 2] >> (i % 2 * 4) & 15) ^ kSign) - kSign);
}

using std::int16_t, std::int32_t, std::int8_t, std::uint16_t, std::uint8_t;

constexpr vector::QuantizeKernels kLoops = {
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
    {widen<Eigen::half>, widen<Eigen::bfloat16>},
    {narrow<Eigen::half>, narrow<Eigen::bfloat16>},
    pack4<uint8_t>,
    pack4<int8_t>,
    unpack4<uint8_t>,
    unpack4<int8_t>,
};

}  // namespace

Offer<QuantizeLoops> offer_eigen_quantize() {
  return std::make_unique<QuantizeLoops>(QuantizeLoops{kLoops, "Eigen::Array"});
}

}  // namespace octet::core
