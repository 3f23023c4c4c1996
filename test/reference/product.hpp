// The integer matrix product that all operators of the matmul family begin with.
#pragma once

#include <functional>
#include <vector>

#include "test/reference/tensor.hpp"

namespace octet::reference {

/// The extents of numpy.matmul: a 1-D left operand is one row, a 1-D right operand one column; batches broadcast.
struct ProductShape {
  ProductShape(Dims a, Dims b);

  Dims a;  ///< [..., m, k]
  Dims b;  ///< [..., k, n]
  Dims y;  ///< [batch..., m, n], with the 1s that numpy.matmul drops for 1-D operands
  std::int64_t m, k, n;
};

/// A scale or zero point, spread over the elements of the product.
template <class T>
class Parameter {
 public:
  Parameter(std::vector<T> values, const Dims& dims, const Dims& full, const std::string& what)
      : values_(std::move(values)), spread_(dims, full, what) {}
  T at(const Dims& y_index) const { return values_[static_cast<std::size_t>(spread_.at(y_index))]; }

 private:
  std::vector<T> values_;
  Spread spread_;
};

/// Parameters of the left operand: one value, a vector [m], or extents that broadcast to [..., m, 1]; absent means
/// `missing`.
Parameter<std::int64_t> row_zero_point(const ProductShape& shape, const TensorView& tensor);
Parameter<float> row_scale(const ProductShape& shape, const TensorView& tensor);
/// Parameters of the right operand: one value, a vector [n], or extents that broadcast to [..., 1, n].
Parameter<std::int64_t> column_zero_point(const ProductShape& shape, const TensorView& tensor);
Parameter<float> column_scale(const ProductShape& shape, const TensorView& tensor);

/// Calls visit(position, index, sum) for each element of the product, where sum is the sum over k of
/// (a - a_zero_point) * (b - b_zero_point), modulo 2^32.
void for_each_sum(const ProductShape& shape, const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                  const Parameter<std::int64_t>& a_zero_point, const Parameter<std::int64_t>& b_zero_point,
                  const std::function<void(std::int64_t, const Dims&, std::int32_t)>& visit);

/// A sum of 64 bits modulo 2^32.
std::int32_t wrapped(std::int64_t sum);

}  // namespace octet::reference
