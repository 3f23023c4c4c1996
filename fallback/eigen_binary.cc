// Sums and products of two 8-bit tensors by Eigen: the formulas as array expressions, a row at a time.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "provider/core/elementwise_loops.hpp"

namespace octet::core {
namespace {

using vector::AddParameters;
using vector::BinaryForm;
using vector::BinaryRows;
using vector::MultiplyParameters;

template <class T>
using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
/// An operand of a row: its elements, or one of them for all (a stride of 0).
template <class T>
using Operand = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>, Eigen::Unaligned, Eigen::InnerStride<>>;

/// function(a, b, y) for each row.
template <class T, class Y, class Function>
void for_each_row(const BinaryRows& rows, BinaryForm form, const Function& function) {
  const auto n = static_cast<Eigen::Index>(rows.n);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const Operand<T> a(static_cast<const T*>(rows.a) + i * rows.a_stride, n,
                       Eigen::InnerStride<>(form == vector::kScalarA ? 0 : 1));
    const Operand<T> b(static_cast<const T*>(rows.b) + i * rows.b_stride, n,
                       Eigen::InnerStride<>(form == vector::kScalarB ? 0 : 1));
    function(a, b, Row<Y>(static_cast<Y*>(rows.y) + i * n, n));
  }
}

/// Clamped as a float, so that the conversion to an integer is defined.
template <class T>
T saturate(float value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return Limits::lowest();
  return static_cast<T>(std::nearbyint(std::clamp<float>(value, Limits::lowest(), Limits::max())));
}

template <class T, BinaryForm kForm>
void add(const AddParameters& p, const BinaryRows& rows) {
  for_each_row<T, T>(rows, kForm, [&](const auto& a, const auto& b, auto y) {
    y = a.binaryExpr(b, [=](T a_element, T b_element) {
      return saturate<T>(std::fma(static_cast<float>(a_element), p.a_factor,
                                  std::fma(static_cast<float>(b_element), p.b_factor, p.offset)));
    });
  });
}

template <class T, BinaryForm kForm>
void multiply(const MultiplyParameters& p, const BinaryRows& rows) {
  for_each_row<T, T>(rows, kForm, [&](const auto& a, const auto& b, auto y) {
    const auto product =
        (a.template cast<std::int32_t>() - p.a_zero_point) * (b.template cast<std::int32_t>() - p.b_zero_point);
    y = (product.template cast<float>() * p.factor + p.y_zero_point).unaryExpr([](float value) {
      return saturate<T>(value);
    });
  });
}

template <class T, BinaryForm kForm>
void multiply_integer(std::int32_t a_zero_point, std::int32_t b_zero_point, const BinaryRows& rows) {
  for_each_row<T, std::int32_t>(rows, kForm, [&](const auto& a, const auto& b, auto y) {
    y = (a.template cast<std::int32_t>() - a_zero_point) * (b.template cast<std::int32_t>() - b_zero_point);
  });
}

using std::int8_t, std::uint8_t;
using vector::kScalarA, vector::kScalarB, vector::kVectors;

constexpr vector::BinaryKernels kLoops = {
    {{add<uint8_t, kVectors>, add<uint8_t, kScalarA>, add<uint8_t, kScalarB>},
     {add<int8_t, kVectors>, add<int8_t, kScalarA>, add<int8_t, kScalarB>}},
    {{multiply<uint8_t, kVectors>, multiply<uint8_t, kScalarA>, multiply<uint8_t, kScalarB>},
     {multiply<int8_t, kVectors>, multiply<int8_t, kScalarA>, multiply<int8_t, kScalarB>}},
    {{multiply_integer<uint8_t, kVectors>, multiply_integer<uint8_t, kScalarA>, multiply_integer<uint8_t, kScalarB>},
     {multiply_integer<int8_t, kVectors>, multiply_integer<int8_t, kScalarA>, multiply_integer<int8_t, kScalarB>}},
};

}  // namespace

Offer<BinaryLoops> offer_eigen_binary() {
  return std::make_unique<BinaryLoops>(BinaryLoops{kLoops, nullptr, "Eigen::Array"});
}

}  // namespace octet::core
