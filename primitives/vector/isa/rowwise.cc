// From the sums of rows that are quantized one by one to outputs: scale, bias, activation, conversion.
#include "primitives/vector/isa/output_activations.hpp"
#include "primitives/vector/isa/row_sums.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

constexpr int kRegisters = 4;
constexpr std::int64_t kColumnsAtOnce = kRegisters * kWidth;

/// The first `count` of a group's elements at p + n, then zeros; p may be null.
template <class T>
OCTET_INLINE auto load_register(const T* p, std::int64_t n, std::int64_t i, std::int64_t count) {
  const std::int64_t left = count - i * kWidth;
  if (p == nullptr || left <= 0) return spread(T{0});
  const T* const at = p + n + i * kWidth;
  return left >= kWidth ? load(at) : load(at, static_cast<std::size_t>(left));
}

/// What a group of columns has in every row.
struct Group {
  Floats scale[kRegisters], bias[kRegisters];
  Ints sum[kRegisters], zero_point[kRegisters];

  OCTET_INLINE Group(const RowwiseTile& tile, std::int64_t n, std::int64_t count) {
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) {
      scale[i] = load_register(tile.sums.column_scale, n, i, count);
      sum[i] = load_register(tile.sums.column_sum, n, i, count);
      zero_point[i] = load_register(tile.sums.zero_point, n, i, count);
      bias[i] = load_register(tile.bias, n, i, count);
    }
  }
};

enum class Sums { plain, with_zero_points, exact };

template <Sums kSums, bool kBias>
OCTET_INLINE void values_of(const RowwiseTile& tile, const Group& group, std::int64_t m, std::int64_t n, float* y) {
  const std::int32_t* acc = tile.sums.acc + m * tile.sums.acc_stride + n;
  const Floats row_scale = spread(tile.sums.row_scale[m]);
  const Ints row_zero_point = spread(tile.sums.row_zero_point[m]);
  const Ints term = kSums == Sums::with_zero_points ? spread(tile.sums.row_term[m]) : row_zero_point;
#pragma GCC unroll 4
  for (int i = 0; i < kRegisters; ++i) {
    Floats sums;
    if (kSums == Sums::exact)
      sums = load(tile.exact_sums + m * tile.sums.acc_stride + n + i * kWidth);
    else
      sums = exact_sums<kSums == Sums::with_zero_points>(load(acc + i * kWidth), row_zero_point, group.sum[i], term,
                                                         group.zero_point[i]);
    const Floats value = sums * (row_scale * group.scale[i]);
    store(y + i * kWidth, kBias ? value + group.bias[i] : value);
  }
}

template <Sums kSums, bool kBias>
void finish_of(const RowwiseTile& tile) {
  const bool in_place = !tile.bfloat16;
  for (std::int64_t n = 0; n < tile.sums.columns; n += kColumnsAtOnce) {
    const std::int64_t count = tile.sums.columns - n < kColumnsAtOnce ? tile.sums.columns - n : kColumnsAtOnce;
    const Group group(tile, n, count);
    const float* parameters = tile.activation == OutputActivation::prelu ? tile.parameters + n : tile.parameters;
    for (std::int64_t m = 0; m < tile.sums.rows; ++m) {
      const std::int64_t at = m * tile.y_stride + n;
      alignas(64) float buffer[kColumnsAtOnce];
      float* values = in_place && count == kColumnsAtOnce ? static_cast<float*>(tile.y) + at : buffer;
      values_of<kSums, kBias>(tile, group, m, n, values);
      activate_registers(tile.activation, parameters, values, kColumnsAtOnce);
      if (tile.bfloat16)
        kQuantize.narrow[kBfloat16](buffer, static_cast<std::size_t>(count), static_cast<std::uint16_t*>(tile.y) + at);
      else if (values == buffer)
        __builtin_memcpy(static_cast<float*>(tile.y) + at, buffer, static_cast<std::size_t>(count) * sizeof *buffer);
    }
  }
}

template <Sums kSums>
void finish_of(const RowwiseTile& tile) {
  tile.bias ? finish_of<kSums, true>(tile) : finish_of<kSums, false>(tile);
}

void finish(const RowwiseTile& tile) {
  if (tile.exact_sums) return finish_of<Sums::exact>(tile);
  tile.sums.zero_point ? finish_of<Sums::with_zero_points>(tile) : finish_of<Sums::plain>(tile);
}

void activate(OutputActivation activation, const float* parameters, float* x, std::size_t n) {
  const bool by_element = activation == OutputActivation::prelu;
  const std::size_t whole = n / kLanes * kLanes, rest = n - whole;
  activate_registers(activation, parameters, x, whole);
  if (rest == 0) return;
  float values[kLanes] = {}, slopes[kLanes] = {};
  __builtin_memcpy(values, x + whole, rest * sizeof *x);
  if (by_element) __builtin_memcpy(slopes, parameters + whole, rest * sizeof *x);
  activate_registers(activation, by_element ? slopes : parameters, values, kLanes);
  __builtin_memcpy(x + whole, values, rest * sizeof *x);
}

}  // namespace

const RowwiseKernels kRowwise = {finish, activate, walk_columns, kWalkProducts, quantize_s8};

}  // namespace octet::vector::OCTET_ISA
