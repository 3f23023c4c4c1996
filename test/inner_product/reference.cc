#include "test/inner_product/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace octet::test {
namespace {

std::vector<std::uint8_t> bytes_of(const std::vector<float>& values, DataType type) {
  std::vector<std::uint8_t> bytes;
  const auto append = [&](auto element) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(&element);
    bytes.insert(bytes.end(), first, first + sizeof element);
  };
  for (const float value : values) {
    if (type == DataType::float32) append(value);
    if (type == DataType::bfloat16) append(to_bfloat16(value));
    if (type == DataType::int8) append(static_cast<std::int8_t>(value));
  }
  return bytes;
}

struct Quantized {
  std::vector<std::int64_t> values;  ///< less the zero point
  float scale;
};

bool is_finite(float value) { return std::isfinite(value); }

Quantized quantize_row(const float* x, std::int64_t n) {
  Quantized row{std::vector<std::int64_t>(static_cast<std::size_t>(n)), 1.0F};
  if (n == 0) return row;
  const float lowest = std::min(0.0F, *std::min_element(x, x + n)),
              highest = std::max(0.0F, *std::max_element(x, x + n));
  if (!std::all_of(x, x + n, is_finite) || !is_finite(highest - lowest)) {
    row.scale = std::numeric_limits<float>::quiet_NaN();
    return row;
  }
  if (x[0] != 0 && std::all_of(x, x + n, [&](float value) { return value == x[0]; })) {
    row.scale = std::fabs(x[0]);
    std::fill(row.values.begin(), row.values.end(), x[0] < 0 ? -1 : 1);
    return row;
  }
  const float scale = (highest - lowest) / 255.0F;
  if (scale < std::numeric_limits<float>::min()) return row;
  row.scale = scale;
  const std::int64_t zero = std::min<std::int64_t>(255, std::llrint(0.0F - lowest / scale));
  for (std::size_t i = 0; i < row.values.size(); ++i)
    row.values[i] = std::clamp<std::int64_t>(std::llrint(x[i] / scale) + zero, 0, 255) - zero;
  return row;
}

Quantized quantize_column(const InnerProductCase& given, std::int64_t j) {
  Quantized column{std::vector<std::int64_t>(static_cast<std::size_t>(given.k)), 1.0F};
  const auto at = [&](std::size_t i) {
    return given.b[i * static_cast<std::size_t>(given.n) + static_cast<std::size_t>(j)];
  };
  if (given.options.b_type == DataType::int8) {
    column.scale = given.scale[static_cast<std::size_t>(j)];
    for (std::size_t i = 0; i < column.values.size(); ++i) column.values[i] = std::llrint(at(i));
    return column;
  }
  float greatest = 0;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (!is_finite(at(i))) greatest = std::numeric_limits<float>::quiet_NaN();
    if (!std::isnan(greatest)) greatest = std::max(greatest, std::fabs(at(i)));
  }
  const float scale = greatest / (given.options.avoid_overflow ? 63.0F : 127.0F);
  if (scale < std::numeric_limits<float>::min()) return column;
  column.scale = scale;
  if (std::isnan(scale)) return column;
  for (std::size_t i = 0; i < column.values.size(); ++i) column.values[i] = std::llrint(at(i) * (1 / scale));
  return column;
}

}  // namespace

std::uint16_t to_bfloat16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  const std::uint32_t half = bits & 0xFFFF;
  bits >>= 16;
  if (half > 0x8000 || (half == 0x8000 && (bits & 1) != 0)) ++bits;
  return static_cast<std::uint16_t>(bits);
}

float from_bfloat16(std::uint16_t value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

std::vector<float> floats_of(const std::vector<std::uint8_t>& bytes, DataType type) {
  std::vector<float> values(bytes.size() / (type == DataType::float32 ? 4 : 2));
  if (type == DataType::float32) {
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = from_bfloat16(static_cast<std::uint16_t>(bytes[2 * i] | bytes[2 * i + 1] << 8));
  return values;
}

InnerProductCase::InnerProductCase(std::int64_t m_, std::int64_t n_, std::int64_t k_, const InnerProductOptions& o,
                                   std::uint32_t seed)
    : m(m_), n(n_), k(k_), options(o) {
  std::mt19937 random(seed);  // NOLINT(bugprone-random-generator-seed): the same data in every run
  std::uniform_real_distribution<float> real(-1, 1);
  const auto fill = [&](std::vector<float>& values, std::int64_t count, bool bfloat16) {
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(bfloat16 ? from_bfloat16(to_bfloat16(real(random))) : real(random));
  };
  fill(a, m * k, options.a_type == DataType::bfloat16);
  fill(b, k * n, options.b_type == DataType::bfloat16);
  if (options.b_type == DataType::int8) {
    for (float& value : b) value = std::floor(value * 128);
    if (!b.empty()) b.back() = -128;
    fill(scale, n, false);
    for (float& value : scale) value = 0.01F + 0.001F * value;
  }
  if (options.bias) fill(bias, n, false);
  switch (options.activation) {
    case InnerProductActivation::restrict_range:
      parameters = {-0.5F, 0.75F};
      break;
    case InnerProductActivation::prelu:
      fill(parameters, n, false);
      break;
    case InnerProductActivation::hswish:
      parameters = {3.0F, 1.0F / 6};
      break;
    case InnerProductActivation::hard_sigmoid:
      parameters = {0.2F, 0.5F};
      break;
    case InnerProductActivation::leaky_relu:
    case InnerProductActivation::elu:
    case InnerProductActivation::swish:
      parameters = {0.7F};
      break;
    case InnerProductActivation::mish:
      parameters = {20.0F};
      break;
    default:
      break;
  }
}

std::vector<std::uint8_t> InnerProductCase::a_bytes() const { return bytes_of(a, options.a_type); }

std::vector<std::uint8_t> InnerProductCase::b_bytes() const {
  if (!options.trans_b) return bytes_of(b, options.b_type);
  std::vector<float> transposed;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < k; ++i) transposed.push_back(b[static_cast<std::size_t>(i * n + j)]);
  return bytes_of(transposed, options.b_type);
}

double activation_of(InnerProductActivation activation, const std::vector<float>& given, std::int64_t column,
                     double x) {
  const auto p = [&](std::size_t i) { return static_cast<double>(given[i]); };
  if (std::isnan(x)) return x;
  const bool falls_to_zero = activation == InnerProductActivation::mish ||
                             activation == InnerProductActivation::swish || activation == InnerProductActivation::gelu;
  if (std::isinf(x) && x < 0 && falls_to_zero) return 0;
  switch (activation) {
    case InnerProductActivation::identity:
      return x;
    case InnerProductActivation::relu:
      return std::max(x, 0.0);
    case InnerProductActivation::leaky_relu:
      return x < 0 ? p(0) * x : x;
    case InnerProductActivation::restrict_range:
      return std::min(std::max(x, p(0)), p(1));
    case InnerProductActivation::prelu:
      return x < 0 ? p(static_cast<std::size_t>(column)) * x : x;
    case InnerProductActivation::elu:
      return x >= 0 ? x : p(0) * std::expm1(x);
    case InnerProductActivation::hswish:
      return std::max(std::min(x, p(0)) + p(0), 0.0) * p(1) * x;
    case InnerProductActivation::mish: {
      const double e = std::exp(std::min(x, 40.0));  // x * (1 - 2 / ((e + 1)^2 + 1)) without its cancellation
      return x > p(0) ? x : x * (e * (e + 2) / (e * (e + 2) + 2));
    }
    case InnerProductActivation::hard_sigmoid:
      return std::max(0.0, std::min(x * p(0) + p(1), 1.0));
    case InnerProductActivation::swish:
      return x / (1 + std::exp(-p(0) * x));
    case InnerProductActivation::gelu:
      return x * std::erfc(-x / std::sqrt(2.0)) / 2;
  }
  return x;
}

Reference reference_of(const InnerProductCase& given) {
  const auto m = static_cast<std::size_t>(given.m), n = static_cast<std::size_t>(given.n),
             k = static_cast<std::size_t>(given.k);
  std::vector<Quantized> columns;
  for (std::int64_t j = 0; j < given.n; ++j) columns.push_back(quantize_column(given, j));
  const bool is_int8 = given.options.b_type == DataType::int8;
  Reference reference;
  for (std::size_t i = 0; i < m; ++i) {
    const Quantized row = quantize_row(given.a.data() + i * k, given.k);
    for (std::size_t j = 0; j < n; ++j) {
      const Quantized& column = columns[j];
      std::int64_t sum = 0;
      double a_sum = 0, b_sum = 0;
      for (std::size_t l = 0; l < k; ++l) {
        sum += row.values[l] * column.values[l];
        a_sum += std::fabs(static_cast<double>(given.a[i * k + l]));
        b_sum += std::fabs(static_cast<double>(given.b[l * n + j])) * (is_int8 ? static_cast<double>(column.scale) : 1);
      }
      const double a_step = static_cast<double>(row.scale), b_step = is_int8 ? 0 : static_cast<double>(column.scale);
      float value = static_cast<float>(sum) * (row.scale * column.scale);
      if (given.options.bias) value += given.bias[j];
      reference.values.push_back(value);
      reference.results.push_back(activation_of(given.options.activation, given.parameters,
                                                static_cast<std::int64_t>(j), static_cast<double>(value)));
      reference.bounds.push_back(
          1.001 * (a_step * b_sum / 2 + b_step * a_sum / 2 + static_cast<double>(k) * a_step * b_step / 4));
    }
  }
  return reference;
}

}  // namespace octet::test
