// Float32 products of whole matrices, row-major and dense.
#pragma once

#include <cstdint>

namespace octet::core {

enum class Transposed : bool { no, yes };

/// An operand as it stands in memory: [rows, columns], or the transpose of that.
struct Operand {
  const float* data;
  Transposed transposed = Transposed::no;
};

/// y[m, n] = a[m, k] * b[k, n], by oneDNN on the calling thread alone. The same operands give the same bits in one
/// process; the order of the sums depends on the instruction set.
void float_product(std::int64_t m, std::int64_t n, std::int64_t k, const Operand& a, const Operand& b, float* y);

}  // namespace octet::core
