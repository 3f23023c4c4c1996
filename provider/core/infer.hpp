// Type and shape inference, written once per operator over this neutral context. Adapters fill it from ONNX's
// InferenceContext, from the tensors of a call, or from ONNX Runtime's graph, and read the outputs back.
#pragma once

#include <string>
#include <vector>

#include "provider/core/op_def.hpp"

namespace octet::core {

/// An extent: a value, a symbol ("batch"), or unknown.
struct Dim {
  std::int64_t value = -1;  ///< -1 where not known
  std::string symbol;

  Dim() = default;
  Dim(std::int64_t known_value) : value(known_value) {}  // NOLINT(google-explicit-constructor)
  static Dim symbolic(std::string name) {
    Dim dim;
    dim.symbol = std::move(name);
    return dim;
  }
  bool known() const noexcept { return value >= 0; }
};
using Shape = std::vector<Dim>;

/// "2", "batch" or "?"
std::string to_string(const Dim& dim);
/// "[2,batch,?]"
std::string to_string(const Shape& shape);

/// What is known of one input or output.
struct TypeAndShape {
  bool present = false;
  DataType dtype = DataType::undefined;  ///< undefined where not known
  std::optional<Shape> shape = std::nullopt;
};

/// What inference is for. A graph is inferred as far as its definition goes; a node that is to run is checked whole.
enum class Purpose { node, graph };

class InferContext {
 public:
  InferContext(const OpDef& op, std::string node_name, const Attributes& attributes, std::vector<TypeAndShape> inputs,
               std::vector<TypeAndShape> outputs);

  const OpDef& op() const noexcept { return *op_; }
  const Attributes& attributes() const noexcept { return *attributes_; }
  /// The node's attribute, or the definition's default, or null.
  template <class T>
  const T* attribute(std::string_view name) const noexcept {
    const AttributeValue* value = op_->attribute_value(*attributes_, name);
    return value ? std::get_if<T>(value) : nullptr;
  }
  std::size_t num_inputs() const noexcept { return inputs_.size(); }
  std::size_t num_outputs() const noexcept { return outputs_.size(); }

  bool has_input(std::size_t i) const noexcept { return i < inputs_.size() && inputs_[i].present; }
  /// undefined where absent or not known.
  DataType input_type(std::size_t i) const noexcept;
  /// null where absent or not known.
  const Shape* input_shape(std::size_t i) const noexcept;

  /// Before check_and_infer: what the caller already knows or wants of an output (a declared type). After it: the
  /// result.
  const TypeAndShape& output(std::size_t i) const { return outputs_[i]; }
  bool has_output(std::size_t i) const noexcept { return i < outputs_.size() && outputs_[i].present; }
  /// Both are without effect where the node does not have the output, and fail where it was declared otherwise.
  void set_output_type(std::size_t i, DataType type);
  void set_output_shape(std::size_t i, const Shape& shape);

  /// Throws Error(invalid_argument) with "<Op> '<node>': <text>".
  [[noreturn]] void fail(const std::string& text) const;
  [[noreturn]] void fail_input(std::size_t i, const std::string& text) const { fail(input_label(i) + " " + text); }
  /// "input 'b_scale'"
  std::string input_label(std::size_t i) const { return op_->input_label(i); }
  std::string output_label(std::size_t i) const { return op_->output_label(i); }

 private:
  friend void check_and_infer(InferContext& context, Purpose purpose);

  const OpDef* op_;
  std::string node_name_;
  const Attributes* attributes_;
  std::vector<TypeAndShape> inputs_;
  std::vector<TypeAndShape> outputs_;
};

/// "<Op> '<node>'": how every message about a node begins.
std::string node_label(const OpDef& op, const std::string& node_name);

/// Checks what holds for every operator (number of inputs and outputs, required ones present, type constraints,
/// attribute names and types, extents that memory can hold), applies the definition's `infer`, and checks that the
/// outputs which the caller declared agree. Outputs not listed by the caller are appended (present where required).
/// With all inputs known, nothing is left unknown, and no fault of a shape or type is left undetected.
void check_and_infer(InferContext& context, Purpose purpose = Purpose::node);

// --- extents from outside -------------------------------------------------------------------------------------------

/// Bytes of a tensor, 4-bit elements packed; nothing where an extent is negative, or where memory cannot hold what the
/// others make. A zero extent does not excuse the rest from having a product: kernels multiply some of them.
std::optional<std::size_t> byte_count(DataType type, const std::int64_t* dims, std::size_t rank) noexcept;

/// The same; throws Error(invalid_argument) with "<label> has ..." where there is none.
std::size_t checked_bytes(const std::string& label, const TensorView& tensor);

// --- what the definitions share -------------------------------------------------------------------------------------

/// The number of elements; not known where an extent that matters is not.
Dim element_count(const Shape& shape);
/// True where the two extents are known and differ.
inline bool differ(const Dim& a, const Dim& b) noexcept { return a.known() && b.known() && a.value != b.value; }
/// Of two extents that are one and the same, what tells more.
inline const Dim& either(const Dim& a, const Dim& b) noexcept {
  if (a.known() || b.known()) return a.known() ? a : b;
  return a.symbol.empty() ? b : a;
}
/// True unless the shape is known to hold another number of elements than one.
bool may_be_one_element(const Shape& shape);

/// Numpy broadcasting of two shapes; fails where they do not fit, with `what` ("the shapes of inputs 'A' and 'B'").
Shape broadcast(const InferContext& context, const Shape& a, const Shape& b, const std::string& what);
/// numpy.matmul of inputs a and b, 1-D operands included; fails where they do not fit; nothing where a rank is not
/// known.
std::optional<Shape> matmul_shape(const InferContext& context, std::size_t a, std::size_t b);
/// One extent from two that must agree; fails with "<what> is <b>, expected <a>" where they differ.
Dim merge(const InferContext& context, const Dim& a, const Dim& b, const std::string& what);
/// Fails unless input i, where present and known, holds exactly one element (rank 0, or all extents 1).
void require_scalar(const InferContext& context, std::size_t i);
/// Fails unless input i, where present and known, has the given type.
void require_type(const InferContext& context, std::size_t i, DataType type);
/// Fails unless input i, where present and known, has the given shape; says "expected [num_directions,...]=[1,...]".
void require_shape(const InferContext& context, std::size_t i, const Shape& shape, const std::string& meaning);
/// The axis brought into [0, rank); fails where it is out of range.
std::int64_t normalized_axis(const InferContext& context, std::int64_t axis, std::size_t rank);

}  // namespace octet::core
