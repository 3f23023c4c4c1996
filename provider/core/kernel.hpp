// The two objects that compute: a Kernel, built once for a node, and its Plans, built once for a combination of shapes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "provider/core/op_def.hpp"

namespace octet::core {

/// Element type and extents of a tensor at run time.
struct TensorInfo {
  DataType dtype = DataType::undefined;  ///< undefined: absent
  std::vector<std::int64_t> dims;

  bool present() const noexcept { return dtype != DataType::undefined; }
  std::int64_t elements() const noexcept;
  std::size_t bytes() const noexcept;
};

/// A node that has passed the checks, while its kernel is built.
struct NodeContext {
  const OpDef& op;
  const Node& node;  ///< with all inputs of the definition
  const Options& options;
  std::string label;  ///< "QGemm 'fc1'"

  bool has_input(std::size_t i) const noexcept { return i < node.inputs.size() && present(node.inputs[i]); }
  /// The constant input i, or an absent view.
  TensorView constant(std::size_t i) const noexcept;
  template <class T>
  T attribute(std::string_view name) const {
    return std::get<T>(attribute_value(name));
  }
  [[noreturn]] void fail(const std::string& text) const;

 private:
  static bool present(const ValueInfo& value) noexcept { return value.dtype != DataType::undefined; }
  const AttributeValue& attribute_value(std::string_view name) const;
};

/// How one node is computed for one combination of types and extents. Immutable; run() may be called by many threads.
class Plan {
 public:
  virtual ~Plan() = default;
  /// All inputs and outputs of the definition are given, in order, with the types and extents the plan was made for;
  /// those that the node has not are absent views. Constant inputs have their data, except those that the kernel holds.
  /// Elements lie where their type wants them.
  virtual void run(const Call& call, const TensorView* inputs, const TensorView* outputs) const = 0;
  const Decision& decision() const noexcept { return decision_; }

 protected:
  explicit Plan(Decision decision) : decision_(std::move(decision)) {}

 private:
  Decision decision_;
};

/// What a plan is made for.
struct PlanRequest {
  const std::vector<TensorInfo>& inputs;  ///< as in Plan::run
  const std::vector<TensorInfo>& outputs;
  const Options& options;
  const std::string& label;  ///< for messages: "QGemm 'fc1'"
};

/// One node, ready to make plans. Immutable; holds packed constant weights and parsed attributes.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// True where the kernel keeps its own form of constant input i, so that nobody else needs to.
  virtual bool holds(std::size_t /*input*/) const noexcept { return false; }
  /// At least one of the outputs has elements.
  virtual std::unique_ptr<const Plan> plan(const PlanRequest& request) const = 0;
};

}  // namespace octet::core
