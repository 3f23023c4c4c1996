// The unary family: QLinearLeakyRelu, QLinearSigmoid. Formulas: provider/ops/unary.cc.
#include <array>
#include <mutex>
#include <optional>

#include "provider/kernels/kernels.hpp"
#include "provider/kernels/unary_table.hpp"

namespace octet::core {
namespace {

enum Input : std::size_t { kX, kXScale, kXZeroPoint, kYScale, kYZeroPoint };
using Table = std::array<std::uint8_t, vector::kTableSize>;

/// The table that was made last: parameters that are inputs seldom change from run to run.
class TableMemo {
 public:
  /// The function's table. Does not wait for other threads: where one is here, the table is made anew.
  Table table(const UnaryLoops& loops, const ByteFunction& function) const {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (lock.owns_lock() && filled_ && function_.has_parameters_of(function)) return table_;
    Table made;
    function.make_table(loops, made.data());
    if (lock.owns_lock()) {
      filled_ = true;
      function_ = function;
      table_ = made;
    }
    return made;
  }

 private:
  mutable std::mutex mutex_;
  mutable bool filled_ = false;
  mutable ByteFunction function_;
  mutable Table table_{};
};

class UnaryPlan final : public Plan {
 public:
  /// `is_constant`: the function's parameters are known, and with them the table.
  UnaryPlan(Decision decision, UnaryLoops loops, const PlanRequest& request, const ByteFunction& function,
            bool is_constant)
      : Plan(std::move(decision)),
        loops_(std::move(loops)),
        function_(function),
        elements_(request.outputs[0].elements()) {
    if (is_constant) function_.make_table(loops_, table_.emplace().data());
  }

  void run(const Call& call, const TensorView* inputs, const TensorView* outputs) const override {
    const auto* x = inputs[kX].as<const std::uint8_t>();
    auto* y = outputs[0].as<std::uint8_t>();
    if (table_) return look_up(call, loops_, table_->data(), x, elements_, y);
    ByteFunction function = function_;
    function.set_parameters(inputs[kXScale], inputs[kXZeroPoint], inputs[kYScale], inputs[kYZeroPoint]);
    look_up(call, loops_, memo_.table(loops_, function).data(), x, elements_, y);
  }

 private:
  const UnaryLoops loops_;
  const ByteFunction function_;
  const std::int64_t elements_;
  std::optional<Table> table_;
  TableMemo memo_;
};

class UnaryKernel final : public Kernel {
 public:
  explicit UnaryKernel(const NodeContext& node) {
    function_.is_signed = node.node.inputs[kX].dtype == DataType::int8;
    if (node.op.name == "QLinearLeakyRelu") {
      function_.kind = ByteFunction::Kind::leaky_relu;
      function_.alpha = node.attribute<float>("alpha");
    } else {
      function_.kind = ByteFunction::Kind::sigmoid;
    }
    for (const std::size_t i : {kXScale, kXZeroPoint, kYScale, kYZeroPoint})
      is_constant_ = is_constant_ && (!node.has_input(i) || node.constant(i).present());
    if (is_constant_)
      function_.set_parameters(node.constant(kXScale), node.constant(kXZeroPoint), node.constant(kYScale),
                               node.constant(kYZeroPoint));
  }

  std::unique_ptr<const Plan> plan(const PlanRequest& request) const override {
    Choice<UnaryLoops> choice = choose_unary_loops(request.options, request.label);
    choice.decision.implementation = choice.chosen->implementation;
    return std::make_unique<UnaryPlan>(std::move(choice.decision), *choice.chosen, request, function_, is_constant_);
  }

 private:
  ByteFunction function_;
  bool is_constant_ = true;
};

}  // namespace

Choice<UnaryLoops> choose_unary_loops(const Options& options, const std::string& label) {
  return dispatch<UnaryLoops>(
      options, label, {{"onednn", offer_onednn_unary}, {"vector", offer_vector_unary}, {"eigen", offer_eigen_unary}});
}

void look_up(const Call& call, const UnaryLoops& loops, const std::uint8_t* table, const std::uint8_t* x,
             std::int64_t elements, std::uint8_t* y) {
  for_each_part(call, elements, 4096, 0.04, [&](std::int64_t begin, std::int64_t end) {
    loops.loops.lookup(table, {1, static_cast<std::size_t>(end - begin), x + begin, 0, y + begin, 0});
  });
}

std::unique_ptr<const Kernel> make_unary_kernel(const NodeContext& node) { return std::make_unique<UnaryKernel>(node); }

}  // namespace octet::core
