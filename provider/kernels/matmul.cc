// The matmul family: MatMulInteger, MatMulIntegerToFloat, DynamicQuantizeMatMul, QGemm, QLinearMatMul.
//
//   sum[m][n] = sum over k of (A[m][k] - a_zero_point[m]) * (B[k][n] - b_zero_point[n])      int32, modulo 2^32
//   then each operator's formula (provider/ops/matmul.cc) by the epilogue (primitives/vector/matmul_kernels.hpp).
#include <algorithm>

#include "provider/kernels/choose_product.hpp"
#include "provider/kernels/kernels.hpp"
#include "provider/kernels/matmul_plan.hpp"

namespace octet::core {
namespace {

bool is_computed(DataType type) {
  return is_8bit(type) || type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16 ||
         type == DataType::int32;
}

/// One long product instead of many where every matrix of the batch meets the same B and the same parameters.
void merge_where_possible(const MatMulNode& node, const PlanRequest& request, MatMulShape& shape) {
  if (shape.batch <= 1 || shape.b_matrices != 1) return;
  for (const std::size_t port : {node.ports.a_scale, node.ports.a_zero_point})
    if (!shape.parameter(MatMulPorts::info(request, port), true).one_value()) return;
  for (const std::size_t port : {node.ports.b_scale, node.ports.b_zero_point})
    if (!shape.parameter(MatMulPorts::info(request, port), false).offsets.empty()) return;
  shape.merge_batch_into_rows();
}

class MatMulKernel final : public Kernel {
 public:
  explicit MatMulKernel(const NodeContext& node) : node_(node) {
    for (std::size_t i = 0; i < node.node.inputs.size(); ++i)
      if (node.has_input(i) && !is_computed(node.node.inputs[i].dtype))
        throw Error(ErrorCode::not_implemented, node.label + ": input '" + node.op.inputs[i].name + "' has type " +
                                                    data_type_name(node.node.inputs[i].dtype) +
                                                    ", computed are the 8-bit integers");
    const TensorView b = node.constant(node_.ports.b);
    if (b.present() && std::find(b.dims, b.dims + b.rank, 0) == b.dims + b.rank) pack(b);
  }

  bool holds(std::size_t input) const noexcept override { return weights_ != nullptr && input == node_.ports.b; }

  std::unique_ptr<const Plan> plan(const PlanRequest& request) const override {
    MatMulShape shape(request.inputs[node_.ports.a].dims, request.inputs[node_.ports.b].dims, node_.transpose_a,
                      node_.transpose_b);
    merge_where_possible(node_, request, shape);
    Choice<Product> product;
    if (shape.k == 0) {
      product.decision = {"none", "sums over nothing", {}};
    } else {
      const bool weights_of_run = weights_ == nullptr && !node_.transpose_b;
      product = choose_product(request.options, request.label, {shape.m, shape.n, shape.k, weights_of_run});
    }
    if (node_.rowwise) product.decision.reasons.push_back("rowwise: each row of A is quantized by its own range");
    return std::make_unique<MatMulPlan>(node_, request, std::move(shape), weights_, std::move(product));
  }

 private:
  void pack(const TensorView& b) {
    const Dims dims(b.dims, b.dims + b.rank);
    const std::int64_t k = dims.size() == 1 || node_.transpose_b ? dims.back() : dims[dims.size() - 2];
    const MatMulShape shape({1, k}, dims, false, node_.transpose_b);
    const MatrixStrides strides = node_.transpose_b ? MatrixStrides{1, shape.k} : MatrixStrides{shape.n, 1};
    weights_ = pack_weights(b, shape.b_matrices, shape.k, shape.n, strides);
  }

  MatMulNode node_;
  std::shared_ptr<const PackedWeights> weights_;
};

}  // namespace

std::unique_ptr<const Kernel> make_matmul_kernel(const NodeContext& node) {
  return std::make_unique<MatMulKernel>(node);
}

}  // namespace octet::core
