// The sizes of a matrix product, and where each matrix of a batch finds its operands.
#pragma once

#include <cstdint>
#include <vector>

#include "provider/core/kernel.hpp"

namespace octet::core {

using Dims = std::vector<std::int64_t>;

/// For each matrix of the output's batch, in order, which matrix of an operand with batch extents `operand` it uses
/// (numpy broadcasting).
std::vector<std::int64_t> broadcast_indices(const Dims& operand, const Dims& output);

/// A scale or zero point as the product uses it: `stride` 0 (one value) or 1 (one for each row or column), beginning at
/// offset(batch index).
struct ParameterShape {
  bool present = false;
  std::int64_t count = 0;
  std::int64_t stride = 0;
  std::vector<std::int64_t> offsets;  ///< empty: the same values for every matrix

  std::int64_t offset(std::int64_t matrix) const {
    return offsets.empty() ? 0 : offsets[static_cast<std::size_t>(matrix)];
  }
  bool one_value() const noexcept { return stride == 0 && offsets.empty(); }
};

struct MatMulShape {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  std::int64_t a_matrices = 1;
  std::int64_t b_matrices = 1;
  std::vector<std::int64_t> a_index;  ///< batch index -> matrix of A
  std::vector<std::int64_t> b_index;
  Dims batch_dims;

  /// numpy.matmul of extents a and b, or a 2-D product with operands transposed where told.
  MatMulShape(Dims a, Dims b, bool transpose_a, bool transpose_b);

  /// A parameter of extents `dims` along rows (extent `length` = m) or columns (n).
  ParameterShape parameter(const TensorInfo& info, bool along_rows) const;

  /// One product of batch * m rows, where every matrix of the batch uses the same B.
  void merge_batch_into_rows();
};

}  // namespace octet::core
