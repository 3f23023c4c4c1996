// The loops of the reduce family. Sums are int32, modulo 2^32: exact for up to kExactCount elements.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::vector {

constexpr std::int64_t kExactCount = std::int64_t{1} << 23;  ///< 255 * 2^23 < 2^31

/// reduced = saturate(rint(f32(double(sum - shift) * scale / divisor)) + zero_point), in double up to f32(); NaN gives
/// the least value. With n elements to a sum: shift = n * data_zero_point, divisor = n * reduced_scale.
struct MeanParameters {
  std::int64_t shift;
  double scale;
  double divisor;
  std::int32_t zero_point;
};

/// Arrays are indexed by whether elements are int8 (else uint8).
struct ReduceKernels {
  /// Both take rows that lie `stride` apart, and add to what the sums were before where `accumulate`.
  /// sums[i] = x[i][0] + ... + x[i][n-1]
  void (*sum_rows[2])(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t n, bool accumulate,
                      std::int32_t* sums);
  /// sums[j] = x[0][j] + ... + x[rows-1][j]
  void (*sum_columns[2])(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t n, bool accumulate,
                         std::int32_t* sums);
  void (*mean[2])(const std::int32_t* sums, std::size_t n, const MeanParameters& parameters, void* reduced);
};

}  // namespace octet::vector
