#include "provider/claims/patterns.hpp"

#include <algorithm>
#include <map>

namespace octet::claims {
namespace {

/// How much of the float arithmetic behind a product runs with it.
enum class Form { none, integer, scaled, biased };

/// A MatMulInteger and what was found behind it, by node and value index.
struct Product {
  int matmul = kAbsent;
  int cast = kAbsent;
  int scale_product = kAbsent;  ///< Mul(a_scale, b_scale)
  int mul = kAbsent;
  int add = kAbsent;
  int a_scale = kAbsent;
  int b_scale = kAbsent;
  int bias = kAbsent;
  Form largest = Form::integer;
};

/// The one node that uses a value, or kAbsent.
int sole_consumer(const Graph& graph, int value) {
  const GraphValue& v = graph.values[value];
  return !v.is_graph_output && v.consumers.size() == 1 ? v.consumers[0] : kAbsent;
}

bool is_scalar(const GraphValue& value) {
  return value.dims && (value.dims->empty() || (value.dims->size() == 1 && value.dims->front() == 1));
}

/// Scalar, or one element for each of n columns (n = -1: not known).
bool is_per_column(const GraphValue& value, std::int64_t n) {
  return is_scalar(value) || (value.dims && value.dims->size() == 1 && n >= 0 && value.dims->front() == n);
}

std::size_t known_rank(const GraphValue& value) { return value.dims ? value.dims->size() : 0; }

/// Elementwise nodes of opset 7 and later broadcast as numpy does.
bool is_elementwise(const GraphNode& node, std::string_view type) { return node.is(type) && node.since_version >= 7; }

int other_input(const GraphNode& node, int value) { return node.input(0) == value ? node.input(1) : node.input(0); }

class ProductMatcher {
 public:
  ProductMatcher(const Graph& graph, int matmul) : graph_(graph) { product_.matmul = matmul; }

  Product match() {
    if (!parameters_fit()) return product_;
    if (!match_scaling()) return product_;
    product_.largest = Form::scaled;
    if (match_bias()) product_.largest = Form::biased;
    return product_;
  }

 private:
  const GraphNode& node(int index) const { return graph_.nodes[index]; }
  const GraphValue& value(int index) const { return graph_.values[index]; }
  const GraphValue& a() const { return value(node(product_.matmul).inputs[0]); }
  const GraphValue& b() const { return value(node(product_.matmul).inputs[1]); }

  std::int64_t columns() const { return known_rank(b()) >= 2 ? b().dims->back() : -1; }

  /// MatMulIntegerToFloat takes a zero point for A, and one or n for B. A result of rank 0 would get the rank of its
  /// scale.
  bool parameters_fit() const {
    const GraphNode& matmul = node(product_.matmul);
    const int a_zero_point = matmul.input(2), b_zero_point = matmul.input(3);
    return (known_rank(a()) >= 2 || known_rank(b()) >= 2) &&
           (a_zero_point == kAbsent || is_scalar(value(a_zero_point))) &&
           (b_zero_point == kAbsent || is_per_column(value(b_zero_point), columns()));
  }

  bool match_scaling() {
    const int sum = node(product_.matmul).outputs[0];
    const int cast = sole_consumer(graph_, sum);
    if (cast == kAbsent || !node(cast).is("Cast") || !casts_to_float(node(cast))) return false;
    const int real = node(cast).outputs[0];
    const int mul = sole_consumer(graph_, real);
    if (mul == kAbsent || !is_elementwise(node(mul), "Mul")) return false;
    const int scale = other_input(node(mul), real);
    const int scale_product = scale == kAbsent ? kAbsent : value(scale).producer;
    if (scale_product == kAbsent || !is_elementwise(node(scale_product), "Mul")) return false;
    product_.cast = cast;
    product_.mul = mul;
    product_.scale_product = scale_product;
    return match_scales(node(scale_product).inputs[0], node(scale_product).inputs[1]);
  }

  /// f32(a_scale * b_scale) is the same either way round: only the extents tell which is which.
  bool match_scales(int first, int second) {
    if (!is_scalar(value(first))) std::swap(first, second);
    product_.a_scale = first;
    product_.b_scale = second;
    return is_scalar(value(first)) && is_per_column(value(second), columns());
  }

  bool match_bias() {
    const int scaled = node(product_.mul).outputs[0];
    const int add = sole_consumer(graph_, scaled);
    if (add == kAbsent || !is_elementwise(node(add), "Add")) return false;
    const int bias = other_input(node(add), scaled);
    if (bias == kAbsent || !value(bias).is_constant || !is_bias(value(bias))) return false;
    product_.add = add;
    product_.bias = bias;
    return true;
  }

  /// [n], or [1,n] where that does not raise the rank of the result.
  bool is_bias(const GraphValue& bias) const {
    const std::size_t rank = known_rank(bias);
    if (columns() < 0 || rank == 0 || bias.dims->back() != columns()) return false;
    return rank == 1 || (rank == 2 && bias.dims->front() == 1 && (known_rank(a()) >= 2 || known_rank(b()) >= 3));
  }

  static bool casts_to_float(const GraphNode& cast) {
    const auto to = cast.attributes.find("to");
    return to != cast.attributes.end() && to->second == AttributeValue(static_cast<std::int64_t>(DataType::float32));
  }

  const Graph& graph_;
  Product product_;
};

ValueInfo value_info(const Graph& graph, int value) {
  if (value == kAbsent) return {};
  return {graph.values[value].dtype, graph.values[value].dims, nullptr};
}

void add_input(const Graph& graph, int value, Step& step) {
  step.node.inputs.push_back(value_info(graph, value));
  step.inputs.push_back(value == kAbsent ? "" : graph.values[value].name);
}

/// Only the type: models declare shapes that their nodes do not give, and ONNX Runtime lets them.
void add_output(const Graph& graph, int value, Step& step) {
  step.node.outputs.push_back({value_info(graph, value).dtype});
  step.outputs.push_back(value == kAbsent ? "" : graph.values[value].name);
}

/// The node whose output a product gives.
int last_node(const Product& product, Form form) {
  return form == Form::biased ? product.add : form == Form::scaled ? product.mul : product.matmul;
}

int bias_of(const Product& product, Form form) { return form == Form::biased ? product.bias : kAbsent; }

/// One operator of com.microsoft in the place of a product and what its form takes behind it.
Step fused_step(const Graph& graph, const Product& product, Form form, const char* op_type,
                std::initializer_list<int> inputs) {
  Step step;
  step.node.op_type = op_type;
  step.node.name = graph.label(graph.nodes[product.matmul]);
  for (const int value : inputs) add_input(graph, value, step);
  add_output(graph, graph.nodes[last_node(product, form)].outputs[0], step);
  return step;
}

Step product_step(const Graph& graph, const Product& product, Form form) {
  const GraphNode& matmul = graph.nodes[product.matmul];
  if (form == Form::integer) return single_step(graph, matmul);
  return fused_step(graph, product, form, "MatMulIntegerToFloat",
                    {matmul.input(0), matmul.input(1), product.a_scale, product.b_scale, matmul.input(2),
                     matmul.input(3), bias_of(product, form)});
}

/// A product together with its quantizer of x, by the same formula but for x's scale and zero point.
Step rowwise_step(const Graph& graph, const Product& product, Form form, int x) {
  const GraphNode& matmul = graph.nodes[product.matmul];
  return fused_step(graph, product, form, "DynamicQuantizeMatMul",
                    {x, matmul.input(1), product.b_scale, matmul.input(3), bias_of(product, form)});
}

/// Steps by their last nodes: a product may be the scale of another.
using OrderedSteps = std::map<int, Step>;

std::vector<Step> in_order(OrderedSteps by_last_node) {
  std::vector<Step> steps;
  for (auto& [node, step] : by_last_node) steps.push_back(std::move(step));
  return steps;
}

/// Grows one group: a DynamicQuantizeLinear, where there is one, and products.
class GroupBuilder {
 public:
  GroupBuilder(const Graph& graph, const Supports& supports, bool rowwise, Partition& partition, int quantizer)
      : graph_(graph), supports_(supports), rowwise_(rowwise), partition_(partition), quantizer_(quantizer) {}

  /// Takes all products in their largest forms where that is possible, else each in the largest form that fits those
  /// before it. What is not taken stays free.
  std::optional<Group> build(const std::vector<int>& matmuls) {
    for (int matmul : matmuls) {
      products_.push_back(ProductMatcher(graph_, matmul).match());
      forms_.push_back(largest_supported(products_.back(), products_.back().largest));
    }
    if (!fits()) {
      const std::vector<Form> largest = forms_;
      std::fill(forms_.begin(), forms_.end(), Form::none);
      for (std::size_t i = 0; i < forms_.size(); ++i) {
        forms_[i] = largest[i];
        while (forms_[i] != Form::none && !fits()) forms_[i] = largest_supported(products_[i], smaller(forms_[i]));
      }
    }
    Group group{nodes(), steps()};
    if (std::vector<Step> rowwise = rowwise_steps(group.nodes); !rowwise.empty()) group.steps = std::move(rowwise);
    if (group.nodes.empty() || !partition_.can_claim(group.nodes)) return std::nullopt;
    partition_.claim(group.nodes);
    return group;
  }

 private:
  static Form smaller(Form form) { return static_cast<Form>(static_cast<int>(form) - 1); }

  Form largest_supported(const Product& product, Form form) const {
    while (form != Form::none && !supports_(product_step(graph_, product, form))) form = smaller(form);
    return form;
  }

  bool fits() const { return partition_.can_claim(nodes()); }

  std::vector<int> nodes() const {
    std::vector<int> taken;
    if (quantizer_ != kAbsent) taken.push_back(quantizer_);
    for (std::size_t i = 0; i < products_.size(); ++i) {
      const Product& product = products_[i];
      if (forms_[i] != Form::none) taken.push_back(product.matmul);
      if (forms_[i] >= Form::scaled) taken.insert(taken.end(), {product.cast, product.mul});
      if (forms_[i] == Form::biased) taken.push_back(product.add);
    }
    add_scale_products(taken);
    std::sort(taken.begin(), taken.end());
    return taken;
  }

  /// Mul(a_scale, b_scale) belongs to the group where nobody else wants its result.
  void add_scale_products(std::vector<int>& taken) const {
    const std::vector<int> consumers = taken;
    for (std::size_t i = 0; i < products_.size(); ++i) {
      const int scale_product = products_[i].scale_product;
      if (forms_[i] < Form::scaled || std::find(taken.begin(), taken.end(), scale_product) != taken.end()) continue;
      const GraphValue& scale = graph_.values[graph_.nodes[scale_product].outputs[0]];
      const bool only_here = std::all_of(scale.consumers.begin(), scale.consumers.end(), [&](int consumer) {
        return std::find(consumers.begin(), consumers.end(), consumer) != consumers.end();
      });
      if (only_here && !scale.is_graph_output) taken.push_back(scale_product);
    }
  }

  std::vector<Step> steps() const {
    OrderedSteps by_last_node;
    if (quantizer_ != kAbsent) by_last_node[quantizer_] = single_step(graph_, graph_.nodes[quantizer_]);
    for (std::size_t i = 0; i < products_.size(); ++i)
      if (forms_[i] != Form::none)
        by_last_node[last_node(products_[i], forms_[i])] = product_step(graph_, products_[i], forms_[i]);
    return in_order(std::move(by_last_node));
  }

  /// The quantizer and its products as products that quantize row by row; none where that is not possible.
  std::vector<Step> rowwise_steps(const std::vector<int>& taken) const {
    if (!rowwise_ || quantizer_ == kAbsent || forms_.empty()) return {};
    const GraphNode& quantizer = graph_.nodes[quantizer_];
    for (const int output : quantizer.outputs) {
      if (output == kAbsent) continue;
      const GraphValue& value = graph_.values[output];
      const bool only_here = std::all_of(value.consumers.begin(), value.consumers.end(), [&](int consumer) {
        return std::binary_search(taken.begin(), taken.end(), consumer);
      });
      if (!only_here || value.is_graph_output) return {};
    }
    OrderedSteps by_last_node;
    for (std::size_t i = 0; i < products_.size(); ++i) {
      const bool fits = forms_[i] >= Form::scaled && products_[i].a_scale == quantizer.outputs[1] &&
                        graph_.nodes[products_[i].matmul].input(2) == quantizer.outputs[2];
      if (!fits) return {};
      Step step = rowwise_step(graph_, products_[i], forms_[i], quantizer.input(0));
      if (!supports_(step)) return {};
      by_last_node[last_node(products_[i], forms_[i])] = std::move(step);
    }
    return in_order(std::move(by_last_node));
  }

  const Graph& graph_;
  const Supports& supports_;
  bool rowwise_;
  Partition& partition_;
  int quantizer_;
  std::vector<Product> products_;
  std::vector<Form> forms_;
};

/// The free products whose A is `value`, in topological order.
std::vector<int> products_of(const Graph& graph, const Partition& partition, int value) {
  std::vector<int> matmuls;
  for (int consumer : graph.values[value].consumers) {
    const GraphNode& node = graph.nodes[consumer];
    const bool is_new = matmuls.empty() || matmuls.back() != consumer;  // A and B may be the same value
    if (node.is("MatMulInteger") && node.input(0) == value && !partition.taken(consumer) && is_new)
      matmuls.push_back(consumer);
  }
  return matmuls;
}

}  // namespace

Step single_step(const Graph& graph, const GraphNode& node) {
  Step step;
  step.node.op_type = node.op_type;
  step.node.domain = node.domain;
  step.node.opset_version = node.since_version;
  step.node.name = graph.label(node);
  step.node.attributes = node.attributes;
  for (int value : node.inputs) add_input(graph, value, step);
  for (int value : node.outputs) add_output(graph, value, step);
  return step;
}

std::vector<Group> match_products(const Graph& graph, const Supports& supports, bool rowwise, Partition& partition) {
  std::vector<Group> groups;
  const auto build = [&](int quantizer, const std::vector<int>& matmuls) {
    if (auto group = GroupBuilder(graph, supports, rowwise, partition, quantizer).build(matmuls))
      groups.push_back(std::move(*group));
  };
  const int count = static_cast<int>(graph.nodes.size());
  for (int i = 0; i < count; ++i) {
    const GraphNode& node = graph.nodes[i];
    if (node.is("DynamicQuantizeLinear") && !partition.taken(i) && supports(single_step(graph, node)))
      build(i, products_of(graph, partition, node.outputs[0]));
  }
  for (int i = 0; i < count; ++i)
    if (graph.nodes[i].is("MatMulInteger") && !partition.taken(i)) build(kAbsent, {i});
  return groups;
}

}  // namespace octet::claims
