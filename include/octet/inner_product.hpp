// The dynamically quantized inner product: C = activation(A B + bias) with A and C in float32 or bfloat16 and B in
// float32, bfloat16 or int8, multiplied in 8 bits that are found anew in each run.
//
//   octet::InnerProductOptions options;
//   options.bias = true;  options.activation = octet::InnerProductActivation::gelu;
//   const octet::InnerProduct fc1(m, n, k, options, {weights, {}, bias});      // B constant: quantized and packed once
//   fc1.forward(a, c);                                                         // std::vector<float>, or Elements
//
// Mathematics. Every operation rounds once, to float32 where nothing else is said; ties go to even. The bits are the
// same on every instruction set, for every number of threads, and for a row whatever the other rows are.
//   A, each row i:     lowest and highest over the row and 0;  scaleA[i] = (highest - lowest) / 255;
//                      zeroA[i] = rint(0 - lowest / scaleA[i]);  uA = saturate(rint(A / scaleA[i]) + zeroA[i]), 0..255
//                      A row of one value v != 0 has scaleA = |v| and zeroA = v < 0, so that it is exact.
//   B, each column j:  scaleB[j] = max|B| / 127, or / 63 with avoid_overflow;  iB = rint(B * (1 / scaleB[j]))
//                      B of int8 is taken as it is, -128 included, with the scales given.
//   Other scales below 2^-126 become 1: all quantized values are then 0, as for a row or column of zeros.
//   Scales of a row or column that holds a NaN or an infinity, or a range beyond float32, are NaN, and so are all
//   outputs that are computed with them.
//   sum = sum over k of (uA - zeroA[i]) * iB, an exact integer for every K
//   val = f32(sum) * (scaleA[i] * scaleB[j]), then val + bias[j] where there is a bias; a product of scales beyond
//         float32 is infinite, and NaN comes of a sum of 0
//   C   = activation(val), as float32 or rounded to bfloat16
// Against the product of the unquantized numbers, the error of val before its own two roundings is at most 1.001 times
//   sum over k of  scaleA[i] |B| / 2 + scaleB[j] |A| / 2 + scaleA[i] scaleB[j] / 4     (without scaleB where B is int8)
//
// Source of the interface of DynamicQuantizedInnerProduct: the class SynetDynamicQuantizedInnerProduct16b of the Simd
// library (github.com/ermig1979/Simd); the code is Octet's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <octet/octet.hpp>

namespace octet {

/// What is applied to C, with its parameters p[0], p[1]. NaN stays NaN. Errors are against the function in real numbers
/// of the same float32 arguments, in units in the last place of the result, where it is at least 2^-126. Those of mish
/// below -87, of swish for p0 * x < -87 and of gelu below -13.19 are 0.
enum class InnerProductActivation : std::int32_t {
  identity = 0,
  relu = 1,            ///< max(x, 0)
  leaky_relu = 2,      ///< x < 0 ? p0 * x : x
  restrict_range = 3,  ///< min(max(x, p0), p1): lower, upper
  prelu = 4,           ///< x < 0 ? p[j] * x : x: one slope for each of the N columns
  elu = 5,             ///< x >= 0 ? x : p0 * (exp(x) - 1); at most 1 unit for p0 = 1
  hswish = 6,          ///< max(min(x, p0) + p0, 0) * p1 * x: shift, scale
  mish = 7,            ///< x > p0 ? x : x * (1 - 2 / ((exp(x) + 1)^2 + 1)): threshold; at most 4 units
  hard_sigmoid = 8,    ///< max(0, min(x * p0 + p1, 1)): scale, shift
  swish = 9,           ///< x / (1 + exp(-p0 * x)): slope; at most 2.5 units for p0 = 1
  gelu = 10,           ///< x * (1 + erf(x / sqrt 2)) / 2; at most 6 units
};

namespace detail {
/// The element type of a container, which these views themselves do not have.
template <class Container, class Element = std::remove_pointer_t<decltype(std::declval<Container&>().data())>>
using ElementOf = std::enable_if_t<!std::is_void_v<Element>, Element>;
}  // namespace detail

/// Elements that somebody else owns, read only: pointer, number, type. std::uint16_t stands for bfloat16.
class ConstElements {
 public:
  ConstElements() = default;
  ConstElements(const float* data, std::size_t size) : ConstElements(data, size, DataType::float32) {}
  ConstElements(const std::uint16_t* data, std::size_t size) : ConstElements(data, size, DataType::bfloat16) {}
  ConstElements(const std::int8_t* data, std::size_t size) : ConstElements(data, size, DataType::int8) {}
  /// Anything contiguous with data() and size(): std::vector, std::array, std::span.
  template <class Container, class = detail::ElementOf<const Container&>>
  ConstElements(const Container& container)  // NOLINT(google-explicit-constructor): a view, as std::span is
      : ConstElements(container.data(), container.size()) {}

  const void* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  DataType type() const noexcept { return type_; }

 private:
  ConstElements(const void* data, std::size_t size, DataType type) : data_(data), size_(size), type_(type) {}

  const void* data_ = nullptr;
  std::size_t size_ = 0;
  DataType type_ = DataType::undefined;
};

/// The same to write to: float, or std::uint16_t for bfloat16.
class Elements {
 public:
  Elements(float* data, std::size_t size) : data_(data), size_(size), type_(DataType::float32) {}
  Elements(std::uint16_t* data, std::size_t size) : data_(data), size_(size), type_(DataType::bfloat16) {}
  template <class Container, class = detail::ElementOf<Container>>
  Elements(Container&& container)  // NOLINT(google-explicit-constructor): a view, as std::span is
      : Elements(container.data(), container.size()) {}

  void* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  DataType type() const noexcept { return type_; }

 private:
  void* data_;
  std::size_t size_;
  DataType type_;
};

struct InnerProductOptions {
  DataType a_type = DataType::float32;  ///< or bfloat16
  DataType b_type = DataType::float32;  ///< constant B: or int8; else: or bfloat16
  DataType c_type = DataType::float32;  ///< or bfloat16
  bool constant_b = true;
  bool bias = false;
  InnerProductActivation activation = InnerProductActivation::identity;
  /// Narrows quantized B to [-63, 63], with which no CPU's 16-bit steps could saturate. Octet's are exact anyway: this
  /// is for those who want the numbers of a program that needs it. Ignored where B is int8.
  bool avoid_overflow = false;
  bool trans_b = false;          ///< B is N x K: its columns are neighbours in memory
  std::int32_t threads = 1;      ///< as Options::threads
  std::string backend = "auto";  ///< as Options::backend
};

/// What belongs to an inner product beside its options. Everything is copied.
struct InnerProductParameters {
  // NOLINTBEGIN(readability-redundant-member-init): without them GCC warns of those that {weight} leaves out
  ConstElements weight = {};      ///< constant B: K * N elements of b_type; else none
  ConstElements scale = {};       ///< B of int8: N scales, float32
  ConstElements bias = {};        ///< N of float32; none: zeros
  ConstElements activation = {};  ///< float32: as many as the activation has
  // NOLINTEND(readability-redundant-member-init)
};

namespace core {
class InnerProductState;
class InnerProductContext;
}  // namespace core

/// An inner product of up to m rows, ready to run. Immutable after construction: any number of threads may call one
/// object at the same time. Movable, not copyable. Errors are thrown as octet::Error.
class OCTET_API InnerProduct {
 public:
  /// Any of m, n and k may be 0. Quantizes and packs a constant B.
  InnerProduct(std::size_t m, std::size_t n, std::size_t k, const InnerProductOptions& options = {},
               const InnerProductParameters& parameters = {});
  ~InnerProduct();
  InnerProduct(InnerProduct&&) noexcept;
  InnerProduct& operator=(InnerProduct&&) noexcept;

  /// C = A B for constant B. `a` has rows * k and `c` rows * n elements, row-major, rows at most m; any alignment; they
  /// do not overlap. Where the caller lends no parallel_for, the option `threads` applies.
  void forward(ConstElements a, Elements c, const Call& call = {}) const;
  /// The same with the k * n elements of B.
  void forward(ConstElements a, ConstElements b, Elements c, const Call& call = {}) const;

  Decision decision() const;
  /// Bytes that the object holds: quantized weights, their sums and scales, bias, parameters.
  std::size_t held_bytes() const noexcept;

 private:
  const core::InnerProductState& state() const;

  std::unique_ptr<core::InnerProductState> state_;
};

/// The same with the life cycle of the Simd library's class: Init, SetParams, Forward. Movable, not copyable.
///
/// One object is for one thread at a time, except that any number of threads may call Forward() with buffers of their
/// own at the same time, while none calls anything else that is not const.
///
/// Init() does not throw: where it refuses its arguments there is no context, and Enable() is false. SetParams() and
/// Forward() throw octet::Error where they are used wrongly, and then change nothing but the contents of C.
class OCTET_API DynamicQuantizedInnerProduct {
  // NOLINTBEGIN(readability-identifier-naming): the names of the class that it stands for
 public:
  DynamicQuantizedInnerProduct();
  ~DynamicQuantizedInnerProduct();
  DynamicQuantizedInnerProduct(DynamicQuantizedInnerProduct&&) noexcept;
  DynamicQuantizedInnerProduct& operator=(DynamicQuantizedInnerProduct&&) noexcept;

  /// A is M x K, B is K x N, C is M x N. typeA, typeC: float32 or bfloat16. typeB: float32 or int8 where B is constant,
  /// float32 or bfloat16 where not. With the arguments of the last Init nothing happens; with others a new context
  /// replaces the old one, and its parameters are gone.
  void Init(std::size_t M, std::size_t N, std::size_t K, DataType typeA, DataType typeB, DataType typeC, bool constB,
            bool bias, InnerProductActivation activation, bool avoidOverflow);

  /// Whether there is a context. Refusal() tells why Init() made none; "" where it did, or was not called.
  bool Enable() const noexcept;
  const std::string& Refusal() const noexcept;

  /// Bytes that the context holds: quantized weights, their sums and scales, bias, parameters, and after a Forward()
  /// without buf the internal buffer. 0 without a context.
  std::size_t InternalBufferSize() const noexcept;

  /// Bytes of `buf` that Forward() uses, for any alignment of it. 0 without a context.
  std::size_t ExternalBufferSize() const noexcept;

  /// The implementation that runs, e.g. "vector product:avx512_core_vnni". nullptr without a context. Valid until the
  /// next call of Info(), Init() or Clear().
  const char* Info() const;

  /// Constant B: required before Forward(). `weight` has K * N elements of typeB; `scale` N where typeB is int8, and is
  /// else ignored. B not constant: optional; weight and scale are ignored. `bias` has N elements; nullptr means zeros;
  /// ignored without Init's bias. `params` are the activation's. Everything is copied. May be called again.
  void SetParams(const void* weight, const float* scale, const float* bias, const float* params);

  /// C = activation(A B + bias). B may be nullptr where it is constant, and is then ignored. `buf`: at least
  /// ExternalBufferSize() bytes; nullptr takes the internal buffer, and is then not for several threads at a time.
  /// Pointers may have any alignment; C does not overlap anything else. Without SetParams the bias is zero; an
  /// activation that has parameters needs it.
  void Forward(const void* A, const void* B, void* buf, void* C);

  /// Releases the context.
  void Clear() noexcept;
  // NOLINTEND(readability-identifier-naming)

 private:
  core::InnerProductContext& context() const;

  std::unique_ptr<core::InnerProductContext> context_;
  std::string refusal_;
};

}  // namespace octet
