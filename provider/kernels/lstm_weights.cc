#include "provider/kernels/lstm_weights.hpp"

#include <algorithm>
#include <cstring>

#include "primitives/vector/kernels.hpp"
#include "provider/core/scratch.hpp"

namespace octet::core {
namespace {

using vector::kGates;
using vector::kUnitBlock;

/// Rows of 4 * hidden bytes (the gates i, o, f, c one after the other) to rows of gate columns. What pads them stays.
void interleave(const std::uint8_t* weights, std::int64_t rows, std::int64_t hidden, std::uint8_t* columns) {
  for (std::int64_t i = 0; i < rows; ++i, columns += kGates * vector::padded_units(hidden))
    for (std::int64_t gate = 0; gate < kGates; ++gate, weights += hidden)
      for (std::int64_t unit = 0; unit < hidden; unit += kUnitBlock)
        std::copy_n(weights + unit, std::min(kUnitBlock, hidden - unit), columns + kGates * unit + gate * kUnitBlock);
}

/// The byte that is 0 once it is packed.
std::uint8_t padding_of(DataType type) { return type == DataType::uint8 ? 0x80 : 0; }

/// Elements of a scale or zero point that belong to one direction: one, or one for each gate column.
std::int64_t per_direction(const TensorView& view, const LstmShape& shape) {
  return view.rank == 1 ? 1 : kGates * shape.hidden;
}

/// Lays arrays of one direction's gate columns one after the other.
class Writer {
 public:
  Writer(const LstmShape& shape, std::uint8_t* memory) : shape_(shape), memory_(memory) {}

  /// value(i) for element i of gates * hidden, 0 in all columns that these leave out.
  template <class T, class Value>
  const T* write(std::int64_t gates, const Value& value) {
    auto* columns = reinterpret_cast<T*>(memory_);
    memory_ += shape_.columns() * static_cast<std::int64_t>(sizeof(T));
    std::fill_n(columns, shape_.columns(), T{});
    for (std::int64_t gate = 0; gate < gates; ++gate)
      for (std::int64_t unit = 0; unit < shape_.hidden; ++unit)
        columns[unit / kUnitBlock * kUnitBlock * kGates + gate * kUnitBlock + unit % kUnitBlock] =
            value(gate * shape_.hidden + unit);
    return columns;
  }

  const float* scale(const TensorView& view, std::int64_t direction) {
    const std::int64_t count = per_direction(view, shape_);
    const auto* values = view.as<const float>() + direction * count;
    return write<float>(kGates, [=](std::int64_t i) { return values[count == 1 ? 0 : i]; });
  }

  /// Zero points of weights whose top bit is flipped where they are unsigned; null where all are 0.
  const std::int32_t* zero_point(const TensorView& view, std::int64_t direction) {
    const std::int64_t count = per_direction(view, shape_);
    const auto* bytes = view.as<const std::uint8_t>() + direction * count;
    const std::uint8_t zero = padding_of(view.dtype);
    if (std::all_of(bytes, bytes + count, [=](std::uint8_t value) { return value == zero; })) return nullptr;
    return write<std::int32_t>(kGates, [=](std::int64_t i) {
      return std::int32_t{static_cast<std::int8_t>(bytes[count == 1 ? 0 : i] ^ zero)};
    });
  }

  const float* bias(const TensorView& view, std::int64_t direction) {
    if (!view.present()) return write<float>(0, [](std::int64_t) { return 0.0F; });
    const std::int64_t count = kGates * shape_.hidden;
    const auto* values = view.as<const float>() + direction * 2 * count;
    return write<float>(kGates, [=](std::int64_t i) { return values[i] + values[count + i]; });
  }

  const float* peephole(const TensorView& view, std::int64_t direction) {
    if (!view.present()) return nullptr;
    const auto* values = view.as<const float>() + direction * 3 * shape_.hidden;
    return write<float>(3, [=](std::int64_t i) { return values[i]; });
  }

 private:
  LstmShape shape_;
  std::uint8_t* memory_;
};

constexpr std::size_t kArrays = 6;

std::size_t direction_bytes(const LstmShape& shape) { return kArrays * static_cast<std::size_t>(shape.columns()) * 4; }

}  // namespace

std::shared_ptr<const PackedWeights> pack_gate_weights(const TensorView& weights, std::int64_t k, std::int64_t hidden) {
  const std::int64_t directions = weights.dims[0], width = kGates * vector::padded_units(hidden);
  std::vector<std::uint8_t> columns(static_cast<std::size_t>(directions * k * width), padding_of(weights.dtype));
  interleave(weights.as<const std::uint8_t>(), directions * k, hidden, columns.data());
  const std::int64_t dims[] = {directions, k, width};
  return pack_weights(TensorView(columns.data(), weights.dtype, dims, 3), directions, k, width, {width, 1});
}

std::size_t GateWeightsMemory::sums_offset() const noexcept {
  return static_cast<std::size_t>(vector::padded_k(k_) * shape_.columns());
}

void GateWeightsMemory::pack(const TensorView& weights, std::int64_t direction, std::uint8_t* memory) const {
  const std::int64_t width = shape_.columns();
  const Scratch columns(static_cast<std::size_t>(k_ * width));
  std::fill_n(columns.bytes(), k_ * width, padding_of(weights.dtype));
  const auto* source = weights.as<const std::uint8_t>() + direction * k_ * kGates * shape_.hidden;
  interleave(source, k_, shape_.hidden, columns.bytes());
  vector::kernels().matmul.pack(columns.bytes(), width, 1, k_, width, padding_of(weights.dtype),
                                reinterpret_cast<std::int8_t*>(memory),
                                reinterpret_cast<std::int32_t*>(memory + sums_offset()));
}

const std::int8_t* GateWeightsMemory::packed(const std::uint8_t* memory) const noexcept {
  return reinterpret_cast<const std::int8_t*>(memory);
}

const std::int32_t* GateWeightsMemory::column_sums(const std::uint8_t* memory) const noexcept {
  return reinterpret_cast<const std::int32_t*>(memory + sums_offset());
}

std::size_t LstmParameterMemory::bytes(const LstmShape& shape) noexcept {
  return static_cast<std::size_t>(shape.directions) * direction_bytes(shape);
}

void LstmParameterMemory::fill(const TensorView* inputs, const LstmShape& shape, std::uint8_t* memory,
                               LstmParameters* directions) {
  for (std::int64_t d = 0; d < shape.directions; ++d) {
    Writer writer(shape, memory + static_cast<std::size_t>(d) * direction_bytes(shape));
    directions[d].w_scale = writer.scale(inputs[LstmPorts::w_scale], d);
    directions[d].r_scale = writer.scale(inputs[LstmPorts::r_scale], d);
    directions[d].bias = writer.bias(inputs[LstmPorts::b], d);
    directions[d].peephole = writer.peephole(inputs[LstmPorts::p], d);
    directions[d].w_zero_point = writer.zero_point(inputs[LstmPorts::w_zero_point], d);
    directions[d].r_zero_point = writer.zero_point(inputs[LstmPorts::r_zero_point], d);
  }
}

}  // namespace octet::core
