// The loops of the quantize family on their own: every instruction set that this CPU has, and Eigen, against plain
// loops.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "primitives/vector/kernels.hpp"
#include "provider/core/cpu.hpp"
#include "provider/core/quantize_loops.hpp"
#include "provider/kernels/dynamic_quantize.hpp"

namespace octet {
namespace {

using vector::QuantizeKernels;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kSmallest = std::numeric_limits<float>::denorm_min();

struct Table {
  std::string name;
  const QuantizeKernels& loops;
};

std::vector<Table> tables() {
  using core::Isa;
  std::vector<Table> result{{"avx2", *vector::avx2::kTable.quantize}};
  const Isa isa = core::cpu_isa_level();
  if (isa == Isa::avx2_vnni) result.push_back({"avx2_vnni", *vector::avx2_vnni::kTable.quantize});
  if (isa >= Isa::avx512_core) result.push_back({"avx512_core", *vector::avx512_core::kTable.quantize});
  if (isa >= Isa::avx512_core_vnni) result.push_back({"avx512_core_vnni", *vector::avx512_core_vnni::kTable.quantize});
  const auto eigen = core::offer_eigen_quantize();
  result.push_back({"eigen", std::get<0>(eigen)->loops});
  return result;
}

template <class T>
constexpr vector::Integer kIndex = vector::kU8;
template <>
constexpr vector::Integer kIndex<std::int8_t> = vector::kS8;
template <>
constexpr vector::Integer kIndex<std::uint16_t> = vector::kU16;
template <>
constexpr vector::Integer kIndex<std::int16_t> = vector::kS16;
template <>
constexpr vector::Integer kIndex<std::int32_t> = vector::kS32;

// The formulas, one element at a time.
template <class T>
T quantized(float x, float scale, std::int32_t zero_point) {
  const float quotient = x / scale;
  if (std::isnan(quotient)) return std::numeric_limits<T>::lowest();
  const double level = std::nearbyint(static_cast<double>(quotient)) + zero_point;
  return static_cast<T>(std::clamp<double>(level, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()));
}
template <class T>
float dequantized(T x, float scale, std::int32_t zero_point) {
  return static_cast<float>(static_cast<std::int64_t>(x) - zero_point) * scale;
}

std::uint32_t bits_of(float value) { return Eigen::numext::bit_cast<std::uint32_t>(value); }
bool same(float a, float b) { return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b)); }

/// Ordinary, extreme and unusable scales; 1.9999999 has the reciprocal that is hardest to correct.
const std::vector<float> kScales{0.0213F, 1.0F,   0.5F,  0.1F,     1.9999999F, 1.0000001F, 3.0F,  255.0F,    0x1p-63F,
                                 0x1p63F, 1e-20F, 1e20F, 1e-30F,   1e30F,      1e-38F,     3e38F, kSmallest, 1e-41F,
                                 0.0F,    -0.0F,  -0.5F, -0.0213F, kInfinity,  -kInfinity, kNaN};

/// Quotients over the whole range of T and beyond, ties, their neighbours, and what is not finite.
template <class T>
std::vector<float> hard_values(float scale, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> level(-1.2F * std::numeric_limits<T>::max(),
                                              1.2F * std::numeric_limits<T>::max());
  const std::vector<float> special{0.0F,       -0.0F,     kNaN,       -kNaN, kInfinity,
                                   -kInfinity, kSmallest, -kSmallest, 3e38F, -3e38F};
  std::vector<float> values(count);
  for (float& value : values) {
    switch (random() % 4) {
      case 0:
        value = level(random) * scale;
        break;
      case 1:
        value = (std::floor(level(random)) + 0.5F) * scale;
        break;
      case 2:
        value = std::nextafter((std::floor(level(random)) + 0.5F) * scale, random() % 2 ? kInfinity : -kInfinity);
        break;
      default:
        value =
            random() % 8 == 0 ? special[random() % special.size()] : (std::floor(level(random) / 64) + 0.5F) * scale;
    }
  }
  return values;
}

std::int32_t some_zero_point(std::int32_t lowest, std::int32_t highest, std::mt19937& random) {
  return std::uniform_int_distribution<std::int32_t>(lowest, highest)(random);
}

template <class T>
class Quantize : public testing::Test {};
using Narrow = testing::Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t>;
TYPED_TEST_SUITE(Quantize, Narrow);

TYPED_TEST(Quantize, EveryLengthAndScale) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  std::mt19937 random(7);
  for (const float scale : kScales)
    for (std::size_t n = 0; n <= 130; ++n) {
      const std::int32_t zero_point = n % 3 == 0 ? 7 : some_zero_point(Limits::lowest(), Limits::max(), random);
      const std::vector<float> x = hard_values<T>(scale, n, static_cast<unsigned>(n));
      for (const Table& table : tables()) {
        std::vector<T> y(n + 2, 99);
        table.loops.quantize[kIndex<T>](x.data(), n, scale, zero_point, y.data() + 1);
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_EQ(y[i + 1], quantized<T>(x[i], scale, zero_point))
              << table.name << " n=" << n << " i=" << i << " " << x[i] << " / " << scale << " + " << zero_point;
        ASSERT_TRUE(y.front() == 99 && y.back() == 99) << table.name << " wrote outside, n=" << n;
      }
    }
}

TYPED_TEST(Quantize, AParameterForEachElement) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  std::mt19937 random(11);
  for (std::size_t n = 0; n <= 300; ++n) {
    std::vector<float> x, scale;
    std::vector<std::int32_t> zero_point;
    for (std::size_t i = 0; i < n; ++i) {
      scale.push_back(kScales[random() % kScales.size()]);
      x.push_back(hard_values<T>(scale.back(), 1, static_cast<unsigned>(random()))[0]);
      zero_point.push_back(some_zero_point(Limits::lowest(), Limits::max(), random));
    }
    for (const Table& table : tables()) {
      std::vector<T> y(n + 1, 99);
      table.loops.quantize_each[kIndex<T>](x.data(), n, scale.data(), zero_point.data(), y.data());
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(y[i], quantized<T>(x[i], scale[i], zero_point[i])) << table.name << " " << x[i] << " / " << scale[i];
      ASSERT_EQ(y[n], 99);
    }
  }
}

// The loops multiply where they can: each quotient must still be the correctly rounded one. Quotients of 24-bit numbers
// come as near as 2^-49 to the middle between two floats, and those next to a tie decide.
TYPED_TEST(Quantize, QuotientsNextToTies) {
  using T = TypeParam;
  std::mt19937 random(13);
  std::vector<float> scales;
  for (int d = 1; d <= 64; ++d) {
    scales.push_back(1.0F - static_cast<float>(d) * 0x1p-24F);
    scales.push_back(1.0F + static_cast<float>(d) * 0x1p-23F);
  }
  for (int i = 0; i < 400; ++i)
    scales.push_back(std::ldexp(1.0F + static_cast<float>(random() >> 9) * 0x1p-23F, i % 120 - 60));
  for (const float scale : scales) {
    std::vector<float> x;
    for (int i = 0; i < 600; ++i) {
      const int tie = i < 300 ? i - 150 : static_cast<int>(random() % 65536) - 32768;
      float value = static_cast<float>((tie + 0.5) * scale);
      for (int step = 0; step < 3; ++step) value = std::nextafter(value, -kInfinity);
      for (int step = 0; step < 6; ++step) x.push_back(value = std::nextafter(value, kInfinity));
    }
    for (const Table& table : tables()) {
      std::vector<T> y(x.size());
      table.loops.quantize[kIndex<T>](x.data(), x.size(), scale, 1, y.data());
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(y[i], quantized<T>(x[i], scale, 1)) << table.name << std::hexfloat << " " << x[i] << " / " << scale;
    }
  }
}

template <class T>
class Dequantize : public testing::Test {};
using Integers = testing::Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::int32_t>;
TYPED_TEST_SUITE(Dequantize, Integers);

TYPED_TEST(Dequantize, EveryLengthAndScale) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  std::mt19937 random(17);
  for (std::size_t n = 0; n <= 130; ++n) {
    std::vector<T> x(n);
    for (T& value : x)
      value = static_cast<T>(random() % 8 ? random() : random() % 2 ? Limits::lowest() : Limits::max());
    std::vector<float> scale(n);
    std::vector<std::int32_t> zero_point(n);
    for (std::size_t i = 0; i < n; ++i) {
      scale[i] = kScales[random() % kScales.size()];
      zero_point[i] = random() % 8 ? some_zero_point(Limits::lowest(), Limits::max(), random) : Limits::lowest();
    }
    for (const Table& table : tables()) {
      std::vector<float> each(n + 1, 99), uniform(n + 1, 99);
      table.loops.dequantize_each[kIndex<T>](x.data(), n, scale.data(), zero_point.data(), each.data());
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_TRUE(same(each[i], dequantized(x[i], scale[i], zero_point[i])))
            << table.name << " i=" << i << " " << each[i];
      for (std::size_t k = 0; k < std::min<std::size_t>(n, 5); ++k) {
        table.loops.dequantize[kIndex<T>](x.data(), n, scale[k], zero_point[k], uniform.data());
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_TRUE(same(uniform[i], dequantized(x[i], scale[k], zero_point[k]))) << table.name << " " << uniform[i];
      }
      ASSERT_TRUE(each[n] == 99 && uniform[n] == 99) << table.name << " wrote past the end";
    }
  }
}

TEST(Divide, IsTrueDivision) {
  std::mt19937 random(19);
  for (std::size_t n = 0; n <= 70; ++n) {
    const std::vector<float> x = hard_values<std::uint8_t>(0.0213F, n, static_cast<unsigned>(n));
    std::vector<float> scale(n);
    for (float& value : scale) value = kScales[random() % kScales.size()];
    for (const Table& table : tables()) {
      std::vector<float> each = x, uniform = x;
      table.loops.divide_each(each.data(), n, scale.data());
      table.loops.divide(uniform.data(), n, 0.0213F);
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_TRUE(same(each[i], x[i] / scale[i]) && same(uniform[i], x[i] / 0.0213F)) << table.name;
    }
  }
}

TEST(MinMax, StartsFromZeroAndKeepsNaN) {
  std::mt19937 random(23);
  std::normal_distribution<float> normal;
  for (std::size_t n = 0; n <= 300; ++n)
    for (int with_nan = 0; with_nan < 2 && (n > 0 || with_nan == 0); ++with_nan) {
      const float shift = n % 3 == 0 ? 0.0F : n % 3 == 1 ? 10.0F : -10.0F;
      std::vector<float> x(n);
      float least = 0, greatest = 0;
      for (float& value : x) {
        value = random() % 16 ? normal(random) + shift : -0.0F;
        if (n % 7 == 0 && random() % 32 == 0) value = random() % 2 ? kInfinity : -kInfinity;
        if (value < least) least = value;
        if (value > greatest) greatest = value;
      }
      if (with_nan) x[random() % n] = least = greatest = kNaN;
      for (const Table& table : tables()) {
        float min = 99, max = 99;
        table.loops.min_max(x.data(), n, &min, &max);
        ASSERT_TRUE(same(min, least) && same(max, greatest)) << table.name << " n=" << n << " " << min << " " << max;
      }
    }
}

TEST(Halves, WidenEveryValue) {
  std::vector<std::uint16_t> x(65536);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i);
  for (const Table& table : tables())
    for (std::size_t n : {x.size(), x.size() - 5}) {
      std::vector<float> half(n), brain(n);
      table.loops.widen[vector::kFloat16](x.data(), n, half.data());
      table.loops.widen[vector::kBfloat16](x.data(), n, brain.data());
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_TRUE(same(half[i], static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(x[i])))) << table.name << i;
        ASSERT_TRUE(same(brain[i], static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(x[i]))))
            << table.name << i;
      }
    }
}

TEST(Halves, NarrowTiesToEven) {
  std::mt19937 random(29);
  std::vector<float> x{0.0F,      -0.0F,    kInfinity,  -kInfinity, kNaN,   -kNaN,
                       kSmallest, 65504.0F, 65519.996F, 65520.0F,   3.4e38F};
  for (int i = 0; i < 20000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random()) & (i % 2 ? 0xFFFFFFFF : i % 4 ? 0xFFFF8000 : 0xFFFFF000);
    x.push_back(Eigen::numext::bit_cast<float>(bits));
    const std::int64_t shift =
        -static_cast<std::int64_t>(std::ilogb(x.back())) - static_cast<std::int64_t>(random() % 28);
    x.push_back(
        std::ldexp(x.back(), static_cast<int>(std::clamp<std::int64_t>(shift, -1000, 1000))));  // range of float16
  }
  for (const Table& table : tables()) {
    std::vector<std::uint16_t> half(x.size()), brain(x.size());
    table.loops.narrow[vector::kFloat16](x.data(), x.size(), half.data());
    table.loops.narrow[vector::kBfloat16](x.data(), x.size(), brain.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto half_value = static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(half[i]));
      const auto brain_value = static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(brain[i]));
      ASSERT_TRUE(same(half_value, static_cast<float>(Eigen::half(x[i]))))
          << table.name << " " << x[i] << " " << half_value;
      ASSERT_TRUE(same(brain_value, static_cast<float>(Eigen::bfloat16(x[i])))) << table.name << " " << x[i];
    }
  }
}

TEST(Int32, ToFloatRoundsToEven) {
  std::vector<std::int32_t> x{0, 1, -1, 16777217, 16777219, -16777217, 2147483647, -2147483647 - 1, 33554434, 33554438};
  std::mt19937 random(31);
  for (int i = 0; i < 1000; ++i) x.push_back(static_cast<std::int32_t>(random()));
  for (const Table& table : tables()) {
    std::vector<float> y(x.size());
    table.loops.int32_to_float(x.data(), x.size(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(y[i], static_cast<float>(static_cast<double>(x[i]))) << table.name;
  }
}

TEST(FourBits, PackAndUnpack) {
  std::mt19937 random(37);
  for (std::size_t n = 0; n <= 130; ++n) {
    std::vector<std::uint8_t> u(n);
    std::vector<std::int8_t> s(n);
    for (std::size_t i = 0; i < n; ++i) {
      u[i] = static_cast<std::uint8_t>(random() % 2 ? random() % 16 : random());
      s[i] = static_cast<std::int8_t>(random() % 2 ? static_cast<int>(random() % 16) - 8
                                                   : static_cast<int>(random() % 256) - 128);
    }
    const std::size_t bytes = (n + 1) / 2;
    for (const Table& table : tables()) {
      std::vector<std::uint8_t> packed_u(bytes + 1, 99), packed_s(bytes + 1, 99), u_back(n + 1, 99);
      std::vector<std::int8_t> s_back(n + 1, 99);
      table.loops.pack_u4(u.data(), n, packed_u.data());
      table.loops.pack_s4(s.data(), n, packed_s.data());
      table.loops.unpack_u4(packed_u.data(), n, u_back.data());
      table.loops.unpack_s4(packed_s.data(), n, s_back.data());
      for (std::size_t i = 0; i < n; ++i) {
        const int low = i % 2 == 0 ? packed_u[i / 2] & 15 : packed_u[i / 2] >> 4;
        ASSERT_EQ(low, std::min<int>(u[i], 15)) << table.name << " n=" << n;
        ASSERT_EQ(u_back[i], std::min<int>(u[i], 15)) << table.name << " n=" << n;
        ASSERT_EQ(s_back[i], std::clamp<int>(s[i], -8, 7)) << table.name << " n=" << n;
      }
      const bool clean = n % 2 == 0 || (packed_u[n / 2] < 16 && packed_s[n / 2] < 16);
      ASSERT_TRUE(clean) << table.name << " left something in the last half";
      ASSERT_TRUE(packed_u[bytes] == 99 && packed_s[bytes] == 99 && u_back[n] == 99 && s_back[n] == 99) << table.name;
    }
  }
}

TEST(DynamicQuantize, ParametersOfUnusualRanges) {
  const auto expect = [](float min, float max, float scale, int zero_point) {
    const core::DynamicParams params = core::dynamic_quantize_params(min, max);
    EXPECT_TRUE(same(params.scale, scale)) << min << " " << max << " " << params.scale;
    EXPECT_EQ(params.zero_point, zero_point) << min << " " << max;
  };
  expect(0, 0, 1, 0);
  expect(0, 255, 1, 0);
  expect(-1, 2, 3.0F / 255, 85);
  expect(-7, 0, 7.0F / 255, 255);
  expect(-0.5F, 254.5F, 1, 0);  // the tie goes to the even 0
  expect(-1.5F, 253.5F, 1, 2);
  expect(-1, kInfinity, kInfinity, 0);
  expect(-kInfinity, 1, kInfinity, 255);
  expect(-kInfinity, kInfinity, kInfinity, 255);
  expect(-3e38F, 3e38F, kInfinity, 0);
  expect(-kSmallest, kSmallest, 0, 255);
  expect(0, kSmallest, 0, 255);
  expect(kNaN, kNaN, kNaN, 255);
}

TEST(DynamicQuantize, TheSameForEverySplit) {
  std::mt19937 random(41);
  std::normal_distribution<float> normal(0.3F, 2.0F);
  for (const std::int64_t n : {0, 1, 1023, 1024, 1025, 200000, 1000003})
    for (const float last : {0.5F, 40.0F, kInfinity, -kInfinity, kNaN}) {
      std::vector<float> x(static_cast<std::size_t>(n));
      for (float& value : x) value = normal(random);
      float min = 0, max = 0;
      if (n > 0) x[x.size() - 1 - x.size() / 3] = last;
      for (const float value : x) {
        min = std::isnan(value) || value < min ? value : min;
        max = std::isnan(value) || value > max ? value : max;
        if (std::isnan(value)) break;
      }
      const core::DynamicParams expected = core::dynamic_quantize_params(min, max);
      for (const Table& table : tables())
        for (const int threads : {1, 2, 3, 7, 1000}) {
          Call call;
          call.threads = threads;
          call.parallel_for = [](void*, std::size_t count, Call::Task task, void* argument) {
            for (std::size_t i = count; i-- > 0;) task(argument, i);
          };
          std::vector<std::uint8_t> y(x.size());
          const core::DynamicParams params = core::dynamic_quantize(table.loops, call, x.data(), n, y.data());
          ASSERT_TRUE(same(params.scale, expected.scale) && params.zero_point == expected.zero_point) << table.name;
          for (std::size_t i = 0; i < x.size(); ++i)
            ASSERT_EQ(y[i], quantized<std::uint8_t>(x[i], expected.scale, expected.zero_point)) << table.name << x[i];
        }
    }
}

}  // namespace
}  // namespace octet
