// The loops of the matmul family on their own: every instruction set that this CPU has, against plain loops.
#include <dnnl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "primitives/onednn.hpp"
#include "provider/core/product.hpp"
#include "test/kernels/vector_tables.hpp"

namespace octet {
namespace {

using vector::padded_k;
using vector::padded_n;

std::vector<std::uint8_t> random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

struct Packed {
  std::vector<std::int8_t> bytes;
  std::vector<std::int32_t> sums;
};

Packed pack(const vector::MatMulKernels& loops, const std::vector<std::uint8_t>& b, std::int64_t k, std::int64_t n,
            bool transposed, std::uint8_t flip) {
  Packed packed;
  packed.bytes.assign(static_cast<std::size_t>(padded_k(k) * padded_n(n)), 99);
  packed.sums.assign(static_cast<std::size_t>(padded_n(n)), 99);
  loops.pack(b.data(), transposed ? 1 : n, transposed ? k : 1, k, n, flip, packed.bytes.data(), packed.sums.data());
  return packed;
}

std::int8_t packed_at(const Packed& packed, std::int64_t k_total, std::int64_t k, std::int64_t n) {
  const std::int64_t at = n / 64 * 64 * padded_k(k_total) + k / 4 * 256 + n % 64 * 4 + k % 4;
  return packed.bytes[static_cast<std::size_t>(at)];
}

class Sizes : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Sizes, PackingPutsEveryWeightInItsPlaceAndPadsWithZeros) {
  const std::int64_t k = std::get<0>(GetParam()), n = std::get<1>(GetParam());
  const auto b = random_bytes(static_cast<std::size_t>(k * n), 1);
  for (const auto* table : test::vector_tables())
    for (const bool transposed : {false, true})
      for (const std::uint8_t flip : {0, 0x80}) {
        const Packed packed = pack(table->matmul, b, k, n, transposed, flip);
        for (std::int64_t j = 0; j < padded_n(n); ++j) {
          std::int32_t sum = 0;
          for (std::int64_t i = 0; i < padded_k(k); ++i) {
            const bool inside = i < k && j < n;
            const std::uint8_t byte =
                inside ? b[static_cast<std::size_t>(transposed ? j * k + i : i * n + j)] ^ flip : 0;
            const auto expected = static_cast<std::int8_t>(byte);
            ASSERT_EQ(packed_at(packed, k, i, j), expected) << table->isa << " k=" << i << " n=" << j;
            sum += expected;
          }
          ASSERT_EQ(packed.sums[static_cast<std::size_t>(j)], sum) << table->isa << " column " << j;
        }
      }
}

TEST_P(Sizes, ProductsAreExactAndStayInside) {
  const std::int64_t k = std::get<0>(GetParam()), n = std::get<1>(GetParam());
  const auto b = random_bytes(static_cast<std::size_t>(k * n), 2);
  for (const std::int64_t rows : {1, 2, 3, 5, 6, 7, 13}) {
    const auto a = random_bytes(static_cast<std::size_t>(rows * k), 3);
    for (const auto* table : test::vector_tables()) {
      const Packed packed = pack(table->matmul, b, k, n, false, 0);
      const std::int64_t stride = n + 3;
      std::vector<std::int32_t> acc(static_cast<std::size_t>(rows * stride), 77);
      table->matmul.product({rows, n, k, a.data(), k, packed.bytes.data(), acc.data(), stride, nullptr, 0, {}});
      for (std::int64_t m = 0; m < rows; ++m)
        for (std::int64_t j = 0; j < stride; ++j) {
          std::int32_t expected = j < n ? 0 : 77;
          for (std::int64_t i = 0; j < n && i < k; ++i)
            expected += a[static_cast<std::size_t>(m * k + i)] *
                        static_cast<std::int8_t>(b[static_cast<std::size_t>(i * n + j)]);
          ASSERT_EQ(acc[static_cast<std::size_t>(m * stride + j)], expected)
              << table->isa << " rows=" << rows << " at " << m << "," << j;
        }
    }
  }
}

// Sums begin where they are told, also at those of the rows of k before; what is fetched ahead changes nothing.
TEST_P(Sizes, ProductsGoOnFromOtherSums) {
  const std::int64_t k = std::get<0>(GetParam()), n = std::get<1>(GetParam()), rows = 8, depth = k + 5;
  const auto b = random_bytes(static_cast<std::size_t>(k * n), 8);
  const auto a = random_bytes(static_cast<std::size_t>(rows * depth), 9);
  std::vector<std::int32_t> terms(static_cast<std::size_t>(n));
  for (std::size_t j = 0; j < terms.size(); ++j) terms[j] = static_cast<std::int32_t>(j * 0x4C957F2DU);
  for (const auto* table : test::vector_tables()) {
    const Packed packed = pack(table->matmul, b, k, n, false, 0);
    std::vector<std::int32_t> product(static_cast<std::size_t>(rows * n)), acc(product.size() + 1, 77);
    vector::ProductTile tile{rows, n, k, a.data(), depth, packed.bytes.data(), product.data(), n, nullptr, 0, {}};
    table->matmul.product(tile);
    tile.acc = acc.data();
    tile.start = terms.data();
    tile.ahead = {b.data(), n, k};
    table->matmul.product(tile);
    tile.start = tile.acc;
    tile.start_stride = n;
    table->matmul.product(tile);
    for (std::size_t i = 0; i < product.size(); ++i) {
      const auto once = static_cast<std::uint32_t>(product[i]);
      const auto term = static_cast<std::uint32_t>(terms[i % terms.size()]);
      ASSERT_EQ(static_cast<std::uint32_t>(acc[i]), term + once + once) << table->isa << " at " << i;
    }
    ASSERT_EQ(acc.back(), 77) << table->isa;
  }
}

TEST_P(Sizes, PlainProductsEqualPackedOnes) {
  const std::int64_t k = std::get<0>(GetParam()), n = std::get<1>(GetParam());
  // Exactly as large as it says: a read past the end is a sanitizer's business.
  const auto b = random_bytes(static_cast<std::size_t>(k * n), 8);
  for (const auto* table : test::vector_tables())
    for (const std::int64_t rows : {1, 2, 4, 5, 8})
      for (const std::uint8_t flip : {0, 0x80}) {
        const auto a = random_bytes(static_cast<std::size_t>(rows * k), 9);
        const Packed packed = pack(table->matmul, b, k, n, false, flip);
        std::vector<std::int32_t> expected(static_cast<std::size_t>(rows * n)), acc(expected.size() + 1, 77);
        std::vector<std::int32_t> sums(static_cast<std::size_t>(n) + 1, 77);
        table->matmul.product({rows, n, k, a.data(), k, packed.bytes.data(), expected.data(), n, nullptr, 0, {}});
        if (!table->matmul.plain_product(rows, n, k, a.data(), {b.data(), n, flip}, acc.data(), n, sums.data()))
          continue;
        ASSERT_EQ(acc.back(), 77);
        ASSERT_EQ(sums.back(), 77);
        acc.pop_back();
        ASSERT_EQ(acc, expected) << table->isa << " rows=" << rows;
        for (std::int64_t j = 0; j < n; ++j)
          ASSERT_EQ(sums[static_cast<std::size_t>(j)], packed.sums[static_cast<std::size_t>(j)]) << table->isa;
      }
}

INSTANTIATE_TEST_SUITE_P(All, Sizes,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 31, 63, 64, 65, 130, 257),
                                          testing::Values(1, 3, 8, 15, 16, 17, 63, 64, 65, 130)));

// Weights as they come, in pieces of k, give the sums of those that are packed first.
TEST(WeightsOfTheRun, AreMultipliedAsPackedOnes) {
  const vector::MatMulKernels& loops = vector::kernels().matmul;
  for (const std::int64_t k : {1, 63, 384, 385, 1000})
    for (const std::int64_t n : {1, 63, 64, 200})
      for (const std::int64_t rows : {1, 4, 16, 48})
        for (const std::uint8_t flip : {0, 0x80}) {
          // Exactly as large as it says: a read past the end is a sanitizer's business.
          const auto b = random_bytes(static_cast<std::size_t>(k * n), 10);
          const auto a = random_bytes(static_cast<std::size_t>(rows * k), 11);
          const Packed packed = pack(loops, b, k, n, false, flip);
          std::vector<std::int32_t> expected(static_cast<std::size_t>(rows * n)), acc(expected.size() + 1, 77);
          std::vector<std::int32_t> sums(static_cast<std::size_t>(n) + 1, 77);
          loops.product({rows, n, k, a.data(), k, packed.bytes.data(), expected.data(), n, nullptr, 0, {}});
          auto offered = core::offer_vector_product({rows, n, k, true});
          const auto& product = std::get<std::unique_ptr<core::Product>>(offered);
          ASSERT_TRUE(product->reads_plain(rows));
          product->run_plain(rows, n, a.data(), {b.data(), n, flip}, acc.data(), n, sums.data());
          ASSERT_EQ(acc.back(), 77);
          ASSERT_EQ(sums.back(), 77);
          acc.pop_back();
          ASSERT_EQ(acc, expected) << "rows=" << rows << " k=" << k << " n=" << n;
          for (std::size_t j = 0; j + 1 < sums.size(); ++j) ASSERT_EQ(sums[j], packed.sums[j]);
        }
}

// oneDNN's own packing of the same weights gives the same bytes: its primitives may read ours.
TEST(PackedLayout, IsOneDnnsTag) {
  const std::int64_t k = 130, n = 100;
  const auto b = random_bytes(static_cast<std::size_t>(k * n), 4);
  const Packed packed = pack(vector::kernels().matmul, b, k, n, false, 0);
  dnnl_memory_desc_t plain = nullptr, tagged = nullptr;
  const dnnl_dims_t dims = {k, n};
  onednn::check(dnnl_memory_desc_create_with_tag(&plain, 2, dims, dnnl_s8, dnnl_ab), "plain");
  onednn::check(dnnl_memory_desc_create_with_tag(&tagged, 2, dims, dnnl_s8, dnnl_BA16a64b4a), "tagged");
  ASSERT_EQ(dnnl_memory_desc_get_size(tagged), packed.bytes.size());
  std::vector<std::int8_t> theirs(packed.bytes.size());
  dnnl_memory_t from = nullptr, to = nullptr;
  onednn::check(dnnl_memory_create(&from, plain, onednn::engine(), const_cast<std::uint8_t*>(b.data())), "from");
  onednn::check(dnnl_memory_create(&to, tagged, onednn::engine(), theirs.data()), "to");
  dnnl_primitive_desc_t descriptor = nullptr;
  dnnl_primitive_t reorder = nullptr;
  dnnl_stream_t stream = nullptr;
  onednn::check(
      dnnl_reorder_primitive_desc_create(&descriptor, plain, onednn::engine(), tagged, onednn::engine(), nullptr),
      "descriptor");
  onednn::check(dnnl_primitive_create(&reorder, descriptor), "reorder");
  onednn::check(dnnl_stream_create(&stream, onednn::engine(), dnnl_stream_default_flags), "stream");
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
  onednn::check(dnnl_primitive_execute(reorder, stream, 2, arguments), "execute");
  onednn::check(dnnl_stream_wait(stream), "wait");
  EXPECT_EQ(packed.bytes, theirs);
  dnnl_stream_destroy(stream);
  dnnl_primitive_destroy(reorder);
  dnnl_primitive_desc_destroy(descriptor);
  dnnl_memory_destroy(from);
  dnnl_memory_destroy(to);
  dnnl_memory_desc_destroy(plain);
  dnnl_memory_desc_destroy(tagged);
}

// A product over a range of columns that begins at a multiple of 64 equals that part of the whole, on every backend.
TEST(CutProducts, EqualWholeOnes) {
  const std::int64_t m = 45, k = 200, n = 330;
  const auto a = random_bytes(static_cast<std::size_t>(m * k), 5);
  const auto b = random_bytes(static_cast<std::size_t>(k * n), 6);
  const Packed packed = pack(vector::kernels().matmul, b, k, n, false, 0);
  const core::ProductRequest request{m, n, k};
  std::vector<std::int32_t> whole(static_cast<std::size_t>(m * n));
  std::vector<std::int32_t> start(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<std::int32_t>(i * 0x3C6EF35FU);
  vector::kernels().matmul.product({m, n, k, a.data(), k, packed.bytes.data(), whole.data(), n, start.data(), 0, {}});
  for (const auto& offer : {core::offer_onednn_product, core::offer_vector_product, core::offer_eigen_product}) {
    auto offered = offer(request);
    const auto* product = std::get_if<std::unique_ptr<core::Product>>(&offered);
    if (product == nullptr) {
      EXPECT_FALSE(core::has_vnni(core::cpu_isa_level())) << std::get<core::Refusal>(offered).reason;
      continue;
    }
    for (const std::int64_t begin : {0, 64, 256}) {
      std::vector<std::int32_t> part(whole.size(), -1);
      (*product)->run(m, n - begin, a.data(), packed.bytes.data() + begin * padded_k(k), start.data() + begin,
                      part.data() + begin, n);
      for (std::int64_t i = 0; i < m * n; ++i)
        ASSERT_EQ(part[static_cast<std::size_t>(i)], i % n < begin ? -1 : whole[static_cast<std::size_t>(i)])
            << (*product)->implementation() << " from column " << begin << " at " << i;
    }
  }
}

TEST(Epilogue, SaturatesAndTakesNanForTheLeastValue) {
  const std::vector<std::int32_t> acc = {1000, -1000, 5, -5, 3, 1, 7};
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> scale = {1.0F, 1.0F, 0.5F, 0.5F, inf, nan, -inf};
  for (const auto* table : test::vector_tables()) {
    vector::EpilogueTile tile{};
    tile.rows = 1;
    tile.columns = 7;
    tile.acc = acc.data();
    tile.scale = scale.data();
    tile.y_zero_point = 3;
    std::vector<std::uint8_t> unsigned_bytes(7);
    tile.y = unsigned_bytes.data();
    table->matmul.epilogue_u8(tile);
    EXPECT_EQ(unsigned_bytes, (std::vector<std::uint8_t>{255, 0, 5, 1, 255, 0, 0})) << table->isa;
    std::vector<std::int8_t> signed_bytes(7);
    tile.y = signed_bytes.data();
    table->matmul.epilogue_s8(tile);
    EXPECT_EQ(signed_bytes, (std::vector<std::int8_t>{127, -128, 5, 1, 127, -128, -128})) << table->isa;
  }
}

// Every term, every tail, the same bits from every instruction set as from the formula.
TEST(Epilogue, FollowsTheFormula) {
  std::mt19937 random(7);
  for (const std::int64_t n : {1, 7, 8, 15, 16, 17, 63, 64, 65, 300}) {
    const auto count = static_cast<std::size_t>(n);
    std::vector<std::int32_t> acc(2 * count), column_term(count), addend(2 * count), zero_point(count);
    std::vector<float> scale(count), bias(count);
    for (auto* values : {&acc, &column_term, &addend})
      for (auto& value : *values) value = static_cast<std::int32_t>(random() % 2000000) - 1000000;
    for (auto& value : zero_point) value = static_cast<std::int32_t>(random() % 256) - 128;
    for (auto* values : {&scale, &bias})
      for (auto& value : *values) value = std::ldexp(static_cast<float>(random() % 4096) - 2048.0F, -20);
    const std::int32_t row_term[] = {12345, -777}, row_sum[] = {99999, 5};
    for (const auto* table : test::vector_tables()) {
      std::vector<float> y(2 * count);
      vector::EpilogueTile tile{2,
                                n,
                                acc.data(),
                                n,
                                y.data(),
                                n,
                                column_term.data(),
                                row_term,
                                addend.data(),
                                n,
                                row_sum,
                                zero_point.data(),
                                scale.data(),
                                bias.data(),
                                0};
      table->matmul.epilogue_f32(tile);
      for (std::size_t i = 0; i < 2 * count; ++i) {
        const std::size_t m = i / count, j = i % count;
        const std::int32_t sum = acc[i] + column_term[j] + row_term[m] + addend[i] - row_sum[m] * zero_point[j];
        const float product = static_cast<float>(sum) * scale[j];
        ASSERT_EQ(y[i], product + bias[j]) << table->isa << " n=" << n << " at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace octet
