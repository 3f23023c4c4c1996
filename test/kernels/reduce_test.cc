// The loops of the reduce family on their own: every instruction set that this CPU has, and Eigen, against plain sums;
// and random shapes against the reference.
#include <cmath>
#include <limits>
#include <numeric>

#include "test/kernels/elementwise_support.hpp"

namespace octet::test {
namespace {

using vector::MeanParameters;
using vector::ReduceKernels;

std::vector<NamedLoops<ReduceKernels>> tables() {
  std::vector<NamedLoops<ReduceKernels>> result;
  for (const vector::Kernels* table : vector_tables()) result.push_back({table->isa, *table->reduce});
  const auto eigen = core::offer_eigen_reduce();
  result.push_back({"eigen", std::get<0>(eigen)->loops});
  return result;
}

std::int64_t value(std::uint8_t byte, bool is_signed) { return is_signed ? static_cast<std::int8_t>(byte) : byte; }

std::int32_t wrap(std::int64_t sum) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)); }

/// Rows of n bytes `stride` apart, of which the last one ends `behind` bytes before a page does.
void check_sums(std::int64_t rows, std::int64_t stride, std::int64_t n, bool is_signed, std::mt19937& random,
                std::int64_t behind = 0) {
  const auto size = static_cast<std::size_t>((rows - 1) * stride + n + behind);
  const GuardedBytes x(size, random() % 4 == 0 ? GuardedBytes::Side::front : GuardedBytes::Side::back);
  fill_random(x.data(), size, random);
  std::vector<std::int64_t> of_rows(static_cast<std::size_t>(rows)), of_columns(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t element = value(x.data()[i * stride + j], is_signed);
      of_rows[static_cast<std::size_t>(i)] += element;
      of_columns[static_cast<std::size_t>(j)] += element;
    }
  for (const auto& table : tables())
    for (const bool accumulate : {false, true}) {
      const auto check = [&](const std::vector<std::int64_t>& expected, const auto& sum, const char* what) {
        const GuardedBytes room(4 * expected.size());
        auto* sums = reinterpret_cast<std::int32_t*>(room.data());
        std::fill_n(sums, expected.size(), 2147483600);
        sum(sums);
        for (std::size_t i = 0; i < expected.size(); ++i)
          ASSERT_EQ(sums[i], wrap(expected[i] + (accumulate ? 2147483600 : 0)))
              << table.name << ": sum " << i << " of " << what << ", " << rows << " x " << n << ", stride " << stride
              << (is_signed ? ", signed" : "") << (accumulate ? ", added" : "");
      };
      check(
          of_rows,
          [&](std::int32_t* sums) { table.loops.sum_rows[is_signed](x.data(), rows, stride, n, accumulate, sums); },
          "rows");
      check(
          of_columns,
          [&](std::int32_t* sums) { table.loops.sum_columns[is_signed](x.data(), rows, stride, n, accumulate, sums); },
          "columns");
    }
}

class Sums : public testing::TestWithParam<bool> {};

TEST_P(Sums, EveryLength) {
  std::mt19937 random(1);
  for (std::int64_t n = 1; n <= 1100; n += n < 140 ? 1 : 1 + static_cast<std::int64_t>(random() % 37))
    for (const std::int64_t rows : {1, 2, 3, 4, 7, 8, 9, 17, 40}) check_sums(rows, n, n, GetParam(), random);
}

TEST_P(Sums, EveryNumberOfRows) {
  std::mt19937 random(2);
  for (std::int64_t rows = 1; rows <= 1100; rows += rows < 140 ? 1 : 1 + static_cast<std::int64_t>(random() % 37))
    for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33, 64, 65}) check_sums(rows, n, n, GetParam(), random);
}

TEST_P(Sums, RowsThatLieApart) {
  std::mt19937 random(3);
  for (int round = 0; round < 600; ++round) {
    const auto n = static_cast<std::int64_t>(1 + random() % 300);
    check_sums(static_cast<std::int64_t>(1 + random() % 40), n + static_cast<std::int64_t>(random() % 100), n,
               GetParam(), random);
  }
}

// Long rows that all begin at the same distance from a cache line.
TEST_P(Sums, LongRows) {
  std::mt19937 random(7);
  for (const std::int64_t n : {767, 768, 769, 784, 1000, 1024, 1056, 1537})
    for (const std::int64_t rows : {127, 128, 257, 513})
      for (const std::int64_t behind : {0, 1, 16, 32, 48, 63})
        check_sums(rows, (n + 63) / 64 * 64, n, GetParam(), random, behind);
}

// Sums of the greatest and the least elements, past what 16 bits hold.
TEST_P(Sums, Extremes) {
  const bool is_signed = GetParam();
  for (const int byte : {0, 0x7F, 0x80, 0xFF}) {
    const std::vector<std::uint8_t> x(700 * 1000, static_cast<std::uint8_t>(byte));
    const std::int64_t element = value(static_cast<std::uint8_t>(byte), is_signed);
    for (const auto& table : tables())
      for (const std::int64_t n : {1, 7, 8, 64, 700, 1000, 70000}) {
        const auto rows = static_cast<std::int64_t>(x.size()) / n;
        std::vector<std::int32_t> sums(static_cast<std::size_t>(std::max(rows, n)));
        table.loops.sum_rows[is_signed](x.data(), rows, n, n, false, sums.data());
        for (std::int64_t i = 0; i < rows; ++i) ASSERT_EQ(sums[static_cast<std::size_t>(i)], n * element) << table.name;
        table.loops.sum_columns[is_signed](x.data(), rows, n, n, false, sums.data());
        for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(sums[static_cast<std::size_t>(i)], rows * element) << table.name;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Sums, testing::Bool(),
                         [](const auto& type) { return std::string(type.param ? "int8" : "uint8"); });

template <class T>
T meant(std::int32_t sum, const MeanParameters& p) {
  using Limits = std::numeric_limits<T>;
  const auto mean = static_cast<float>(static_cast<double>(sum - p.shift) * p.scale / p.divisor);
  if (std::isnan(mean)) return Limits::lowest();
  const double level = std::nearbyint(static_cast<double>(mean)) + p.zero_point;
  return static_cast<T>(std::min<double>(std::max<double>(level, Limits::lowest()), Limits::max()));
}

template <class T>
void check_means(const std::vector<std::int32_t>& sums, const MeanParameters& p) {
  for (const auto& table : tables())
    for (const std::size_t n : {sums.size(), std::size_t{1}, std::size_t{7}, std::size_t{33}}) {
      std::vector<T> reduced(n + 1, 99);
      table.loops.mean[std::numeric_limits<T>::is_signed](sums.data(), n, p, reduced.data());
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(+reduced[i], +meant<T>(sums[i], p)) << table.name << ": " << sums[i] << " - " << p.shift << " times "
                                                      << p.scale << " / " << p.divisor << " + " << p.zero_point;
      ASSERT_EQ(reduced[n], 99) << table.name;
    }
}

TEST(Means, SameAsTheFormula) {
  std::mt19937 random(4);
  std::vector<std::int32_t> sums;
  for (int i = -3000; i < 3000; ++i) sums.push_back(i);
  for (int i = 0; i < 3000; ++i) sums.push_back(static_cast<std::int32_t>(random() % 1000000000));
  const double infinity = std::numeric_limits<double>::infinity();
  for (const std::int64_t shift : {0, 77, -5000})
    for (const double scale : {1.0, 0.0213, -0.5, 1e-40, 3e38, infinity, std::nan("")})
      for (const double divisor : {2.0, 49 * 0.03, 1e-45, 3e38, 0.0, -7.0, infinity}) {
        check_means<std::uint8_t>(sums, {shift, scale, divisor, 101});
        check_means<std::int8_t>(sums, {shift, scale, divisor, -77});
      }
}

// Every sum that some numbers of elements can have, with scales whose means are ties, next to ties, and anything.
TEST(Means, NearTies) {
  std::mt19937 random(6);
  for (const std::int64_t count : {1, 2, 7, 16, 49, 196})
    for (const std::int64_t zero_point : {0, 3, 255}) {
      std::vector<std::int32_t> sums(static_cast<std::size_t>(255 * count + 1));
      std::iota(sums.begin(), sums.end(), 0);
      const auto reduced_scale = static_cast<float>(0.001 + 1e-6 * static_cast<double>(random() % 1000000));
      for (const float ratio : {0.25F, 0.5F, 1.0F, 1.5F, 2.0F / 3, 1 / 49.0F, 0.7F, -1.0F, 40.0F})
        for (const float next : {0.0F, 1.0F, 2.0F}) {
          const float scale = std::nextafter(reduced_scale * ratio, reduced_scale * ratio + (next - 1));
          const MeanParameters parameters{count * zero_point, static_cast<double>(scale),
                                          static_cast<double>(count) * static_cast<double>(reduced_scale), 0};
          check_means<std::uint8_t>(sums, {parameters.shift, parameters.scale, parameters.divisor, 128});
          check_means<std::int8_t>(sums, {parameters.shift, parameters.scale, parameters.divisor, -1});
        }
    }
}

// --- through the operators -----------------------------------------------------------------------

Node reduction(bool is_mean, std::vector<std::int64_t> axes, std::int64_t keepdims) {
  Node node;
  node.op_type = is_mean ? "QLinearReduceMean" : "ReduceSumInteger";
  node.attributes["axes"] = std::move(axes);
  node.attributes["keepdims"] = keepdims;
  return node;
}

TEST(ReduceOperators, RandomShapes) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    static constexpr std::int64_t kExtents[] = {1, 2, 3, 4, 7, 9, 16, 33, 65, 130, 300};
    const std::size_t rank = random() % 9;
    Dims dims, result;
    std::vector<std::int64_t> axes;
    std::int64_t elements = 1;
    const bool keep = random() % 2 == 0;
    const bool all = random() % 8 == 0;
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t extent = kExtents[random() % 11];
      if (elements * extent > 60000) extent = 2;
      elements *= extent;
      dims.push_back(extent);
      const bool reduced = random() % 2 == 0;
      if (reduced && !all)
        axes.push_back(static_cast<std::int64_t>(d) - (random() % 2 == 0 ? 0 : static_cast<std::int64_t>(rank)));
    }
    for (std::size_t d = 0; d < rank; ++d) {
      const auto at = static_cast<std::int64_t>(d);
      const bool reduced = axes.empty() || std::any_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
                             return axis == at || axis + static_cast<std::int64_t>(rank) == at;
                           });
      if (!reduced || keep) result.push_back(reduced ? 1 : dims[d]);
    }
    const bool is_mean = round % 2 == 0;
    const DataType type = random() % 2 == 0 ? DataType::uint8 : DataType::int8;
    std::vector<Tensor> inputs{random_tensor(type, dims, random)};
    if (is_mean) {
      const auto zero_point = [&] { return random() % 3 == 0 ? Tensor() : random_tensor(type, {}, random); };
      inputs = {inputs[0], scale_tensor(0.03F), zero_point(), scale_tensor(0.021F), zero_point()};
    }
    const DataType sums = type == DataType::uint8 ? DataType::uint32 : DataType::int32;
    expect_as_reference(reduction(is_mean, axes, keep ? 1 : 0), inputs, is_mean ? type : sums, result,
                        "round " + std::to_string(round));
  }
}

// Means of more elements than int32 sums are exact for.
TEST(ReduceOperators, MeansOfManyElements) {
  const std::int64_t many = vector::kExactCount + 12345;
  for (const DataType type : {DataType::uint8, DataType::int8})
    for (const bool rows : {true, false}) {
      const Dims dims = rows ? Dims{2, many} : Dims{many, 2};
      Tensor data(type, dims);
      std::memset(data.data(), type == DataType::uint8 ? 255 : 127, data.bytes());
      data.data()[0] = 0;
      data.data()[data.bytes() - 1] = 1;
      const std::vector<Tensor> inputs{data, scale_tensor(1.0F), Tensor(), scale_tensor(1.0F), Tensor()};
      expect_as_reference(reduction(true, {rows ? 1 : 0}, 0), inputs, type, {2}, rows ? "rows" : "columns");
    }
}

}  // namespace
}  // namespace octet::test
