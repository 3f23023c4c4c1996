#include "provider/kernels/lstm_weights.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "primitives/vector/kernels.hpp"
#include "provider/core/scratch.hpp"
#include "provider/kernels/shared_weights.hpp"
#include "provider/ops/lstm_weights.hpp"

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

Bfloat16GateWeights::Bfloat16GateWeights(const TensorView& weights, const TensorView& zero_point, std::int64_t k,
                                         std::int64_t hidden)
    : directions_(weights.dims[0]),
      k_(k),
      hidden_(hidden),
      each_(kGates * vector::padded_units(hidden) * vector::padded_pairs(k)),
      packed_(aligned_array<std::uint16_t>(static_cast<std::size_t>(directions_ * each_))) {
  std::memset(packed_.get(), 0, bytes());
  for (std::int64_t d = 0; d < directions_; ++d) pack(weights, zero_point, d, packed_.get() + d * each_);
  hash_ = std::hash<std::string_view>()({reinterpret_cast<const char*>(packed_.get()), bytes()});
}

// A float32 of an integer up to 255 has nothing in its lower half.
void Bfloat16GateWeights::pack(const TensorView& weights, const TensorView& zero_point, std::int64_t direction,
                               std::uint16_t* packed) {
  using vector::kColumnBlock;
  const std::int64_t width = kGates * hidden_, zero_points = zero_point.rank == 1 ? 1 : width;
  const auto* values = weights.as<const std::uint8_t>() + direction * k_ * width;
  const auto* zeros = zero_point.as<const std::uint8_t>() + direction * zero_points;
  const auto integer = [type = weights.dtype](std::uint8_t byte) { return integer_of(type, byte); };
  for (std::int64_t n = 0; n < width; ++n) {
    const std::int64_t gate = n / hidden_, unit = n % hidden_;
    const std::int64_t column = unit / kUnitBlock * kColumnBlock + gate * kUnitBlock + unit % kUnitBlock;
    std::uint16_t* target =
        packed + column / kColumnBlock * kColumnBlock * vector::padded_pairs(k_) + column % kColumnBlock * 2;
    const std::int32_t zero = integer(zeros[zero_points == 1 ? 0 : n]);
    for (std::int64_t i = 0; i < k_; ++i) {
      const auto value = static_cast<float>(integer(values[i * width + n]) - zero);
      std::uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      target[i / 2 * 2 * kColumnBlock + i % 2] = static_cast<std::uint16_t>(bits >> 16);
    }
  }
}

bool Bfloat16GateWeights::operator==(const Bfloat16GateWeights& other) const noexcept {
  return directions_ == other.directions_ && k_ == other.k_ && hidden_ == other.hidden_ &&
         std::memcmp(packed_.get(), other.packed_.get(), bytes()) == 0;
}

std::shared_ptr<const Bfloat16GateWeights> pack_bfloat16_gate_weights(const TensorView& weights,
                                                                      const TensorView& zero_point, std::int64_t k,
                                                                      std::int64_t hidden) {
  return shared(std::make_shared<const Bfloat16GateWeights>(weights, zero_point, k, hidden));
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
