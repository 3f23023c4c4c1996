// The dynamically quantized inner product by its definition (octet/inner_product.hpp), one element after the other.
#pragma once

#include <cstdint>
#include <vector>

#include <octet/inner_product.hpp>

namespace octet::test {

/// One product with its operands as real numbers; bfloat16 ones are representable as such.
struct InnerProductCase {
  std::int64_t m, n, k;
  InnerProductOptions options;
  std::vector<float> a;      ///< m x k
  std::vector<float> b;      ///< k x n whatever trans_b is; of int8 B the integers
  std::vector<float> scale;  ///< n, of int8 B
  std::vector<float> bias;   ///< n
  std::vector<float> parameters;

  /// Filled from `seed`.
  InnerProductCase(std::int64_t m, std::int64_t n, std::int64_t k, const InnerProductOptions& options,
                   std::uint32_t seed);

  /// Operands in the types and the order that the options name.
  std::vector<std::uint8_t> a_bytes() const;
  std::vector<std::uint8_t> b_bytes() const;
};

/// What comes before the activation, bit for bit, and what comes after it, in double.
struct Reference {
  std::vector<float> values;
  std::vector<double> results;
  std::vector<double> bounds;  ///< of the error of a value against the product of unquantized numbers
};
Reference reference_of(const InnerProductCase& given);

/// The activation's definition in double; `column` finds prelu's slope.
double activation_of(InnerProductActivation activation, const std::vector<float>& parameters, std::int64_t column,
                     double x);

std::uint16_t to_bfloat16(float value);
float from_bfloat16(std::uint16_t value);

/// C's elements as float.
std::vector<float> floats_of(const std::vector<std::uint8_t>& bytes, DataType type);

}  // namespace octet::test
