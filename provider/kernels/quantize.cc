// The quantize family: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. Formulas: provider/ops/quantize.cc.
#include <string>

#include "provider/core/parallel.hpp"
#include "provider/core/quantize_loops.hpp"
#include "provider/kernels/dynamic_quantize.hpp"
#include "provider/kernels/elementwise.hpp"
#include "provider/kernels/kernels.hpp"
#include "provider/kernels/quantize_layout.hpp"

namespace octet::core {
namespace {

using vector::QuantizeKernels;

enum Input : std::size_t { kX, kScale, kZeroPoint };

constexpr std::int64_t kGrain = 1024;  // parts begin at multiples of it
// A block of converted elements stays in the first-level cache.
constexpr std::int64_t kBlock = 1024;

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

template <class Function>
void for_each_block(std::int64_t begin, std::int64_t end, const Function& function) {
  for (; begin < end; begin += kBlock) function(begin, std::min(begin + kBlock, end));
}

/// The loops' index of an integer type; 4-bit elements are 8-bit ones there.
vector::Integer integer_index(DataType type) {
  switch (type) {
    case DataType::int8:
    case DataType::int4:
      return vector::kS8;
    case DataType::uint16:
      return vector::kU16;
    case DataType::int16:
      return vector::kS16;
    case DataType::int32:
      return vector::kS32;
    default:
      return vector::kU8;
  }
}

bool is_4bit(DataType type) { return type == DataType::uint4 || type == DataType::int4; }

/// Address of element i of a tensor of whole bytes, or of an even element of 4 bits.
std::uint8_t* element(const TensorView& view, std::int64_t i) {
  return view.as<std::uint8_t>() + i * bit_width(view.dtype) / 8;
}

// --- what QuantizeLinear and DequantizeLinear share --------------------------------------------------------------

class LinearPlan : public Plan {
 protected:
  LinearPlan(Decision decision, const QuantizeKernels& loops, QuantizeLayout layout, DataType integer)
      : Plan(std::move(decision)),
        loops_(loops),
        layout_(layout),
        index_(integer_index(integer)),
        integer_bytes_(is_4bit(integer) ? 1 : bit_width(integer) / 8) {}

  struct Gathered {
    alignas(64) float scale[kBlock + QuantizeParameters::kGatherPadding];
    alignas(64) std::int32_t zero_point[kBlock + QuantizeParameters::kGatherPadding];
  };
  /// function(offset from begin, count, a parameter for each element) for blocks of elements [begin, end).
  template <class Function>
  void for_each_gathered(const QuantizeParameters& parameters, std::int64_t begin, std::int64_t end,
                         const Function& function) const {
    for_each_block(begin, end, [&](std::int64_t from, std::int64_t to) {
      Gathered gathered;
      parameters.gather(layout_, from, to, gathered.scale, gathered.zero_point);
      function(from - begin, to - from, gathered);
    });
  }

  const QuantizeKernels& loops_;
  const QuantizeLayout layout_;
  const vector::Integer index_;
  const std::int64_t integer_bytes_;  ///< of an element in the loops
};

// --- QuantizeLinear ------------------------------------------------------------------------------------------------

class QuantizePlan final : public LinearPlan {
 public:
  /// x / scale is rounded to `precision`, a floating point type of 16 or 32 bits.
  QuantizePlan(Decision decision, const QuantizeKernels& loops, const PlanRequest& request, QuantizeLayout layout,
               DataType precision)
      : LinearPlan(std::move(decision), loops, layout, request.outputs[0].dtype),
        in_half_precision_(precision != DataType::float32),
        half_(precision == DataType::bfloat16 ? vector::kBfloat16 : vector::kFloat16) {}

  void run(const Call& call, const TensorView* inputs, const TensorView* outputs) const override {
    if (!in_half_precision_) {
      const QuantizeParameters parameters(layout_, loops_, inputs[kScale], inputs[kZeroPoint]);
      return run(call, inputs[kX], outputs[0], parameters, nullptr);
    }
    QuantizeParameters divisors(layout_, loops_, inputs[kScale], TensorView());
    divisors.round_scales(loops_, half_);
    const float one = 1;
    const QuantizeParameters parameters(layout_, loops_, {&one, DataType::float32, nullptr, 0}, inputs[kZeroPoint]);
    run(call, inputs[kX], outputs[0], parameters, &divisors);
  }

 private:
  /// Where `divisors` is given, x is rounded to 16 bits, divided by them, and rounded again before it is quantized.
  void run(const Call& call, const TensorView& x, const TensorView& y, const QuantizeParameters& parameters,
           const QuantizeParameters* divisors) const {
    const bool direct = x.dtype == DataType::float32 && !is_4bit(y.dtype) && divisors == nullptr;
    for_each_part(
        call, layout_.elements, kGrain, direct ? 0.12 : 0.3, [&](std::int64_t part_begin, std::int64_t part_end) {
          if (direct)
            return quantize(parameters, part_begin, part_end, x.as<const float>() + part_begin, element(y, part_begin));
          for_each_block(part_begin, part_end, [&](std::int64_t begin, std::int64_t end) {
            quantize_block(parameters, divisors, begin, end, x, y);
          });
        });
  }

  /// Elements [begin, end): x and y point to the first of them.
  void quantize(const QuantizeParameters& parameters, std::int64_t begin, std::int64_t end, const float* x,
                std::uint8_t* y) const {
    if (layout_.has_short_segments())
      return for_each_gathered(parameters, begin, end, [&](std::int64_t at, std::int64_t count, const auto& gathered) {
        loops_.quantize_each[index_](x + at, size(count), gathered.scale, gathered.zero_point, y + at * integer_bytes_);
      });
    layout_.for_each_segment(begin, end, [&](std::int64_t from, std::int64_t to, std::int64_t first) {
      const float* source = x + (from - begin);
      std::uint8_t* target = y + (from - begin) * integer_bytes_;
      const float* scale = parameters.scale() + first;
      const std::int32_t* zero_point = parameters.zero_point() + first;
      if (layout_.each)
        loops_.quantize_each[index_](source, size(to - from), scale, zero_point, target);
      else
        loops_.quantize[index_](source, size(to - from), *scale, *zero_point, target);
    });
  }

  void quantize_block(const QuantizeParameters& parameters, const QuantizeParameters* divisors, std::int64_t begin,
                      std::int64_t end, const TensorView& x, const TensorView& y) const {
    alignas(64) float floats[kBlock];
    alignas(64) std::uint8_t bytes[kBlock];
    read(x, begin, end, floats);
    if (divisors != nullptr) divide(*divisors, begin, end, floats);
    quantize(parameters, begin, end, floats, is_4bit(y.dtype) ? bytes : element(y, begin));
    const auto count = size(end - begin);
    if (y.dtype == DataType::uint4) loops_.pack_u4(bytes, count, element(y, begin));
    if (y.dtype == DataType::int4)
      loops_.pack_s4(reinterpret_cast<const std::int8_t*>(bytes), count, element(y, begin));
  }

  void read(const TensorView& x, std::int64_t begin, std::int64_t end, float* floats) const {
    const auto count = size(end - begin);
    switch (x.dtype) {
      case DataType::float16:
        return loops_.widen[vector::kFloat16](x.as<const std::uint16_t>() + begin, count, floats);
      case DataType::bfloat16:
        return loops_.widen[vector::kBfloat16](x.as<const std::uint16_t>() + begin, count, floats);
      case DataType::int32:
        return loops_.int32_to_float(x.as<const std::int32_t>() + begin, count, floats);
      default:
        std::copy_n(x.as<const float>() + begin, count, floats);
    }
  }

  void divide(const QuantizeParameters& divisors, std::int64_t begin, std::int64_t end, float* x) const {
    round_to(loops_, half_, x, end - begin);
    layout_.for_each_segment(begin, end, [&](std::int64_t from, std::int64_t to, std::int64_t first) {
      if (layout_.each)
        loops_.divide_each(x + (from - begin), size(to - from), divisors.scale() + first);
      else
        loops_.divide(x + (from - begin), size(to - from), divisors.scale()[first]);
    });
    round_to(loops_, half_, x, end - begin);
  }

  const bool in_half_precision_;
  const vector::Half half_;
};

// --- DequantizeLinear ----------------------------------------------------------------------------------------------

class DequantizePlan final : public LinearPlan {
 public:
  DequantizePlan(Decision decision, const QuantizeKernels& loops, const PlanRequest& request, QuantizeLayout layout)
      : LinearPlan(std::move(decision), loops, layout, request.inputs[kX].dtype) {}

  void run(const Call& call, const TensorView* inputs, const TensorView* outputs) const override {
    const TensorView& x = inputs[kX];
    const TensorView& y = outputs[0];
    const QuantizeParameters parameters(layout_, loops_, inputs[kScale], inputs[kZeroPoint]);
    const bool direct = y.dtype == DataType::float32 && !is_4bit(x.dtype);
    for_each_part(
        call, layout_.elements, kGrain, direct ? 0.1 : 0.2, [&](std::int64_t part_begin, std::int64_t part_end) {
          if (direct)
            return dequantize(parameters, part_begin, part_end, element(x, part_begin), y.as<float>() + part_begin);
          for_each_block(part_begin, part_end,
                         [&](std::int64_t begin, std::int64_t end) { dequantize_block(parameters, begin, end, x, y); });
        });
  }

 private:
  /// Elements [begin, end): x and y point to the first of them.
  void dequantize(const QuantizeParameters& parameters, std::int64_t begin, std::int64_t end, const std::uint8_t* x,
                  float* y) const {
    if (layout_.has_short_segments())
      return for_each_gathered(parameters, begin, end, [&](std::int64_t at, std::int64_t count, const auto& gathered) {
        loops_.dequantize_each[index_](x + at * integer_bytes_, size(count), gathered.scale, gathered.zero_point,
                                       y + at);
      });
    layout_.for_each_segment(begin, end, [&](std::int64_t from, std::int64_t to, std::int64_t first) {
      const std::uint8_t* source = x + (from - begin) * integer_bytes_;
      float* target = y + (from - begin);
      const float* scale = parameters.scale() + first;
      const std::int32_t* zero_point = parameters.zero_point() + first;
      if (layout_.each)
        loops_.dequantize_each[index_](source, size(to - from), scale, zero_point, target);
      else
        loops_.dequantize[index_](source, size(to - from), *scale, *zero_point, target);
    });
  }

  void dequantize_block(const QuantizeParameters& parameters, std::int64_t begin, std::int64_t end, const TensorView& x,
                        const TensorView& y) const {
    alignas(64) std::uint8_t bytes[kBlock];
    alignas(64) float floats[kBlock];
    const auto count = size(end - begin);
    if (x.dtype == DataType::uint4) loops_.unpack_u4(element(x, begin), count, bytes);
    if (x.dtype == DataType::int4) loops_.unpack_s4(element(x, begin), count, reinterpret_cast<std::int8_t*>(bytes));
    float* target = y.dtype == DataType::float32 ? y.as<float>() + begin : floats;
    dequantize(parameters, begin, end, is_4bit(x.dtype) ? bytes : element(x, begin), target);
    auto* halves = y.as<std::uint16_t>() + begin;
    if (y.dtype == DataType::float16) loops_.narrow[vector::kFloat16](floats, count, halves);
    if (y.dtype == DataType::bfloat16) loops_.narrow[vector::kBfloat16](floats, count, halves);
  }
};

// --- DynamicQuantizeLinear -----------------------------------------------------------------------------------------

class DynamicQuantizePlan final : public Plan {
 public:
  DynamicQuantizePlan(Decision decision, const QuantizeKernels& loops, std::int64_t elements)
      : Plan(std::move(decision)), loops_(loops), elements_(elements) {}

  void run(const Call& call, const TensorView* inputs, const TensorView* outputs) const override {
    const DynamicParams params =
        dynamic_quantize(loops_, call, inputs[kX].as<const float>(), elements_, outputs[0].as<std::uint8_t>());
    if (outputs[1].present()) *outputs[1].as<float>() = params.scale;
    if (outputs[2].present()) *outputs[2].as<std::uint8_t>() = params.zero_point;
  }

 private:
  const QuantizeKernels& loops_;
  std::int64_t elements_;
};

// --- types ---------------------------------------------------------------------------------------------------------

bool is_float(DataType type) {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16;
}
bool is_integer(DataType type) {
  return is_8bit(type) || is_4bit(type) || type == DataType::uint16 || type == DataType::int16;
}
bool is_float_or_int32(DataType type) { return is_float(type) || type == DataType::int32; }
bool is_integer_or_int32(DataType type) { return is_integer(type) || type == DataType::int32; }

void require_computed(const NodeContext& node, const char* port, DataType type, bool computed) {
  if (!computed)
    throw Error(ErrorCode::not_implemented, node.label + ": " + port + " is " + data_type_name(type) +
                                                ", which no kernel of this version computes");
}

/// The type in which x is divided by y_scale: float32, but from opset 23 that of y_scale or of an attribute.
DataType precision_of(const NodeContext& node) {
  if (node.op.since_version < 23) return DataType::float32;
  const auto precision = attribute_or<std::int64_t>(node.node.attributes, "precision", 0);
  return precision == 0 ? node.node.inputs[kScale].dtype : static_cast<DataType>(precision);
}

void check_types(const NodeContext& node, bool quantizes) {
  const auto input = [&](std::size_t i) { return node.node.inputs[i].dtype; };
  const auto wanted = static_cast<DataType>(attribute_or<std::int64_t>(node.node.attributes, "output_dtype", 0));
  if (quantizes) {
    const DataType of_zero_point = node.has_input(kZeroPoint) ? input(kZeroPoint) : DataType::uint8;
    const DataType y = wanted != DataType::undefined ? wanted : of_zero_point;
    require_computed(node, "input 'x'", input(kX), is_float_or_int32(input(kX)));
    require_computed(node, "input 'y_scale'", input(kScale), is_float(input(kScale)));
    require_computed(node, "output 'y'", y, is_integer(y));
    require_computed(node, "attribute 'precision'", precision_of(node), is_float(precision_of(node)));
  } else {
    const DataType y = wanted != DataType::undefined ? wanted : input(kScale);
    require_computed(node, "input 'x'", input(kX), is_integer_or_int32(input(kX)));
    require_computed(node, "input 'x_scale'", input(kScale), is_float(input(kScale)));
    require_computed(node, "output 'y'", y, is_float(y));
  }
}

// --- the kernel ----------------------------------------------------------------------------------------------------

class QuantizeKernel final : public Kernel {
 public:
  explicit QuantizeKernel(const NodeContext& node)
      : dynamic_(node.op.name == "DynamicQuantizeLinear"),
        quantizes_(node.op.name == "QuantizeLinear"),
        axis_(attribute_or<std::int64_t>(node.node.attributes, "axis", 1)),
        block_size_(attribute_or<std::int64_t>(node.node.attributes, "block_size", 0)) {
    if (dynamic_) return;
    check_types(node, quantizes_);
    if (quantizes_) precision_ = precision_of(node);
  }

  std::unique_ptr<const Plan> plan(const PlanRequest& request) const override {
    Choice<QuantizeLoops> choice = dispatch<QuantizeLoops>(
        request.options, request.label,
        {{"onednn", offer_onednn_quantize}, {"vector", offer_vector_quantize}, {"eigen", offer_eigen_quantize}});
    Decision& decision = choice.decision;
    decision.implementation = choice.chosen->implementation;
    const QuantizeKernels& loops = choice.chosen->loops;
    if (dynamic_) return std::make_unique<DynamicQuantizePlan>(decision, loops, request.inputs[kX].elements());
    const QuantizeLayout layout(request.inputs[kX], request.inputs[kScale], request.inputs[kZeroPoint], axis_,
                                block_size_);
    if (quantizes_) return std::make_unique<QuantizePlan>(decision, loops, request, layout, precision_);
    return std::make_unique<DequantizePlan>(decision, loops, request, layout);
  }

 private:
  bool dynamic_;
  bool quantizes_;
  std::int64_t axis_;
  std::int64_t block_size_;
  DataType precision_ = DataType::float32;
};

}  // namespace

std::unique_ptr<const Kernel> make_quantize_kernel(const NodeContext& node) {
  return std::make_unique<QuantizeKernel>(node);
}

}  // namespace octet::core
