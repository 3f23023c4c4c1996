// Sums and means of bytes by Eigen.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "provider/core/elementwise_loops.hpp"

namespace octet::core {
namespace {

template <class T>
using Matrix = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned,
                          Eigen::OuterStride<>>;
// Unsigned, for sums modulo 2^32.
using Sums = Eigen::Map<Eigen::Array<std::uint32_t, Eigen::Dynamic, 1>>;

Sums sums_at(std::int32_t* sums, std::int64_t count, bool accumulate) {
  Sums result(reinterpret_cast<std::uint32_t*>(sums), count);
  if (!accumulate) result.setZero();
  return result;
}

template <class T>
void sum_rows(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t n, bool accumulate,
              std::int32_t* sums) {
  const Matrix<T> data(static_cast<const T*>(x), rows, n, Eigen::OuterStride<>(stride));
  sums_at(sums, rows, accumulate) += data.template cast<std::int32_t>().template cast<std::uint32_t>().rowwise().sum();
}

template <class T>
void sum_columns(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t n, bool accumulate,
                 std::int32_t* sums) {
  Sums totals = sums_at(sums, n, accumulate);
  const Matrix<T> data(static_cast<const T*>(x), rows, n, Eigen::OuterStride<>(stride));
  for (std::int64_t row = 0; row < rows; ++row)
    totals += data.row(row).transpose().template cast<std::int32_t>().template cast<std::uint32_t>();
}

template <class T>
T saturate(float value, std::int32_t zero_point) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return Limits::lowest();
  const auto level = static_cast<std::int32_t>(std::nearbyint(std::clamp(value, -131072.0F, 131072.0F))) + zero_point;
  return static_cast<T>(std::clamp<std::int32_t>(level, Limits::lowest(), Limits::max()));
}

template <class T>
void mean(const std::int32_t* sums, std::size_t n, const vector::MeanParameters& parameters, void* reduced) {
  const auto count = static_cast<Eigen::Index>(n);
  const Eigen::Map<const Eigen::ArrayXi> values(sums, count);
  const auto differences = values.cast<double>() - static_cast<double>(parameters.shift);
  Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(static_cast<T*>(reduced), count) =
      (differences * parameters.scale / parameters.divisor).cast<float>().unaryExpr([&](float value) {
        return saturate<T>(value, parameters.zero_point);
      });
}

using std::int8_t, std::uint8_t;

constexpr vector::ReduceKernels kLoops = {
    {sum_rows<uint8_t>, sum_rows<int8_t>},
    {sum_columns<uint8_t>, sum_columns<int8_t>},
    {mean<uint8_t>, mean<int8_t>},
};

}  // namespace

Offer<ReduceLoops> offer_eigen_reduce() { return std::make_unique<ReduceLoops>(ReduceLoops{kLoops, "Eigen::Array"}); }

}  // namespace octet::core
