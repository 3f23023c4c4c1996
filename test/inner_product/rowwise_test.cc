// DynamicQuantizeMatMul with rowwise: each row as if it were alone, whatever B's form.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "test/support/tensor.hpp"
#include "test/support/threads.hpp"

namespace octet::test {
namespace {

struct Form {
  DataType b_type;
  Dims a_dims, b_dims;
  bool constant, per_column, zero_point, bias;
};

class Product {
 public:
  explicit Product(const Form& form) : form_(form), k_(form.a_dims.back()), n_(form.b_dims.back()) {
    std::mt19937 random(static_cast<unsigned>(7 * k_ + n_));
    std::normal_distribution<float> real(0, 1);
    a_.resize(static_cast<std::size_t>(elements_of(form.a_dims)));
    for (std::size_t i = 0; i < a_.size(); ++i)  // rows of very different ranges
      a_[i] = std::ldexp(real(random), static_cast<int>(i / static_cast<std::size_t>(k_) % 9) - 4);
    b_.resize(static_cast<std::size_t>(elements_of(form.b_dims)));
    for (std::uint8_t& value : b_) value = static_cast<std::uint8_t>(random());
    const std::size_t parameters = form.per_column ? static_cast<std::size_t>(n_) : 1;
    for (std::size_t i = 0; i < parameters; ++i) {
      scale_.push_back(0.01F + 0.001F * real(random));
      zero_point_.push_back(static_cast<std::uint8_t>(random()));
    }
    for (std::int64_t i = 0; i < n_; ++i) bias_.push_back(real(random));
  }

  std::int64_t rows() const { return elements_of(form_.a_dims) / k_; }
  std::int64_t columns() const { return n_; }
  /// C of all of A, or of one of its rows with the matrix of B that belongs to it.
  std::vector<float> run(bool rowwise, const Call& call = {}) const {
    return run(a_.data(), form_.a_dims, b_.data(), form_.b_dims, rowwise, call);
  }
  std::vector<float> run_row(std::int64_t row, bool rowwise) const {
    const std::int64_t matrices = elements_of(form_.b_dims) / (k_ * n_);
    const std::int64_t matrix = row * matrices / rows();
    return run(a_.data() + row * k_, {1, k_}, b_.data() + matrix * k_ * n_, {k_, n_}, rowwise, {});
  }

 private:
  std::vector<float> run(const float* a, const Dims& a_dims, const std::uint8_t* b, const Dims& b_dims, bool rowwise,
                         const Call& call) const {
    const Dims parameter = form_.per_column ? Dims{n_} : Dims{};
    Node node;
    node.op_type = "DynamicQuantizeMatMul";
    node.inputs = {{DataType::float32},
                   {form_.b_type, b_dims, form_.constant ? b : nullptr},
                   {DataType::float32, parameter, scale_.data()}};
    if (form_.zero_point || form_.bias) node.inputs.resize(4);
    if (form_.zero_point) node.inputs[3] = {form_.b_type, parameter, zero_point_.data()};
    if (form_.bias) node.inputs.push_back({DataType::float32, Dims{n_}, bias_.data()});
    Options options;
    options.rowwise = rowwise;
    const Operator op(node, options);
    Dims y_dims = a_dims;
    y_dims.back() = n_;
    std::vector<float> y(static_cast<std::size_t>(elements_of(y_dims)));
    std::vector<TensorView> inputs = {TensorView(a, DataType::float32, a_dims)};
    if (!form_.constant) inputs.push_back(TensorView(b, form_.b_type, b_dims));
    op.run(inputs, {TensorView(y.data(), DataType::float32, y_dims)}, call);
    return y;
  }

  Form form_;
  std::int64_t k_, n_;
  std::vector<float> a_, scale_, bias_;
  std::vector<std::uint8_t> b_, zero_point_;
};

std::vector<Form> forms() {
  std::vector<Form> forms;
  const std::pair<Dims, Dims> shapes[] = {{{9, 40}, {40, 70}},
                                          {{2, 5, 33}, {33, 64}},
                                          {{2, 7, 65}, {2, 65, 130}},
                                          {{60, 200}, {200, 129}},
                                          {{1, 17}, {17, 5}}};
  for (const auto& [a_dims, b_dims] : shapes)
    for (const DataType b_type : {DataType::int8, DataType::uint8})
      for (unsigned flags = 0; flags < 16; ++flags)
        forms.push_back(
            {b_type, a_dims, b_dims, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, (flags & 8) != 0});
  return forms;
}

// A tensor of one row has one range either way: then the operator is tested against the reference.
TEST(Rowwise, ARowIsAsIfItWereAlone) {
  for (const Form& form : forms()) {
    const Product product(form);
    const std::vector<float> all = product.run(true);
    EXPECT_EQ(product.run(true, lend_threads(3)), all);
    for (std::int64_t row = 0; row < product.rows(); ++row) {
      const auto first = all.begin() + row * product.columns();
      const std::vector<float> found(first, first + product.columns());
      ASSERT_EQ(found, product.run_row(row, true)) << "row " << row;
      ASSERT_EQ(found, product.run_row(row, false)) << "row " << row;
    }
  }
}

TEST(Rowwise, IsOffByDefault) {
  const Product product({DataType::int8, {9, 40}, {40, 70}, true, true, false, true});
  EXPECT_NE(product.run(true), product.run(false));
  EXPECT_FALSE(Options().rowwise);
}

TEST(Rowwise, IsSaidInTheDecision) {
  Node node;
  node.op_type = "DynamicQuantizeMatMul";
  node.inputs = {{DataType::float32}, {DataType::int8}, {DataType::float32}};
  for (const bool rowwise : {false, true}) {
    Options options;
    options.rowwise = rowwise;
    const Dims a{2, 3}, b{3, 4}, scalar;
    const Decision decision =
        Operator(node, options)
            .explain({TensorView(nullptr, DataType::float32, a), TensorView(nullptr, DataType::int8, b),
                      TensorView(nullptr, DataType::float32, scalar)});
    std::string reasons;
    for (const std::string& reason : decision.reasons) reasons += reason;
    EXPECT_EQ(reasons.find("rowwise") != std::string::npos, rowwise) << reasons;
  }
}

}  // namespace
}  // namespace octet::test
