// The float32 product of a few rows, as a recurrent step has it: oneDNN's GEMM packs its right operand in every call,
// which pays for itself with many rows only. Here the operand is packed once, in blocks of 64 columns:
//   packed[(j / 64 * k + i) * 64 + j % 64] = b[i][j], zeros for j >= n
#pragma once

#include <cstdint>

namespace octet::vector {

constexpr std::int64_t kFloatBlock = 64;

constexpr std::int64_t packed_floats(std::int64_t k, std::int64_t n) {
  return (n + kFloatBlock - 1) / kFloatBlock * kFloatBlock * k;
}

struct FloatKernels {
  /// b is [k][n], or [n][k] where its transpose is meant.
  void (*pack)(const float* b, bool transposed, std::int64_t k, std::int64_t n, float* packed);
  /// y[j][i] = x[i][j]
  void (*transpose)(const float* x, std::int64_t rows, std::int64_t columns, float* y);
  /// y[rows][n] = a[rows][k] * b: sums of fma in the order of k; of one or two rows, of even and
  /// odd k apart.
  void (*product)(std::int64_t rows, std::int64_t n, std::int64_t k, const float* a, const float* packed, float* y);
};

}  // namespace octet::vector
