// The loops of the unary family and of concatenation: bytes through a table, bytes as they are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::vector {

/// Row i: n bytes from x + i * x_stride, on their way to y + i * y_stride.
struct ByteRows {
  std::int64_t rows;
  std::size_t n;
  const std::uint8_t* x;
  std::int64_t x_stride;
  std::uint8_t* y;
  std::int64_t y_stride;
};

constexpr std::size_t kTableSize = 256;

struct UnaryKernels {
  /// y = table[x], for a table of kTableSize bytes; y may be x.
  void (*lookup)(const std::uint8_t* table, const ByteRows& rows);
  /// y = x
  void (*copy)(const ByteRows& rows);

  /// y = x where x >= 0, else f32(alpha * x); y may be x.
  void (*leaky_relu)(const float* x, std::size_t n, float alpha, float* y);
  /// y = f32(1 / (1 + exp(-x))), computed in double before it is rounded; y may be x. For every float32 x the bits are
  /// those of the C library's double exp (checked: all 2^32), and, but for 62 arguments below 2^-18 that lie within a
  /// 2^60th of a tie, those of the exact value.
  void (*sigmoid)(const float* x, std::size_t n, float* y);
};

}  // namespace octet::vector
