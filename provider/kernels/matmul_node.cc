#include "provider/kernels/matmul_node.hpp"

namespace octet::core {

MatMulNode::MatMulNode(const NodeContext& node) {
  const std::string& name = node.op.name;
  if (name == "MatMulInteger") {
    ports.a_zero_point = 2;
    ports.b_zero_point = 3;
  } else if (name == "MatMulIntegerToFloat") {
    ports.a_scale = 2;
    ports.b_scale = 3;
    ports.a_zero_point = 4;
    ports.b_zero_point = 5;
    ports.bias = 6;
  } else if (name == "DynamicQuantizeMatMul") {
    ports.b_scale = 2;
    ports.b_zero_point = 3;
    ports.bias = 4;
    quantizes_a = true;
    rowwise = node.options.rowwise;
  } else {  // QLinearMatMul and QGemm begin alike
    ports.a_scale = 1;
    ports.a_zero_point = 2;
    ports.b = 3;
    ports.b_scale = 4;
    ports.b_zero_point = 5;
    const bool gemm = name == "QGemm";
    ports.c = gemm ? 6 : MatMulPorts::kNone;
    ports.y_scale = gemm ? 7 : 6;
    ports.y_zero_point = gemm ? 8 : 7;
    if (gemm) {
      transpose_a = node.attribute<std::int64_t>("transA") != 0;
      transpose_b = node.attribute<std::int64_t>("transB") != 0;
      alpha = node.attribute<float>("alpha");
    }
  }
}

}  // namespace octet::core
