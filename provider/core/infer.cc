#include "provider/core/infer.hpp"

#include <algorithm>
#include <limits>

namespace octet::core {
namespace {

/// More elements than this cannot be addressed; bits are counted of any type.
constexpr std::int64_t kMostElements = std::numeric_limits<std::int64_t>::max() / 64;

std::string type_list(const std::vector<DataType>& types) {
  std::string text;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i > 0) text += i + 1 == types.size() ? " or " : ", ";
    text += data_type_name(types[i]);
  }
  return text;
}

void check_extents(const InferContext& context, const std::string& label, const Shape& shape) {
  std::vector<std::int64_t> known;
  for (const Dim& dim : shape) {
    if (dim.value < -1) context.fail(label + " has the negative extent " + std::to_string(dim.value));
    if (dim.known()) known.push_back(dim.value);
  }
  if (!byte_count(DataType::uint8, known.data(), known.size()))
    context.fail(label + " has shape " + to_string(shape) + ", more than memory can hold");
}

void check_number_of_inputs(const InferContext& context) {
  const OpDef& op = context.op();
  const bool variadic = !op.inputs.empty() && op.inputs.back().option == PortOption::variadic;
  if (!variadic && context.num_inputs() > op.inputs.size())
    context.fail("the node has " + std::to_string(context.num_inputs()) + " inputs, expected at most " +
                 std::to_string(op.inputs.size()));
  for (std::size_t i = 0; i < op.inputs.size(); ++i)
    if (op.inputs[i].option == PortOption::required && !context.has_input(i))
      context.fail(context.input_label(i) + " is missing");
  if (!variadic) return;
  const std::size_t first = op.inputs.size() - 1;
  const std::size_t count = context.num_inputs() > first ? context.num_inputs() - first : 0;
  if (count < static_cast<std::size_t>(op.min_variadic))
    context.fail("input '" + op.inputs[first].name + "' has " + std::to_string(count) + " members, expected at least " +
                 std::to_string(op.min_variadic));
  for (std::size_t i = first; i < context.num_inputs(); ++i)
    if (!context.has_input(i)) context.fail(context.input_label(i) + " is missing");
}

void check_attributes(const InferContext& context) {
  const auto& definitions = context.op().attributes;
  for (const auto& [name, value] : context.attributes()) {
    const auto found = std::find_if(definitions.begin(), definitions.end(),
                                    [&key = name](const AttributeDef& attribute) { return attribute.name == key; });
    if (found == definitions.end()) context.fail("the operator has no attribute '" + name + "'");
    if (attribute_type(value) != found->type)
      context.fail("attribute '" + name + "' is " + attribute_type_name(attribute_type(value)) + ", expected " +
                   attribute_type_name(found->type));
  }
  for (const AttributeDef& attribute : definitions)
    if (attribute.required && context.attributes().find(attribute.name) == context.attributes().end())
      context.fail("attribute '" + attribute.name + "' is missing");
}

/// The type that each type constraint stands for in this node, learned from the inputs.
class TypeBindings {
 public:
  explicit TypeBindings(const InferContext& context) {
    for (std::size_t i = 0; i < context.num_inputs(); ++i) {
      const DataType type = context.input_type(i);
      const PortDef& port = *context.op().input_port(i);
      if (type == DataType::undefined) continue;
      const auto allowed = context.op().allowed_types(port);
      if (std::find(allowed.begin(), allowed.end(), type) == allowed.end())
        context.fail_input(i, std::string("has type ") + data_type_name(type) + ", expected " + type_list(allowed));
      if (!port.homogeneous) continue;
      const Binding* bound = find(port.type);
      if (bound == nullptr)
        bindings_.push_back({&port.type, type, i});
      else if (bound->type != type)
        context.fail_input(i, std::string("has type ") + data_type_name(type) + ", expected " +
                                  data_type_name(bound->type) + " as " + context.input_label(bound->input));
    }
  }

  /// undefined where no input tells.
  DataType type(const std::string& constraint) const noexcept {
    const Binding* bound = find(constraint);
    return bound ? bound->type : DataType::undefined;
  }

 private:
  struct Binding {
    const std::string* constraint;
    DataType type;
    std::size_t input;
  };
  const Binding* find(const std::string& constraint) const noexcept {
    for (const Binding& binding : bindings_)
      if (*binding.constraint == constraint) return &binding;
    return nullptr;
  }
  std::vector<Binding> bindings_;
};

void finish_outputs(InferContext& context, const TypeBindings& bindings) {
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    if (!context.has_output(i)) continue;
    const PortDef& port = context.op().outputs[i];
    const auto allowed = context.op().allowed_types(port);
    const DataType bound = bindings.type(port.type);
    if (bound != DataType::undefined)
      context.set_output_type(i, bound);
    else if (allowed.size() == 1)
      context.set_output_type(i, allowed.front());
    const DataType type = context.output(i).dtype;
    if (type != DataType::undefined && std::find(allowed.begin(), allowed.end(), type) == allowed.end())
      context.fail(context.output_label(i) + " has type " + data_type_name(type) + ", expected " + type_list(allowed));
    if (context.output(i).shape) check_extents(context, context.output_label(i), *context.output(i).shape);
  }
}

}  // namespace

std::string to_string(const Dim& dim) {
  if (dim.known()) return std::to_string(dim.value);
  return dim.symbol.empty() ? "?" : dim.symbol;
}

std::string to_string(const Shape& shape) {
  std::string text;
  for (const Dim& dim : shape) text += (text.empty() ? "" : ",") + to_string(dim);
  return "[" + text + "]";
}

std::string node_label(const OpDef& op, const std::string& node_name) {
  return node_name.empty() ? op.name : op.name + " '" + node_name + "'";
}

InferContext::InferContext(const OpDef& op, std::string node_name, const Attributes& attributes,
                           std::vector<TypeAndShape> inputs, std::vector<TypeAndShape> outputs)
    : op_(&op),
      node_name_(std::move(node_name)),
      attributes_(&attributes),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)) {}

DataType InferContext::input_type(std::size_t i) const noexcept {
  return has_input(i) ? inputs_[i].dtype : DataType::undefined;
}

const Shape* InferContext::input_shape(std::size_t i) const noexcept {
  return has_input(i) && inputs_[i].shape ? &*inputs_[i].shape : nullptr;
}

void InferContext::set_output_type(std::size_t i, DataType type) {
  if (!has_output(i) || type == DataType::undefined) return;
  DataType& known = outputs_[i].dtype;
  if (known != DataType::undefined && known != type)
    fail(output_label(i) + " is declared as " + data_type_name(known) + ", but the node gives " + data_type_name(type));
  known = type;
}

void InferContext::set_output_shape(std::size_t i, const Shape& shape) {
  if (!has_output(i)) return;
  std::optional<Shape>& known = outputs_[i].shape;
  if (!known) {
    known = shape;
    return;
  }
  bool agree = known->size() == shape.size();
  for (std::size_t d = 0; agree && d < shape.size(); ++d) agree = !differ((*known)[d], shape[d]);
  if (!agree)
    fail(output_label(i) + " is declared with shape " + to_string(*known) + ", but the node gives " + to_string(shape));
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d].known() || (!(*known)[d].known() && !shape[d].symbol.empty())) (*known)[d] = shape[d];
}

void InferContext::fail(const std::string& text) const {
  throw Error(ErrorCode::invalid_argument, node_label(*op_, node_name_) + ": " + text);
}

void check_and_infer(InferContext& context, Purpose purpose) {
  const OpDef& op = context.op();
  check_number_of_inputs(context);
  if (context.num_outputs() > op.outputs.size())
    context.fail("the node has " + std::to_string(context.num_outputs()) + " outputs, expected at most " +
                 std::to_string(op.outputs.size()));
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const bool required = op.outputs[i].option == PortOption::required;
    if (i == context.outputs_.size()) context.outputs_.push_back({required});
    if (required && !context.has_output(i)) context.fail(context.output_label(i) + " is missing");
  }
  check_attributes(context);
  const TypeBindings bindings(context);
  for (std::size_t i = 0; i < context.num_inputs(); ++i)
    if (const Shape* shape = context.input_shape(i)) check_extents(context, context.input_label(i), *shape);
  op.infer(context);
  finish_outputs(context, bindings);
  if (purpose == Purpose::node && op.check_node != nullptr) op.check_node(context);
}

std::optional<std::size_t> byte_count(DataType type, const std::int64_t* dims, std::size_t rank) noexcept {
  std::int64_t elements = 1;
  bool empty = false;
  for (std::size_t d = 0; d < rank; ++d) {
    if (dims[d] < 0 || __builtin_mul_overflow(elements, std::max<std::int64_t>(dims[d], 1), &elements) ||
        elements > kMostElements)
      return std::nullopt;
    empty = empty || dims[d] == 0;
  }
  return empty ? 0 : (static_cast<std::size_t>(elements) * static_cast<std::size_t>(bit_width(type)) + 7) / 8;
}

std::size_t checked_bytes(const std::string& label, const TensorView& tensor) {
  std::string fault = "no extents";
  if (tensor.rank == 0 || (tensor.rank > 0 && tensor.dims != nullptr)) {
    const std::int64_t* const end = tensor.dims + tensor.rank;
    if (const auto bytes = byte_count(tensor.dtype, tensor.dims, static_cast<std::size_t>(tensor.rank))) return *bytes;
    const auto* negative = std::find_if(tensor.dims, end, [](std::int64_t dim) { return dim < 0; });
    fault = negative != end ? "the negative extent " + std::to_string(*negative)
                            : "shape " + to_string(Shape(tensor.dims, end)) + ", more than memory can hold";
  }
  throw Error(ErrorCode::invalid_argument, label + " has " + fault);
}

Dim element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool known = true;
  for (const Dim& dim : shape) {
    if (dim.value == 0) return {0};
    if (dim.known())
      count *= dim.value;  // check_extents has bounded the product
    else
      known = false;
  }
  return known ? Dim(count) : Dim();
}

bool may_be_one_element(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return !dim.known() || dim.value == 1; });
}

Shape broadcast(const InferContext& context, const Shape& a, const Shape& b, const std::string& what) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result;
  for (std::size_t d = 0; d < rank; ++d) {
    const Dim in_a = d + a.size() < rank ? Dim(1) : a[d + a.size() - rank];
    const Dim in_b = d + b.size() < rank ? Dim(1) : b[d + b.size() - rank];
    if (in_a.value == 1)
      result.push_back(in_b);
    else if (in_b.value == 1)
      result.push_back(in_a);
    else if (differ(in_a, in_b))
      context.fail(what + " are " + to_string(a) + " and " + to_string(b) + ", which do not broadcast");
    else if (in_a.known() || in_b.known())
      result.push_back(in_a.known() ? in_a : in_b);
    else
      result.push_back(in_a.symbol == in_b.symbol ? in_a : Dim());
  }
  return result;
}

std::optional<Shape> matmul_shape(const InferContext& context, std::size_t a, std::size_t b) {
  for (const std::size_t i : {a, b})
    if (const Shape* shape = context.input_shape(i); shape && shape->empty())
      context.fail_input(i, "is a scalar, expected at least 1 dimension");
  if (!context.input_shape(a) || !context.input_shape(b)) return std::nullopt;
  const Shape& left = *context.input_shape(a);
  const Shape& right = *context.input_shape(b);
  const Dim& k_left = left.back();
  const Dim& k_right = right.size() == 1 ? right[0] : right[right.size() - 2];
  const auto& ports = context.op().inputs;
  const std::string both = "inputs '" + ports[a].name + "' and '" + ports[b].name + "'";
  if (differ(k_left, k_right))
    context.fail(both + " have shapes " + to_string(left) + " and " + to_string(right) + ": K=" + to_string(k_left) +
                 " and K=" + to_string(k_right));
  const auto batch = [](const Shape& shape) {
    return shape.size() < 2 ? Shape() : Shape(shape.begin(), shape.end() - 2);
  };
  Shape result = broadcast(context, batch(left), batch(right), "the batch extents of " + both);
  if (left.size() > 1) result.push_back(left[left.size() - 2]);
  if (right.size() > 1) result.push_back(right.back());
  return result;
}

Dim merge(const InferContext& context, const Dim& a, const Dim& b, const std::string& what) {
  if (differ(a, b)) context.fail(what + " is " + std::to_string(b.value) + ", expected " + std::to_string(a.value));
  return either(a, b);
}

void require_scalar(const InferContext& context, std::size_t i) {
  const Shape* shape = context.input_shape(i);
  if (shape == nullptr || may_be_one_element(*shape)) return;
  const Dim count = element_count(*shape);
  context.fail_input(i, "has " +
                            (count.known() ? std::to_string(count.value) + " elements" : "shape " + to_string(*shape)) +
                            ", expected 1 element");
}

void require_type(const InferContext& context, std::size_t i, DataType type) {
  const DataType given = context.input_type(i);
  if (given != DataType::undefined && given != type)
    context.fail_input(i, std::string("has type ") + data_type_name(given) + ", expected " + data_type_name(type));
}

void require_shape(const InferContext& context, std::size_t i, const Shape& shape, const std::string& meaning) {
  const Shape* given = context.input_shape(i);
  if (given == nullptr) return;
  bool agree = given->size() == shape.size();
  for (std::size_t d = 0; agree && d < shape.size(); ++d) agree = !differ((*given)[d], shape[d]);
  if (!agree)
    context.fail_input(i, "has shape " + to_string(*given) + ", expected " + meaning + "=" + to_string(shape));
}

std::int64_t normalized_axis(const InferContext& context, std::int64_t axis, std::size_t rank) {
  const auto bound = static_cast<std::int64_t>(rank);
  if (axis < -bound || axis >= bound)
    context.fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank) +
                 (rank == 0 ? "" : ", expected " + std::to_string(-bound) + " to " + std::to_string(bound - 1)));
  return axis < 0 ? axis + bound : axis;
}

}  // namespace octet::core
