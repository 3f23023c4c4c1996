// The loops of the binary family.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::vector {

/// How the operands of a row go with its elements.
enum BinaryForm {
  kVectors,  ///< an element of each for each
  kScalarA,  ///< one element of A for all
  kScalarB,  ///< one element of B for all
  kBinaryForms,
};

/// Row i: n elements of y that follow row i - 1, from the operands at a + i * a_stride and b + i * b_stride. y may be
/// a, or b, where that operand moves with it.
struct BinaryRows {
  std::int64_t rows;
  std::size_t n;
  const void* a;
  std::int64_t a_stride;
  const void* b;
  std::int64_t b_stride;
  void* y;
};

/// y = saturate(rint(fma(a, a_factor, fma(b, b_factor, offset)))), in float32; NaN gives the least value.
struct AddParameters {
  float a_factor;
  float b_factor;
  float offset;
};

/// y = saturate(rint(f32(f32((a - a_zero_point) * (b - b_zero_point) * factor) + y_zero_point))); NaN gives the least
/// value.
struct MultiplyParameters {
  std::int32_t a_zero_point;
  std::int32_t b_zero_point;
  float factor;
  float y_zero_point;
};

/// Arrays are indexed by whether elements are int8 (else uint8), and by the form.
struct BinaryKernels {
  void (*add[2][kBinaryForms])(const AddParameters& parameters, const BinaryRows& rows);
  void (*multiply[2][kBinaryForms])(const MultiplyParameters& parameters, const BinaryRows& rows);
  /// y = (a - a_zero_point) * (b - b_zero_point), int32.
  void (*multiply_integer[2][kBinaryForms])(std::int32_t a_zero_point, std::int32_t b_zero_point,
                                            const BinaryRows& rows);
};

}  // namespace octet::vector
