// The inner product's numbers, parameters and sizes; inner_product_run.cc computes.
#include "provider/kernels/inner_product.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "primitives/vector/kernels.hpp"
#include "provider/core/options.hpp"
#include "provider/core/scratch.hpp"
#include "provider/kernels/choose_product.hpp"

namespace octet::core {
namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;
constexpr std::int64_t kMostElements = std::int64_t{1} << 58;

const char* name_of(InnerProductActivation activation) {
  constexpr const char* kNames[] = {"identity", "relu", "leaky_relu",   "restrict_range", "prelu", "elu",
                                    "hswish",   "mish", "hard_sigmoid", "swish",          "gelu"};
  return kNames[static_cast<std::int32_t>(activation)];
}

bool is_half_or_float(DataType type) { return type == DataType::float32 || type == DataType::bfloat16; }

auto values_of(const InnerProductSpec& spec) {
  const InnerProductOptions& o = spec.options;
  return std::make_tuple(spec.m, spec.n, spec.k, o.a_type, o.b_type, o.c_type, o.constant_b, o.bias, o.activation,
                         o.avoid_overflow, o.trans_b, o.threads, std::string_view(o.backend));
}

std::string label_of(const InnerProductSpec& spec) {
  return "inner product m=" + std::to_string(spec.m) + " n=" + std::to_string(spec.n) + " k=" + std::to_string(spec.k);
}

}  // namespace

bool operator==(const InnerProductSpec& left, const InnerProductSpec& right) {
  return values_of(left) == values_of(right);
}

std::int64_t parameter_count(InnerProductActivation activation, std::int64_t n) {
  switch (activation) {
    case InnerProductActivation::identity:
    case InnerProductActivation::relu:
    case InnerProductActivation::gelu:
      return 0;
    case InnerProductActivation::restrict_range:
    case InnerProductActivation::hswish:
    case InnerProductActivation::hard_sigmoid:
      return 2;
    case InnerProductActivation::prelu:
      return n;
    default:
      return 1;
  }
}

void InnerProductState::fail(const std::string& text) const {
  throw Error(ErrorCode::invalid_argument, label_ + ": " + text);
}

InnerProductState::InnerProductState(const InnerProductSpec& spec) : spec_(spec), label_(label_of(spec)), pieces_(0) {
  check();
  pieces_ = DepthPieces(spec.k);
  choose_products();
  if (spec.options.bias) bias_.resize(static_cast<std::size_t>(spec.n));
}

void InnerProductState::check() const {
  const InnerProductOptions& options = spec_.options;
  for (const std::int64_t extent : {spec_.m, spec_.n, spec_.k})
    if (extent < 0 || extent > kMostExtent) fail("an extent is negative or beyond 2^40");
  const auto product_fits = [](std::int64_t x, std::int64_t y) { return y == 0 || x <= kMostElements / y; };
  if (!product_fits(spec_.m, spec_.k) || !product_fits(spec_.k, spec_.n) || !product_fits(spec_.m, spec_.n))
    fail("a matrix would be larger than any memory");
  const auto check_type = [&](const char* name, DataType type, bool fits, const char* expected) {
    if (fits) return;
    const std::string given = data_type_name(type);
    const bool known = type == DataType::undefined || given != data_type_name(DataType::undefined);
    fail(std::string("type of ") + name + " is " + (known ? given : std::to_string(static_cast<std::int32_t>(type))) +
         ", expected " + expected);
  };
  check_type("A", options.a_type, is_half_or_float(options.a_type), "float or bfloat16");
  check_type("C", options.c_type, is_half_or_float(options.c_type), "float or bfloat16");
  if (options.constant_b)
    check_type("constant B", options.b_type, options.b_type == DataType::float32 || options.b_type == DataType::int8,
               "float or int8");
  else
    check_type("B, which is not constant,", options.b_type, is_half_or_float(options.b_type), "float or bfloat16");
  const auto activation = static_cast<std::int32_t>(options.activation);
  if (activation < 0 || activation > static_cast<std::int32_t>(InnerProductActivation::gelu))
    fail("activation is " + std::to_string(activation) + ", expected 0 (identity) to 10 (gelu)");
  check_options(label_, {options.threads, options.backend});
}

// Weights that come with the run take one block of columns at a time: quantized, it is still in the cache when rows
// meet it.
void InnerProductState::choose_products() {
  if (spec_.m == 0 || spec_.n == 0 || spec_.k == 0) {
    decision_ = {"none", spec_.m == 0 || spec_.n == 0 ? "empty output" : "sums over nothing", {}};
    return;
  }
  Options options;
  options.backend = spec_.options.backend;
  auto first = choose_product(options, label_, {spec_.m, spec_.n, pieces_.length(0)});
  decision_ = std::move(first.decision);
  products_.push_back(std::move(first.chosen));
  const std::int64_t last = pieces_.count() - 1;
  if (last > 0) products_.push_back(choose_product(options, label_, {spec_.m, spec_.n, pieces_.length(last)}).chosen);
  row_block_ = products_[0]->row_block();
  column_block_ = vector::kColumnBlock;
  if (spec_.options.constant_b && pieces_.count() == 1)
    column_block_ = std::min(products_[0]->column_block(), vector::padded_n(spec_.n));
}

void InnerProductState::set_parameters(const void* weight, const float* scale, const float* bias,
                                       const float* parameters) {
  const InnerProductOptions& options = spec_.options;
  const bool has_weight = options.constant_b && spec_.n > 0;
  const std::int64_t count = parameter_count(options.activation, spec_.n);
  if (has_weight && spec_.k > 0 && weight == nullptr) fail("B is constant, but its weight is null");
  if (has_weight && options.b_type == DataType::int8 && scale == nullptr) fail("B is int8, but its scale is null");
  if (count > 0 && parameters == nullptr)
    fail(std::string("activation ") + name_of(options.activation) + " has parameters, but they are null");

  AlignedArray<std::uint8_t> memory;
  std::size_t bytes = 0;
  if (has_weight) {
    const std::int64_t capacity = vector::padded_n(spec_.n);
    bytes = (QuantizedColumns::bytes(pieces_, capacity) + 63) / 64 * 64;
    memory = aligned_array<std::uint8_t>(bytes);
    quantize_weight(weight, scale, QuantizedColumns(pieces_, capacity, memory.get()));
  }
  std::vector<float> new_bias = bias_, new_parameters = padded_copy(parameters, count);
  if (options.bias && bias != nullptr)
    std::memcpy(new_bias.data(), bias, new_bias.size() * sizeof *bias);
  else
    std::fill(new_bias.begin(), new_bias.end(), 0.0F);
  weights_memory_ = std::move(memory);
  weights_bytes_ = HeldBytes(bytes);
  bias_ = std::move(new_bias);
  parameters_ = std::move(new_parameters);
  has_parameters_ = true;
}

/// As the loops read it: 64 at a time, from any column on.
std::vector<float> InnerProductState::padded_copy(const float* values, std::int64_t count) const {
  std::vector<float> copy(static_cast<std::size_t>(count > 0 ? count + vector::kColumnBlock : 0));
  if (count > 0) std::memcpy(copy.data(), values, static_cast<std::size_t>(count) * sizeof *values);
  return copy;
}

void InnerProductState::quantize_weight(const void* weight, const float* scale, const QuantizedColumns& columns) const {
  const InnerProductOptions& options = spec_.options;
  const bool transposed = options.trans_b;
  if (options.b_type == DataType::int8) {
    std::vector<float> scales(static_cast<std::size_t>(spec_.n));  // the caller's may have any alignment
    std::memcpy(scales.data(), scale, scales.size() * sizeof *scale);
    columns.pack(static_cast<const std::int8_t*>(weight), transposed ? 1 : spec_.n, transposed ? spec_.k : 1, spec_.n,
                 scales.data());
  } else {
    ColumnQuantizer quantizer({weight, false, transposed, spec_.k, spec_.n}, pieces_, 0, spec_.n, levels_of(options));
    for (std::int64_t n = 0; n < spec_.n; n += vector::kColumnBlock)
      quantizer.quantize(std::min(vector::kColumnBlock, spec_.n - n), columns, n);
  }
}

std::size_t InnerProductState::held_bytes() const noexcept {
  return weights_bytes_.bytes() + (bias_.size() + parameters_.size()) * sizeof(float);
}

void InnerProductContext::set_option(const std::string& key, std::int64_t value) {
  const auto fail = [&](const std::string& text) {
    throw Error(ErrorCode::invalid_argument, state_.label() + ": option '" + key + "' " + text);
  };
  InnerProductSpec changed = spec();
  if (key == "trans_b") {
    if (value != 0 && value != 1) fail("is " + std::to_string(value) + ", expected 0 or 1");
    changed.options.trans_b = value == 1;
  } else if (key == "threads") {
    if (value < 1 || value > kMostThreads)
      fail("is " + std::to_string(value) + ", expected 1 to " + std::to_string(kMostThreads));
    changed.options.threads = static_cast<std::int32_t>(value);
  } else {
    fail("is not known, expected trans_b or threads");
  }
  if (state_.has_parameters()) fail("comes after the parameters, which are made for the options before");
  state_ = InnerProductState(changed);
}

const char* InnerProductContext::info() {
  info_ = state_.decision().backend + " " + state_.decision().implementation;
  return info_.c_str();
}

void InnerProductContext::forward(std::int64_t rows, const void* a, const void* b, void* workspace, void* c) {
  state_.check_forward(rows, a, b, c);
  if (workspace == nullptr) {
    workspace_.resize(external_bytes());
    workspace = workspace_.data();
  }
  state_.forward(rows, a, b, workspace, c, own_threads());
}

}  // namespace octet::core
