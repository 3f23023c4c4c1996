// The loops of the quantize family. Float32 in the middle: other types are converted to and from it in blocks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::vector {

/// Integers that the loops read and write, as indices of the arrays below. 4-bit elements pass through the 8-bit ones.
enum Integer { kU8, kS8, kU16, kS16, kS32, kIntegers };
constexpr int kNarrowIntegers = kS32;  ///< those that the quantizing loops write
enum Half { kFloat16, kBfloat16, kHalves };

/// Every function computes elements on their own: the bits depend neither on n and alignment nor on how data is cut up.
/// Outputs do not overlap inputs.
struct QuantizeKernels {
  /// Least and greatest element, at most and at least +0; both NaN where an element is.
  void (*min_max)(const float* x, std::size_t n, float* min, float* max);

  /// y = saturate(rint(x / scale) + zero_point): float32 division, ties to even; NaN gives the type's lowest value.
  void (*quantize_u8)(const float* x, std::size_t n, float scale, std::int32_t zero_point, std::uint8_t* y);
  void (*quantize[kNarrowIntegers])(const float* x, std::size_t n, float scale, std::int32_t zero_point, void* y);
  /// The same with a scale and a zero point for each element.
  void (*quantize_each[kNarrowIntegers])(const float* x, std::size_t n, const float* scale,
                                         const std::int32_t* zero_point, void* y);

  /// x = x / scale, as the quantizing loops divide: for quotients that are rounded further before they are quantized.
  void (*divide)(float* x, std::size_t n, float scale);
  void (*divide_each)(float* x, std::size_t n, const float* scale);

  /// y = f32(x - zero_point) * scale: the difference is exact, conversion and product round once each.
  void (*dequantize[kIntegers])(const void* x, std::size_t n, float scale, std::int32_t zero_point, float* y);
  void (*dequantize_each[kIntegers])(const void* x, std::size_t n, const float* scale, const std::int32_t* zero_point,
                                     float* y);

  void (*int32_to_float)(const std::int32_t* x, std::size_t n, float* y);  ///< ties to even
  void (*widen[kHalves])(const std::uint16_t* x, std::size_t n, float* y);
  void (*narrow[kHalves])(const float* x, std::size_t n, std::uint16_t* y);  ///< ties to even; NaN stays NaN

  /// n elements of 8 bits, saturated to 4 bits and packed two to a byte, low half first, and back. The last byte of an
  /// odd n has its high half 0.
  void (*pack_u4)(const std::uint8_t* x, std::size_t n, std::uint8_t* y);
  void (*pack_s4)(const std::int8_t* x, std::size_t n, std::uint8_t* y);
  void (*unpack_u4)(const std::uint8_t* x, std::size_t n, std::uint8_t* y);
  void (*unpack_s4)(const std::uint8_t* x, std::size_t n, std::int8_t* y);
};

}  // namespace octet::vector
