// Tables, copies and the functions of the unary family by Eigen.
#include <Eigen/Core>

#include "provider/core/elementwise_loops.hpp"
#include "provider/core/quantize_loops.hpp"

namespace octet::core {
namespace {

using vector::ByteRows;

/// Rows, x_stride or y_stride apart.
template <class Byte>
using Rows = Eigen::Map<Eigen::Array<std::remove_const_t<Byte>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                        Eigen::Unaligned, Eigen::OuterStride<>>;
template <class Byte>
using ConstRows = Eigen::Map<const Eigen::Array<Byte, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                             Eigen::Unaligned, Eigen::OuterStride<>>;

ConstRows<std::uint8_t> source(const ByteRows& rows) {
  return {rows.x, rows.rows, static_cast<Eigen::Index>(rows.n), Eigen::OuterStride<>(rows.x_stride)};
}
Rows<std::uint8_t> target(const ByteRows& rows) {
  return {rows.y, rows.rows, static_cast<Eigen::Index>(rows.n), Eigen::OuterStride<>(rows.y_stride)};
}

void lookup(const std::uint8_t* table, const ByteRows& rows) {
  target(rows) = source(rows).unaryExpr([=](std::uint8_t x) { return table[x]; });
}

void copy(const ByteRows& rows) { target(rows) = source(rows); }

using Floats = Eigen::Map<Eigen::ArrayXf>;
using ConstFloats = Eigen::Map<const Eigen::ArrayXf>;

void leaky_relu(const float* x, std::size_t n, float alpha, float* y) {
  const auto count = static_cast<Eigen::Index>(n);
  const ConstFloats values(x, count);
  Floats(y, count) = (values >= 0.0F).select(values, alpha * values);
}

void sigmoid(const float* x, std::size_t n, float* y) {
  const auto count = static_cast<Eigen::Index>(n);
  Floats(y, count) = (1.0 + (-ConstFloats(x, count).cast<double>()).exp()).inverse().cast<float>();
}

constexpr vector::UnaryKernels kLoops = {lookup, copy, leaky_relu, sigmoid};

}  // namespace

Offer<UnaryLoops> offer_eigen_unary() {
  const auto quantize = offer_eigen_quantize();
  return std::make_unique<UnaryLoops>(
      UnaryLoops{kLoops, std::get<std::unique_ptr<QuantizeLoops>>(quantize)->loops, "Eigen::Array"});
}

}  // namespace octet::core
