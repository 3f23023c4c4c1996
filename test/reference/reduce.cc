// ReduceSumInteger and QLinearReduceMean.
#include <algorithm>

#include "test/reference/operators.hpp"
#include "test/reference/tensor.hpp"

namespace octet::reference {
namespace {

std::vector<std::int64_t> axes_of(const Node& node) {
  const auto found = node.attributes.find("axes");
  if (found == node.attributes.end()) return {};
  if (const auto* axes = std::get_if<std::vector<std::int64_t>>(&found->second)) return *axes;
  fail("attribute 'axes' is not a list of integers");
}

/// Sums over the axes of the attribute `axes`, or over all where it is empty.
struct Sums {
  Sums(const Node& node, const TensorView& tensor) {
    const Dims dims = dims_of(tensor);
    const auto rank = static_cast<std::int64_t>(dims.size());
    const std::vector<std::int64_t> axes = axes_of(node);
    std::vector<bool> reduced(dims.size(), axes.empty());
    for (std::int64_t axis : axes) {
      if (axis < -rank || axis >= rank) fail("an axis is out of range");
      reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
    const bool keep = integer_attribute(node, "keepdims", 1) == 1;
    Dims with_ones = dims;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (reduced[d]) {
        with_ones[d] = 1;
        over *= dims[d];
      }
      if (!reduced[d] || keep) extents.push_back(with_ones[d]);
    }
    values.assign(static_cast<std::size_t>(count(with_ones)), 0);
    const Spread spread(with_ones, dims, "the sums");
    const std::vector<std::int64_t> data = integers(tensor);
    Dims index(dims.size(), 0);
    for (std::size_t i = 0; i < data.size(); ++i, advance(index, dims))
      values[static_cast<std::size_t>(spread.at(index))] += data[i];
  }

  std::vector<std::int64_t> values;
  Dims extents;           ///< of the result
  std::int64_t over = 1;  ///< elements in each sum
};

}  // namespace

// The sum modulo 2^32.
void reduce_sum_integer(const Node& node, const Tensors& inputs, const Tensors& outputs) {
  const Sums sums(node, inputs[0]);
  if (dims_of(outputs[0]) != sums.extents) fail("the output does not have the reduced extents");
  for (std::size_t i = 0; i < sums.values.size(); ++i)
    store_integer(outputs[0], static_cast<std::int64_t>(i), sums.values[i]);
}

// Inputs: data, data_scale, data_zero_point?, reduced_scale, reduced_zero_point?. In double, rounded to float32:
// reduced = saturate(round(float((sum - n * data_zero_point) * data_scale / (n * reduced_scale))) + reduced_zero_point)
void qlinear_reduce_mean(const Node& node, const Tensors& inputs, const Tensors& outputs) {
  const Sums sums(node, inputs[0]);
  if (dims_of(outputs[0]) != sums.extents) fail("the output does not have the reduced extents");
  if (sums.over == 0 && !sums.values.empty()) fail("the mean of no elements is not defined");
  const double scale = scalar_float(inputs[1], "data_scale"), reduced_scale = scalar_float(inputs[3], "reduced_scale");
  const std::int64_t zero_point = inputs[2].present() ? scalar_integer(inputs[2], "data_zero_point") : 0;
  const std::int64_t reduced_zero_point = inputs[4].present() ? scalar_integer(inputs[4], "reduced_zero_point") : 0;
  for (std::size_t i = 0; i < sums.values.size(); ++i) {
    const auto difference = static_cast<double>(sums.values[i] - sums.over * zero_point);
    const auto value = static_cast<float>(difference * scale / (static_cast<double>(sums.over) * reduced_scale));
    store_integer(outputs[0], static_cast<std::int64_t>(i), quantized(outputs[0].dtype, value, reduced_zero_point));
  }
}

}  // namespace octet::reference
