// The binary family: QLinearAdd, QLinearMul, MulInteger. Formulas: provider/ops/binary.cc.
#include <cmath>
#include <numeric>

#include "provider/core/elementwise_loops.hpp"
#include "provider/kernels/binary_loops.hpp"
#include "provider/kernels/kernels.hpp"

namespace octet::core {
namespace {

using vector::BinaryForm;
using vector::BinaryRows;

constexpr std::size_t kNone = ~std::size_t{0};

/// Where a node's inputs are.
struct Ports {
  std::size_t a, a_scale, a_zero_point, b, b_scale, b_zero_point, c_scale, c_zero_point;
};
constexpr Ports kQLinearPorts{0, 1, 2, 3, 4, 5, 6, 7};
constexpr Ports kIntegerPorts{0, kNone, 1, 2, kNone, 3, kNone, kNone};

enum class Function { add, multiply, multiply_integer };

/// The function with the parameters of one run.
struct Computation {
  Function function;
  std::size_t is_signed;
  vector::AddParameters add;
  vector::MultiplyParameters multiply;

  void operator()(const vector::BinaryKernels& loops, BinaryForm form, const BinaryRows& rows) const {
    switch (function) {
      case Function::add:
        return loops.add[is_signed][form](add, rows);
      case Function::multiply:
        return loops.multiply[is_signed][form](multiply, rows);
      case Function::multiply_integer:
        return loops.multiply_integer[is_signed][form](multiply.a_zero_point, multiply.b_zero_point, rows);
    }
  }
};

class BinaryPlan final : public Plan {
 public:
  BinaryPlan(Decision decision, BinaryLoops loops, Function function, const Ports& ports, const PlanRequest& request)
      : Plan(std::move(decision)),
        loops_(std::move(loops)),
        function_(function),
        ports_(ports),
        is_signed_(signed_index(request.inputs[ports.a].dtype)),
        elements_(request.outputs[0].elements()),
        walk_(broadcast_loops(request.inputs[ports.a].dims, request.inputs[ports.b].dims, request.outputs[0].dims)) {}

  void run(const Call& call, const TensorView* inputs, const TensorView* outputs) const override {
    const Computation compute = computation(inputs);
    const auto* a = inputs[ports_.a].as<const std::uint8_t>();
    const auto* b = inputs[ports_.b].as<const std::uint8_t>();
    auto* y = outputs[0].as<std::uint8_t>();
    const std::int64_t y_size = function_ == Function::multiply_integer ? 4 : 1;
    for_each_part(call, elements_, walk_.grain(), 0.1, [&](std::int64_t begin, std::int64_t end) {
      walk_.for_each_rows(begin, end, a, b, y, y_size, [&](BinaryForm form, const BinaryRows& rows) {
        if (form != vector::kVectors && y_size == 1 && loops_.lookup != nullptr && rows.n >= kWorthATable)
          look_up(compute, form, rows);
        else
          compute(loops_.loops, form, rows);
      });
    });
  }

 private:
  // With one operand fixed, the results are a table of the other one: to make it takes as long as to compute 256
  // elements.
  static constexpr std::size_t kWorthATable = 1024;

  Computation computation(const TensorView* inputs) const {
    Computation result{function_, is_signed_, {}, {}};
    const std::int32_t a_zero = zero_point_of(inputs[ports_.a_zero_point]);
    const std::int32_t b_zero = zero_point_of(inputs[ports_.b_zero_point]);
    result.multiply = {a_zero, b_zero, 0, 0};
    if (function_ == Function::multiply_integer) return result;
    const float a_scale = scale_of(inputs[ports_.a_scale]);
    const float b_scale = scale_of(inputs[ports_.b_scale]);
    const float c_scale = scale_of(inputs[ports_.c_scale]);
    const auto c_zero = static_cast<float>(zero_point_of(inputs[ports_.c_zero_point]));
    if (function_ == Function::add) {
      const float a_factor = a_scale / c_scale;
      const float b_factor = b_scale / c_scale;
      const float b_term = b_factor * static_cast<float>(b_zero);
      result.add = {a_factor, b_factor, c_zero - std::fma(a_factor, static_cast<float>(a_zero), b_term)};
    } else {
      const float product = a_scale * b_scale;
      result.multiply.factor = product / c_scale;
      result.multiply.y_zero_point = c_zero;
    }
    return result;
  }

  void look_up(const Computation& compute, BinaryForm form, const BinaryRows& rows) const {
    std::uint8_t bytes[vector::kTableSize];
    std::iota(bytes, bytes + vector::kTableSize, std::uint8_t{0});
    const auto* a = static_cast<const std::uint8_t*>(rows.a);
    const auto* b = static_cast<const std::uint8_t*>(rows.b);
    auto* y = static_cast<std::uint8_t*>(rows.y);
    const bool a_moves = form == vector::kScalarB;
    for (std::int64_t i = 0; i < rows.rows; ++i, a += rows.a_stride, b += rows.b_stride, y += rows.n) {
      std::uint8_t table[vector::kTableSize];
      compute(loops_.loops, form, {1, vector::kTableSize, a_moves ? bytes : a, 0, a_moves ? b : bytes, 0, table});
      loops_.lookup->lookup(table, {1, rows.n, a_moves ? a : b, 0, y, 0});
    }
  }

  const BinaryLoops loops_;
  const Function function_;
  const Ports ports_;
  const std::size_t is_signed_;
  const std::int64_t elements_;
  const BroadcastWalk walk_;
};

class BinaryKernel final : public Kernel {
 public:
  explicit BinaryKernel(const NodeContext& node)
      : function_(node.op.name == "QLinearAdd"   ? Function::add
                  : node.op.name == "QLinearMul" ? Function::multiply
                                                 : Function::multiply_integer),
        ports_(function_ == Function::multiply_integer ? kIntegerPorts : kQLinearPorts) {}

  std::unique_ptr<const Plan> plan(const PlanRequest& request) const override {
    Choice<BinaryLoops> choice = dispatch<BinaryLoops>(
        request.options, request.label,
        {{"onednn", offer_onednn_binary}, {"vector", offer_vector_binary}, {"eigen", offer_eigen_binary}});
    choice.decision.implementation = choice.chosen->implementation;
    return std::make_unique<BinaryPlan>(std::move(choice.decision), *choice.chosen, function_, ports_, request);
  }

 private:
  Function function_;
  Ports ports_;
};

}  // namespace

std::unique_ptr<const Kernel> make_binary_kernel(const NodeContext& node) {
  return std::make_unique<BinaryKernel>(node);
}

}  // namespace octet::core
