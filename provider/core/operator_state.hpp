// What an octet::Operator is made of: definition, kernel, constants, and the cache of plans.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "provider/core/kernel.hpp"
#include "provider/core/plan_cache.hpp"

namespace octet::core {

class OperatorState {
 public:
  OperatorState(const Node& node, const Options& options);

  const OpDef& op() const noexcept { return *op_; }
  const std::string& label() const noexcept { return label_; }
  const Options& options() const noexcept { return options_; }

  /// True where input i was given as a constant: callers may free theirs and pass an absent view.
  bool holds(std::size_t input) const noexcept;

  /// The plan for inputs of these types and extents; made at first use. Throws where they do not fit the definition.
  std::shared_ptr<const PlanEntry> plan(const TensorView* inputs, std::size_t num_inputs) const;

  /// True where `entry`, a plan of this operator, is the plan for these inputs too.
  bool fits(const PlanEntry& entry, const TensorView* inputs, std::size_t num_inputs) const noexcept {
    return num_inputs <= constants_.size() && entry.key.matches({inputs, num_inputs, varying_});
  }

  /// Runs a plan of this operator. `outputs` are as PlanEntry::outputs says: the caller's promise, see check_outputs.
  void run(const PlanEntry& entry, const TensorView* inputs, std::size_t num_inputs, const TensorView* outputs,
           const Call& call) const;

  std::size_t num_inputs() const noexcept { return constants_.size(); }
  /// One view for each of num_inputs(): the constants', and absent ones for the caller to fill in.
  std::vector<TensorView> constants() const;
  /// run() of inputs that began as constants().
  void run_complete(const PlanEntry& entry, const TensorView* inputs, const TensorView* outputs,
                    const Call& call) const;

  /// Throws unless the outputs have the types and extents of the plan.
  void check_outputs(const PlanEntry& entry, const TensorView* outputs, std::size_t num_outputs) const;

  std::uint64_t runs() const noexcept { return runs_.load(std::memory_order_relaxed); }

 private:
  /// "QGemm 'fc1': input 'A'"
  std::string input_label(std::size_t i) const;
  std::unique_ptr<const Plan> make_plan(const TensorView* inputs, std::vector<TensorInfo>& outputs) const;
  void refuse_excess(const TensorView* given, std::size_t num_given) const;
  void fill_constants(const TensorView* given, std::size_t num_given, TensorView* inputs) const;
  /// function(inputs) with one view for each input of the node, constants filled in.
  template <class Function>
  auto with_inputs(const TensorView* given, std::size_t num_given, const Function& function) const;

  struct Constant {
    DataType dtype = DataType::undefined;  ///< of the input, constant or not; undefined: absent
    TensorInfo info;
    std::vector<unsigned char> bytes;  ///< empty where the kernel holds its own form
    bool given = false;
  };

  const OpDef* op_;
  std::string label_;
  std::string node_name_;
  Options options_;
  Attributes attributes_;
  std::vector<ValueInfo> declared_outputs_;
  std::vector<Constant> constants_;   ///< one for each input of the definition
  std::vector<std::size_t> varying_;  ///< inputs that are not constant
  std::unique_ptr<const Kernel> kernel_;
  mutable PlanCache cache_;
  mutable std::atomic<std::uint64_t> runs_{0};
};

}  // namespace octet::core
