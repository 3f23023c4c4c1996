#include "test/reference/product.hpp"

namespace octet::reference {
namespace {

Dims row_dims(const ProductShape& shape, const TensorView& tensor) {
  Dims dims = dims_of(tensor);
  if (!tensor.present() || count(dims) == 1) return {};
  if (dims.size() == 1) dims.push_back(1);
  if (dims.back() != 1) fail("a parameter of the left operand differs along k");
  static_cast<void>(Spread(dims, shape.a, "a parameter of the left operand"));
  return dims;
}

Dims column_dims(const ProductShape& shape, const TensorView& tensor) {
  Dims dims = dims_of(tensor);
  if (!tensor.present() || count(dims) == 1) return {};
  if (dims.size() >= 2 && dims[dims.size() - 2] != 1) fail("a parameter of the right operand differs along k");
  static_cast<void>(Spread(dims, shape.b, "a parameter of the right operand"));
  return dims;
}

Dims batch_of(const Dims& dims) { return Dims(dims.begin(), dims.end() - 2); }

std::vector<std::int64_t> zero_points(const TensorView& tensor) {
  return tensor.present() ? integers(tensor) : std::vector<std::int64_t>{0};
}

}  // namespace

ProductShape::ProductShape(Dims a_given, Dims b_given) : a(std::move(a_given)), b(std::move(b_given)) {
  if (a.empty() || b.empty()) fail("an operand of the product is a scalar");
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  m = a[a.size() - 2];
  k = a[a.size() - 1];
  n = b[b.size() - 1];
  if (b[b.size() - 2] != k) fail("the operands of the product differ in k");
  y = broadcast(batch_of(a), batch_of(b));
  y.push_back(m);
  y.push_back(n);
}

Parameter<std::int64_t> row_zero_point(const ProductShape& shape, const TensorView& tensor) {
  return {zero_points(tensor), row_dims(shape, tensor), shape.y, "a zero point of the left operand"};
}
Parameter<float> row_scale(const ProductShape& shape, const TensorView& tensor) {
  return {floats(tensor), row_dims(shape, tensor), shape.y, "a scale of the left operand"};
}
Parameter<std::int64_t> column_zero_point(const ProductShape& shape, const TensorView& tensor) {
  return {zero_points(tensor), column_dims(shape, tensor), shape.y, "a zero point of the right operand"};
}
Parameter<float> column_scale(const ProductShape& shape, const TensorView& tensor) {
  return {floats(tensor), column_dims(shape, tensor), shape.y, "a scale of the right operand"};
}

void for_each_sum(const ProductShape& shape, const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                  const Parameter<std::int64_t>& a_zero_point, const Parameter<std::int64_t>& b_zero_point,
                  const std::function<void(std::int64_t, const Dims&, std::int32_t)>& visit) {
  const Spread a_batches(batch_of(shape.a), batch_of(shape.y), "A");
  const Spread b_batches(batch_of(shape.b), batch_of(shape.y), "B");
  Dims index(shape.y.size(), 0);
  const std::int64_t total = count(shape.y);
  for (std::int64_t position = 0; position < total; ++position, advance(index, shape.y)) {
    const Dims batch = batch_of(index);
    const std::int64_t row = a_batches.at(batch) * shape.m + index[index.size() - 2];
    const std::int64_t first_of_column = b_batches.at(batch) * shape.k * shape.n + index[index.size() - 1];
    const std::int64_t za = a_zero_point.at(index), zb = b_zero_point.at(index);
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < shape.k; ++k)
      sum += (a[static_cast<std::size_t>(row * shape.k + k)] - za) *
             (b[static_cast<std::size_t>(first_of_column + k * shape.n)] - zb);
    visit(position, index, wrapped(sum));
  }
}

std::int32_t wrapped(std::int64_t sum) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)); }

}  // namespace octet::reference
