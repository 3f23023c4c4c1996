// Products without elements, of any extents, and products that memory cannot hold.
#include <gtest/gtest.h>

#include <octet/octet.hpp>

namespace octet::test {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kHuge = 1000000000;

struct Product {
  const char* op_type;
  DataType a, y;
};

class EmptyProduct : public testing::TestWithParam<Product> {
 protected:
  /// The product of a and b, whose data nobody reads.
  static void run(const Dims& a, const Dims& b, const Dims& y, bool constant, bool rowwise) {
    const Product product = GetParam();
    const bool is_integer = product.y == DataType::int32;
    const float scale = 1;
    const Dims one;
    Node node;
    node.op_type = product.op_type;
    node.domain = is_integer ? "" : "com.microsoft";
    node.opset_version = is_integer ? 10 : 1;
    node.inputs = {{product.a}, {DataType::int8, b, constant ? &scale : nullptr}};
    std::vector<TensorView> inputs = {{&scale, product.a, a}, {constant ? nullptr : &scale, DataType::int8, b}};
    if (!is_integer) {
      node.inputs.push_back({DataType::float32});
      inputs.emplace_back(&scale, DataType::float32, one);
    }
    if (std::string(product.op_type) == "MatMulIntegerToFloat") {
      node.inputs.push_back({DataType::float32});
      inputs.emplace_back(&scale, DataType::float32, one);
    }
    if (constant) inputs[1] = {};
    Options options;
    options.rowwise = rowwise;
    const Operator op(node, options);
    EXPECT_EQ(op.infer(inputs)[0].dims, y);
    op.run(inputs, {{nullptr, product.y, y}});
    EXPECT_EQ(op.explain(inputs).backend, "none");
  }
};

TEST_P(EmptyProduct, TakesNoMemoryForItsBatch) {
  for (const bool rowwise : {false, true}) {
    run({kHuge, 0, 8}, {8, 4}, {kHuge, 0, 4}, false, rowwise);
    run({kHuge, 0, 8}, {kHuge, 8, 4}, {kHuge, 0, 4}, false, rowwise);
    run({kHuge, 1, 0, 8}, {4, 8, 4}, {kHuge, 4, 0, 4}, false, rowwise);
    run({0, 5, 8}, {1, 8, 4}, {0, 5, 4}, false, rowwise);
    for (const bool constant : {false, true}) {
      run({kHuge, 5, 8}, {8, 0}, {kHuge, 5, 0}, constant, rowwise);
      run({5, 8}, {kHuge, 8, 0}, {kHuge, 5, 0}, constant, rowwise);
      run({0, 0}, {kHuge, 0, 4}, {kHuge, 0, 4}, constant, rowwise);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, EmptyProduct,
                         testing::Values(Product{"MatMulInteger", DataType::uint8, DataType::int32},
                                         Product{"MatMulIntegerToFloat", DataType::uint8, DataType::float32},
                                         Product{"DynamicQuantizeMatMul", DataType::float32, DataType::float32}),
                         [](const auto& parameter) { return std::string(parameter.param.op_type); });

// More than a process can address, so that no system gives it.
TEST(Operator, MemoryThatIsExhaustedIsAnError) {
#ifdef OCTET_SANITIZED
  GTEST_SKIP() << "the sanitizer ends the process";
#endif
  constexpr std::int64_t kTooMany = std::int64_t{1} << 45;
  Node node;
  node.op_type = "MatMulInteger";
  node.domain = "";
  node.opset_version = 10;
  node.inputs = {{DataType::uint8}, {DataType::int8}};
  const Operator op(node);
  const Dims dims{kTooMany, 1, 1};
  const std::vector<TensorView> inputs = {{nullptr, DataType::uint8, dims}, {nullptr, DataType::int8, dims}};
  try {
    op.explain(inputs);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  }
}

}  // namespace
}  // namespace octet::test
