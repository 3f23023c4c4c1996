// Where scales and zero points apply: segments against the definition, index by index.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "provider/kernels/quantize_layout.hpp"

namespace octet::core {
namespace {

struct Geometry {
  std::vector<std::int64_t> x;
  std::int64_t axis;
  std::int64_t block_size;  ///< 0: one parameter for each index of the axis
};

TensorInfo parameter_info(const Geometry& geometry) {
  const auto at = static_cast<std::size_t>(
      geometry.axis < 0 ? geometry.axis + static_cast<std::int64_t>(geometry.x.size()) : geometry.axis);
  if (geometry.block_size == 0) return {DataType::float32, {geometry.x[at]}};
  TensorInfo info{DataType::float32, geometry.x};
  info.dims[at] = (geometry.x[at] - 1) / geometry.block_size + 1;
  return info;
}

/// The parameter of each element of x, by the text of ONNX.
std::vector<std::int64_t> expected_parameters(const Geometry& geometry) {
  const TensorInfo info = parameter_info(geometry);
  const std::size_t rank = geometry.x.size();
  const auto at =
      static_cast<std::size_t>(geometry.axis < 0 ? geometry.axis + static_cast<std::int64_t>(rank) : geometry.axis);
  std::vector<std::int64_t> parameters, index(rank, 0);
  const std::int64_t elements = TensorInfo{DataType::float32, geometry.x}.elements();
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t parameter = index[at];
    if (geometry.block_size > 0) {
      parameter = 0;
      for (std::size_t d = 0; d < rank; ++d)
        parameter = parameter * info.dims[d] + (d == at ? index[d] / geometry.block_size : index[d]);
    }
    parameters.push_back(parameter);
    for (std::size_t d = rank; d-- > 0;) {
      if (++index[d] < geometry.x[d]) break;
      index[d] = 0;
    }
  }
  return parameters;
}

/// The same as the layout has it, with the tensor cut at multiples of `part`.
std::vector<std::int64_t> layout_parameters(const QuantizeLayout& layout, std::int64_t part) {
  std::vector<std::int64_t> parameters;
  for (std::int64_t begin = 0; begin < layout.elements; begin += part) {
    std::int64_t at = begin;
    const std::int64_t end = std::min(begin + part, layout.elements);
    layout.for_each_segment(begin, end, [&](std::int64_t from, std::int64_t to, std::int64_t first) {
      EXPECT_EQ(from, at);
      EXPECT_LT(from, to);
      for (std::int64_t i = from; i < to; ++i) parameters.push_back(layout.each ? first + i - from : first);
      at = to;
    });
    EXPECT_EQ(at, end);
  }
  return parameters;
}

TEST(QuantizeLayout, SegmentsFollowTheDefinition) {
  const std::vector<Geometry> geometries{
      {{7}, 0, 0},          {{5, 1}, 0, 0},      {{1, 9}, 1, 0},         {{4, 6}, 1, 0},        {{4, 6}, 0, 0},
      {{3, 4, 5}, 1, 0},    {{3, 4, 5}, -1, 0},  {{3, 4, 5}, -3, 0},     {{2, 3, 40}, 1, 0},    {{2, 3, 4, 8}, 1, 0},
      {{7}, 0, 2},          {{7}, 0, 7},         {{7}, 0, 100},          {{4, 6}, 1, 3},        {{4, 6}, 1, 4},
      {{4, 6}, 1, 1},       {{5, 6}, 0, 2},      {{3, 5, 4}, 1, 2},      {{3, 5, 4}, 1, 3},     {{3, 5, 4}, -1, 3},
      {{2, 9, 3, 2}, 1, 4}, {{2, 2, 64}, 2, 32}, {{2, 3}, 1, INT64_MAX}, {{6, 2}, 0, INT64_MAX}};
  for (const Geometry& geometry : geometries) {
    const TensorInfo x{DataType::float32, geometry.x}, parameter = parameter_info(geometry), one{DataType::uint8, {1}};
    for (const bool scale_is_one : {false, true}) {
      const QuantizeLayout layout(x, scale_is_one ? one : parameter, scale_is_one ? parameter : one, geometry.axis,
                                  geometry.block_size);
      for (const std::int64_t part : {std::int64_t{1}, std::int64_t{2}, std::int64_t{7}, x.elements()})
        ASSERT_EQ(layout_parameters(layout, part), expected_parameters(geometry))
            << "axis " << geometry.axis << " block " << geometry.block_size << " part " << part;
    }
  }
}

TEST(QuantizeLayout, OneParameterIsOneSegment) {
  for (const TensorInfo& one : {TensorInfo{DataType::float32, {}}, TensorInfo{DataType::float32, {1}}}) {
    const QuantizeLayout layout({DataType::float32, {3, 50}}, one, TensorInfo(), 1, 0);
    int calls = 0;
    layout.for_each_segment(10, 150, [&](std::int64_t begin, std::int64_t end, std::int64_t first) {
      EXPECT_TRUE(begin == 10 && end == 150 && first == 0);
      ++calls;
    });
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(layout.each);
    EXPECT_EQ(layout.parameters, 1);
  }
}

TEST(QuantizeLayout, LongRunsOfOneParameterAreSegments) {
  const QuantizeLayout layout({DataType::float32, {2, 3, 100}}, {DataType::float32, {3}}, TensorInfo(), 1, 0);
  EXPECT_FALSE(layout.each);
  EXPECT_EQ(layout.segment, 100);
}

}  // namespace
}  // namespace octet::core
