#include "provider/kernels/matmul_shape.hpp"

#include <algorithm>

namespace octet::core {
namespace {

std::int64_t product_of(const Dims& dims) {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) product *= dim;
  return product;
}

Dims without_last_two(const Dims& dims) { return {dims.begin(), dims.end() - 2}; }

Dims broadcast_dims(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()), 1);
  for (const Dims* operand : {&a, &b}) {
    const std::size_t lead = result.size() - operand->size();
    for (std::size_t i = 0; i < operand->size(); ++i)
      if ((*operand)[i] != 1) result[lead + i] = (*operand)[i];
  }
  return result;
}

}  // namespace

std::vector<std::int64_t> broadcast_indices(const Dims& operand, const Dims& output) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(product_of(output)), 0);
  const std::size_t lead = output.size() - operand.size();
  std::int64_t operand_stride = 1;
  std::int64_t inner = 1;
  for (std::size_t d = output.size(); d-- > 0;) {
    const std::int64_t extent = output[d];
    const std::int64_t operand_extent = d >= lead ? operand[d - lead] : 1;
    if (operand_extent != 1)
      for (std::size_t i = 0; i < indices.size(); ++i)
        indices[i] += static_cast<std::int64_t>(i) / inner % extent * operand_stride;
    inner *= extent;
    operand_stride *= operand_extent;
  }
  return indices;
}

MatMulShape::MatMulShape(Dims a, Dims b, bool transpose_a, bool transpose_b) {
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const auto last = [](const Dims& dims, std::size_t i) { return dims[dims.size() - i]; };
  m = last(a, transpose_a ? 1 : 2);
  k = last(b, transpose_b ? 1 : 2);
  n = last(b, transpose_b ? 2 : 1);
  const Dims a_batch = without_last_two(a);
  const Dims b_batch = without_last_two(b);
  batch_dims = broadcast_dims(a_batch, b_batch);
  batch = product_of(batch_dims);
  a_matrices = product_of(a_batch);
  b_matrices = product_of(b_batch);
  a_index = broadcast_indices(a_batch, batch_dims);
  b_index = broadcast_indices(b_batch, batch_dims);
}

ParameterShape MatMulShape::parameter(const TensorInfo& info, bool along_rows) const {
  ParameterShape result;
  if (!info.present()) return result;
  result.present = true;
  result.count = info.elements();
  const std::int64_t length = along_rows ? m : n;
  if (result.count == 1) return result;
  if (info.dims.size() < 3) {
    result.stride = 1;
    return result;
  }
  // [batch..., m, 1] or [batch..., 1, n]
  const Dims lead = without_last_two(info.dims);
  const std::int64_t per_matrix = info.dims[info.dims.size() - (along_rows ? 2 : 1)];
  result.stride = per_matrix == length && length != 1 ? 1 : 0;
  if (product_of(lead) != 1) {
    result.offsets = broadcast_indices(lead, batch_dims);
    for (std::int64_t& offset : result.offsets) offset *= per_matrix;
  }
  return result;
}

void MatMulShape::merge_batch_into_rows() {
  m *= batch;
  batch = a_matrices = 1;
  batch_dims.clear();
  a_index = {0};
  b_index = {0};
}

}  // namespace octet::core
