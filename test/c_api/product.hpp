// What the tests of the C interface share: errors by their text, and a product to call.
#pragma once

#include <gtest/gtest.h>
#include <octet/octet.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

using Dims = std::vector<std::int64_t>;

/// Takes ownership; OCTET_OK and "" for success.
struct Result {
  Result(octet_status* status) : code(octet_status_code(status)), text(octet_status_text(status)) {  // NOLINT
    octet_status_release(status);
  }
  std::int32_t code;
  std::string text;
};

inline void expect_ok(const Result& result) { EXPECT_EQ(result.code, OCTET_OK) << result.text; }

/// An error whose text holds each of the parts.
inline void expect_error(const Result& result, const std::vector<std::string>& parts,
                         std::int32_t code = OCTET_INVALID_ARGUMENT) {
  EXPECT_EQ(result.code, code) << result.text;
  EXPECT_FALSE(result.text.empty());
  for (const auto& part : parts)
    EXPECT_NE(result.text.find(part), std::string::npos) << result.text << "\nlacks " << part;
}

inline void expect_last_error(const std::vector<std::string>& parts, std::int32_t code = OCTET_INVALID_ARGUMENT) {
  EXPECT_EQ(octet_last_error_code(), code) << octet_last_error();
  for (const auto& part : parts)
    EXPECT_NE(std::string(octet_last_error()).find(part), std::string::npos)
        << octet_last_error() << "\nlacks " << part;
}

/// MatMulInteger 'product' with constant B and zero points, over full-range data, and its result by definition.
struct Product {
  explicit Product(std::int64_t m_, std::int64_t k_, std::int64_t n_)
      : m(m_), k(k_), n(n_), a(size(m, k)), b(size(k, n)) {
    std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same data in every run
    for (auto& value : a) value = static_cast<std::uint8_t>(random());
    for (auto& value : b) value = static_cast<std::int8_t>(random());
    if (!b.empty()) b.front() = -128;
  }
  static std::size_t size(std::int64_t x, std::int64_t y) { return static_cast<std::size_t>(x * y); }

  octet_node* node() const {
    octet_node* node = octet_node_create("", "MatMulInteger", 10, "product");
    EXPECT_NE(node, nullptr) << octet_last_error();
    const Dims any_rows{-1, k};
    expect_ok(octet_node_set_input(node, 0, OCTET_TYPE_UINT8, any_rows.data(), 2));
    expect_ok(octet_node_set_constant(node, 1, OCTET_TYPE_INT8, b_dims.data(), 2, b.data(), b.size()));
    expect_ok(octet_node_set_constant(node, 2, OCTET_TYPE_UINT8, nullptr, 0, &a_zero_point, 1));
    expect_ok(octet_node_set_constant(node, 3, OCTET_TYPE_INT8, nullptr, 0, &b_zero_point, 1));
    return node;
  }

  /// A call with A set; node and operator are released already, as octet.h allows.
  octet_call* call(const char* option = nullptr, const char* value = nullptr) const {
    octet_node* const made = node();
    if (option != nullptr) expect_ok(octet_node_set_option(made, option, value));
    octet_operator* const op = octet_operator_create(made);
    EXPECT_NE(op, nullptr) << octet_last_error();
    octet_node_release(made);
    octet_call* const call = octet_call_create(op);
    EXPECT_NE(call, nullptr) << octet_last_error();
    octet_operator_release(op);
    expect_ok(octet_call_set_input(call, 0, OCTET_TYPE_UINT8, a_dims.data(), 2, a.data(), a.size()));
    return call;
  }

  std::vector<std::int32_t> expected() const {
    std::vector<std::int32_t> y(size(m, n));
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t l = 0; l < k; ++l)
          y[static_cast<std::size_t>(i * n + j)] += (a[static_cast<std::size_t>(i * k + l)] - a_zero_point) *
                                                    (b[static_cast<std::size_t>(l * n + j)] - b_zero_point);
    return y;
  }

  std::int64_t m, k, n;
  Dims a_dims{m, k}, b_dims{k, n}, y_dims{m, n};
  std::vector<std::uint8_t> a;
  std::vector<std::int8_t> b;
  std::uint8_t a_zero_point = 113;
  std::int8_t b_zero_point = -7;
};
