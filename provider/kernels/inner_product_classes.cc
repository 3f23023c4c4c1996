// The public C++ classes of the inner product, thin over InnerProductState.
#include <octet/inner_product.hpp>

#include <cstdlib>
#include <optional>

#include "provider/core/guarded.hpp"
#include "provider/kernels/inner_product.hpp"

namespace octet {

using core::guarded;

namespace {

std::int64_t extent(std::size_t value) {
  constexpr auto kMost = static_cast<std::size_t>(INT64_MAX);
  return static_cast<std::int64_t>(value < kMost ? value : kMost);
}

core::InnerProductSpec spec_of(std::size_t m, std::size_t n, std::size_t k, const InnerProductOptions& options) {
  return {extent(m), extent(n), extent(k), options};
}

/// One of the arrays given to an InnerProduct.
class Argument {
 public:
  Argument(const core::InnerProductState& state, const char* name) : state_(state), name_(name) {}

  /// Its data; throws where type or size differ.
  template <class Array>
  auto checked(const Array& array, DataType type, std::int64_t size) const {
    if (array.size() > 0 && array.type() != type)
      fail(std::string("has elements of ") + data_type_name(array.type()) + ", expected " + data_type_name(type));
    if (extent(array.size()) != size)
      fail("has " + std::to_string(array.size()) + " elements, expected " + std::to_string(size));
    return array.data();
  }
  const float* checked_floats(const ConstElements& array, std::int64_t size) const {
    return static_cast<const float*>(checked(array, DataType::float32, size));
  }

 private:
  [[noreturn]] void fail(const std::string& text) const {
    throw Error(ErrorCode::invalid_argument, state_.label() + ": " + name_ + " " + text);
  }

  const core::InnerProductState& state_;
  const char* name_;
};

void set_parameters(core::InnerProductState& state, const InnerProductParameters& given) {
  const auto& [m, n, k, options] = state.spec();
  const bool has_scale = options.constant_b && options.b_type == DataType::int8;
  const std::int64_t weights = options.constant_b ? k * n : 0;
  const std::int64_t biases = options.bias && given.bias.size() > 0 ? n : 0;
  const void* weight = Argument(state, "weight").checked(given.weight, options.b_type, weights);
  const float* scale = Argument(state, "scale").checked_floats(given.scale, has_scale ? n : 0);
  const float* bias = Argument(state, "bias").checked_floats(given.bias, biases);
  const float* parameters =
      Argument(state, "activation").checked_floats(given.activation, core::parameter_count(options.activation, n));
  state.set_parameters(weight, scale, biases > 0 ? bias : nullptr, parameters);
}

/// Rows of C, by which the size of A is checked then.
std::int64_t rows_of(const core::InnerProductSpec& spec, const ConstElements& a, const Elements& c) {
  if (spec.n > 0) return extent(c.size()) / spec.n;
  return spec.k > 0 ? extent(a.size()) / spec.k : 0;
}

}  // namespace

InnerProduct::InnerProduct(std::size_t m, std::size_t n, std::size_t k, const InnerProductOptions& options,
                           const InnerProductParameters& parameters)
    : state_(guarded([&] {
        auto state = std::make_unique<core::InnerProductState>(spec_of(m, n, k, options));
        set_parameters(*state, parameters);
        return state;
      })) {}
InnerProduct::~InnerProduct() = default;
InnerProduct::InnerProduct(InnerProduct&&) noexcept = default;
InnerProduct& InnerProduct::operator=(InnerProduct&&) noexcept = default;

void InnerProduct::forward(ConstElements a, Elements c, const Call& call) const { forward(a, {}, c, call); }

void InnerProduct::forward(ConstElements a, ConstElements b, Elements c, const Call& call) const {
  const core::InnerProductState& product = state();
  const auto& [m, n, k, options] = product.spec();
  const std::int64_t rows = rows_of(product.spec(), a, c);
  if (rows > m)
    throw Error(ErrorCode::invalid_argument,
                product.label() + ": C has " + std::to_string(rows) + " rows, expected at most m");
  const void* a_data = Argument(product, "A").checked(a, options.a_type, rows * k);
  const void* b_data = Argument(product, "B").checked(b, options.b_type, options.constant_b ? 0 : k * n);
  void* c_data = Argument(product, "C").checked(c, options.c_type, rows * n);
  const Call lent = core::with_own_threads(call, options.threads);
  guarded([&] { product.forward(rows, a_data, b_data, nullptr, c_data, lent); });
}

Decision InnerProduct::decision() const { return state().decision(); }
std::size_t InnerProduct::held_bytes() const noexcept { return state_ ? state_->held_bytes() : 0; }

const core::InnerProductState& InnerProduct::state() const {
  if (state_ == nullptr) throw Error(ErrorCode::invalid_argument, "inner product: it was moved to another object");
  return *state_;
}

DynamicQuantizedInnerProduct::DynamicQuantizedInnerProduct() = default;
DynamicQuantizedInnerProduct::~DynamicQuantizedInnerProduct() = default;
DynamicQuantizedInnerProduct::DynamicQuantizedInnerProduct(DynamicQuantizedInnerProduct&&) noexcept = default;
DynamicQuantizedInnerProduct& DynamicQuantizedInnerProduct::operator=(DynamicQuantizedInnerProduct&&) noexcept =
    default;

void DynamicQuantizedInnerProduct::Init(std::size_t M, std::size_t N, std::size_t K, DataType typeA, DataType typeB,
                                        DataType typeC, bool constB, bool bias, InnerProductActivation activation,
                                        bool avoidOverflow) {
  try {
    InnerProductOptions options;
    options.a_type = typeA;
    options.b_type = typeB;
    options.c_type = typeC;
    options.constant_b = constB;
    options.bias = bias;
    options.activation = activation;
    options.avoid_overflow = avoidOverflow;
    const core::InnerProductSpec spec = spec_of(M, N, K, options);
    if (context_ && context_->spec() == spec) return;
    context_.reset();
    refusal_.clear();
    context_ = guarded([&] { return std::make_unique<core::InnerProductContext>(spec); });
  } catch (const std::exception& error) {
    refusal_ = error.what();
  }
}

bool DynamicQuantizedInnerProduct::Enable() const noexcept { return context_ != nullptr; }
const std::string& DynamicQuantizedInnerProduct::Refusal() const noexcept { return refusal_; }

std::size_t DynamicQuantizedInnerProduct::InternalBufferSize() const noexcept {
  return context_ ? context_->internal_bytes() : 0;
}
std::size_t DynamicQuantizedInnerProduct::ExternalBufferSize() const noexcept {
  return context_ ? context_->external_bytes() : 0;
}
const char* DynamicQuantizedInnerProduct::Info() const { return context_ ? context_->info() : nullptr; }

void DynamicQuantizedInnerProduct::SetParams(const void* weight, const float* scale, const float* bias,
                                             const float* params) {
  guarded([&] { context().set_parameters(weight, scale, bias, params); });
}

void DynamicQuantizedInnerProduct::Forward(const void* A, const void* B, void* buf, void* C) {
  guarded([&] { context().forward(context().spec().m, A, B, buf, C); });
}

void DynamicQuantizedInnerProduct::Clear() noexcept {
  context_.reset();
  refusal_.clear();
}

core::InnerProductContext& DynamicQuantizedInnerProduct::context() const {
  if (context_ == nullptr)
    throw Error(ErrorCode::invalid_argument,
                "inner product: there is no context" + (refusal_.empty() ? ": Init() comes first" : ", " + refusal_));
  return *context_;
}

}  // namespace octet
