// QLinearAdd and QLinearMul as operators: all pairs of bytes, over a grid of scales and zero points.
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "test/reference/reference.hpp"

namespace octet::test {
namespace {

constexpr std::int64_t kBytes = 256;

/// A column of all bytes meets a row of all bytes.
class Pairs : public testing::TestWithParam<std::tuple<const char*, DataType>> {
 protected:
  using Bytes = std::array<std::uint8_t, 3>;  // of A, B and C
  using Scales = std::array<float, 3>;

  Pairs() : bytes_(kBytes), found_(kBytes * kBytes), expected_(kBytes * kBytes) {
    std::iota(bytes_.begin(), bytes_.end(), std::uint8_t{0});
    node_.op_type = std::get<0>(GetParam());
    node_.domain = "com.microsoft";
    node_.inputs.resize(8);
    for (const std::size_t i : {0, 2, 3, 5, 7}) node_.inputs[i].dtype = type_;
    for (const std::size_t i : {1, 4, 6}) node_.inputs[i].dtype = DataType::float32;
  }

  void check(const Operator& op, const Scales& scales, const Bytes& zero_points) {
    const std::vector<std::int64_t> column{kBytes, 1}, row{1, kBytes}, square{kBytes, kBytes}, one{};
    const auto scale = [&](std::size_t i) { return TensorView(&scales[i], DataType::float32, one); };
    const auto zero_point = [&](std::size_t i) { return TensorView(&zero_points[i], type_, one); };
    const std::vector<TensorView> inputs{{bytes_.data(), type_, column},
                                         scale(0),
                                         zero_point(0),
                                         {bytes_.data(), type_, row},
                                         scale(1),
                                         zero_point(1),
                                         scale(2),
                                         zero_point(2)};
    op.run(inputs, {{found_.data(), type_, square}});
    reference::run(node_, inputs, {{expected_.data(), type_, square}});
    ASSERT_EQ(found_, expected_) << "scales " << scales[0] << ' ' << scales[1] << ' ' << scales[2] << ", zero points "
                                 << +zero_points[0] << ' ' << +zero_points[1] << ' ' << +zero_points[2];
  }

  DataType type_ = std::get<1>(GetParam());
  std::vector<std::uint8_t> bytes_, found_, expected_;
  Node node_;
};

TEST_P(Pairs, AreTheFormula) {
  const Operator op(node_);
  for (const float a : {0.02F, 0.37F})
    for (const float b : {0.003F, 0.02F, 1.0F})
      for (const float c : {0.0025F, 0.05F, 3.0F})
        for (const std::uint8_t a_zero_point : {0, 3, 128})
          for (const std::uint8_t b_zero_point : {0, 255})
            for (const std::uint8_t c_zero_point : {0, 77, 128})
              ASSERT_NO_FATAL_FAILURE(check(op, {a, b, c}, {a_zero_point, b_zero_point, c_zero_point}));
}

INSTANTIATE_TEST_SUITE_P(Of, Pairs,
                         testing::Combine(testing::Values("QLinearAdd", "QLinearMul"),
                                          testing::Values(DataType::uint8, DataType::int8)),
                         [](const auto& value) {
                           return std::get<0>(value.param) + std::string("_") +
                                  data_type_name(std::get<1>(value.param));
                         });

}  // namespace
}  // namespace octet::test
