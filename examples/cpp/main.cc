#include <octet/octet.hpp>

#include <cstdio>

int main() {
  using octet::DataType;
  const std::int8_t weights[] = {1, -2, 3, 4, -128, 127};  // B [3,2], packed once
  const float a_scale = 0.5F, b_scale[] = {0.25F, 2.0F};   // one scale for A, one for each column of B

  octet::Node node;
  node.op_type = "MatMulIntegerToFloat";
  node.name = "fc1";
  node.inputs = {{DataType::uint8},
                 {DataType::int8, {{3, 2}}, weights},
                 {DataType::float32, std::vector<std::int64_t>{}, &a_scale},
                 {DataType::float32, {{2}}, b_scale}};
  const octet::Operator fc1(node);

  const std::vector<std::int64_t> a_dims{2, 3}, y_dims{2, 2};
  const std::uint8_t a[] = {1, 2, 3, 255, 0, 1};
  float y[4];
  const std::vector<octet::TensorView> inputs{{a, DataType::uint8, a_dims}};
  fc1.run(inputs, {{y, DataType::float32, y_dims}});

  std::printf("%g %g\n%g %g\n%s\n", y[0], y[1], y[2], y[3], fc1.explain(inputs).implementation.c_str());
}
