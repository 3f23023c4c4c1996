#include "provider/kernels/quantize_layout.hpp"

#include <cstring>
#include <numeric>

namespace octet::core {
namespace {

std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t begin, std::size_t end) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(begin),
                         dims.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{1}, std::multiplies<>());
}

std::int64_t count_of(const TensorView& view) {
  std::int64_t count = 1;
  for (std::int32_t d = 0; d < view.rank; ++d) count *= view.dims[d];
  return count;
}

void read(const vector::QuantizeKernels& loops, const TensorView& scale, std::int64_t count, float* values) {
  const auto n = static_cast<std::size_t>(count);
  switch (scale.dtype) {
    case DataType::float16:
      loops.widen[vector::kFloat16](scale.as<const std::uint16_t>(), n, values);
      break;
    case DataType::bfloat16:
      loops.widen[vector::kBfloat16](scale.as<const std::uint16_t>(), n, values);
      break;
    default:
      std::memcpy(values, scale.data, n * sizeof(float));
  }
}

template <class T>
void copy_from(const TensorView& view, std::int64_t count, std::int32_t* values) {
  std::copy_n(view.as<const T>(), count, values);
}

void read(const vector::QuantizeKernels&, const TensorView& zero_point, std::int64_t count, std::int32_t* values) {
  const auto nibble = [&](std::int64_t i) { return zero_point.as<const std::uint8_t>()[i / 2] >> (i % 2 * 4) & 15; };
  switch (zero_point.dtype) {
    case DataType::uint8:
      return copy_from<std::uint8_t>(zero_point, count, values);
    case DataType::int8:
      return copy_from<std::int8_t>(zero_point, count, values);
    case DataType::uint16:
      return copy_from<std::uint16_t>(zero_point, count, values);
    case DataType::int16:
      return copy_from<std::int16_t>(zero_point, count, values);
    case DataType::int32:
      return copy_from<std::int32_t>(zero_point, count, values);
    case DataType::uint4:
      for (std::int64_t i = 0; i < count; ++i) values[i] = nibble(i);
      return;
    case DataType::int4:
      for (std::int64_t i = 0; i < count; ++i) values[i] = (nibble(i) ^ 8) - 8;
      return;
    default:
      std::fill_n(values, count, 0);  // absent
  }
}

template <class T>
void read_all(const vector::QuantizeKernels& loops, const TensorView& view, std::int64_t count, T* values) {
  if (view.present() && count_of(view) == count) return read(loops, view, count, values);
  T one;
  read(loops, view, 1, &one);
  std::fill_n(values, count, one);
}

std::size_t memory_for(const QuantizeLayout& layout) {
  return layout.parameters == 1 ? 0
                                : static_cast<std::size_t>(layout.parameters) * (sizeof(float) + sizeof(std::int32_t));
}

}  // namespace

QuantizeLayout::QuantizeLayout(const TensorInfo& x, const TensorInfo& scale, const TensorInfo& zero_point,
                               std::int64_t axis, std::int64_t block_size)
    : elements(x.elements()), row(elements), segment(elements) {
  const bool one_zero_point = !zero_point.present() || zero_point.elements() == 1;
  if (elements == 0 || (scale.elements() == 1 && one_zero_point)) return;
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.dims.size()) : axis);
  const std::int64_t outer = product(x.dims, 0, at);
  const std::int64_t length = x.dims[at];
  const std::int64_t inner = product(x.dims, at + 1, x.dims.size());
  row = length * inner;
  if (block_size > 0) {
    block_size = std::min(block_size, length);
    const std::int64_t blocks = (length + block_size - 1) / block_size;
    parameters = outer * blocks * inner;
    row_stride = blocks * inner;
    block_stride = inner;
    each = inner > 1;
    segment = each ? inner : block_size;
    block = each ? block_size : 1;
  } else {
    parameters = length;
    each = inner == 1;
    segment = each ? row : inner;
    block_stride = each ? 0 : 1;
  }
}

QuantizeParameters::QuantizeParameters(const QuantizeLayout& layout, const vector::QuantizeKernels& loops,
                                       const TensorView& scale, const TensorView& zero_point)
    : memory_(memory_for(layout)), count_(layout.parameters) {
  if (count_ > 1) {
    scale_ = memory_.as<float>();
    zero_point_ = reinterpret_cast<std::int32_t*>(scale_ + count_);
  }
  read_all(loops, scale, count_, scale_);
  read_all(loops, zero_point, count_, zero_point_);
}

void QuantizeParameters::gather(const QuantizeLayout& layout, std::int64_t begin, std::int64_t end, float* scale,
                                std::int32_t* zero_point) const {
  layout.for_each_segment(begin, end, [&](std::int64_t from, std::int64_t to, std::int64_t parameter) {
    for (std::int64_t i = from - begin; i < to - begin; i += kGatherPadding) {
      std::fill_n(scale + i, kGatherPadding, scale_[parameter]);
      std::fill_n(zero_point + i, kGatherPadding, zero_point_[parameter]);
    }
  });
}

void QuantizeParameters::round_scales(const vector::QuantizeKernels& loops, vector::Half half) {
  round_to(loops, half, scale_, count_);
}

void round_to(const vector::QuantizeKernels& loops, vector::Half half, float* x, std::int64_t n) {
  constexpr std::int64_t kBlock = 512;
  std::uint16_t rounded[kBlock];
  for (; n > 0; n -= kBlock, x += kBlock) {
    const auto count = static_cast<std::size_t>(std::min(n, kBlock));
    loops.narrow[half](x, count, rounded);
    loops.widen[half](rounded, count, x);
  }
}

}  // namespace octet::core
