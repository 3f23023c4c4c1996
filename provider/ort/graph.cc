#include "provider/ort/graph.hpp"

#include <algorithm>
#include <unordered_map>

#include "provider/core/op_def.hpp"
#include "provider/ort/api.hpp"

namespace octet::ort {
namespace {

/// ReadOpAttr answers a size query with an error status and the size.
std::size_t attribute_bytes(const OrtOpAttr* attribute, OrtOpAttrType type) {
  std::size_t bytes = 0;
  Status status = ort_api().ReadOpAttr(attribute, type, nullptr, 0, &bytes);
  if (status) ort_api().ReleaseStatus(status);
  return bytes;
}

template <class Element>
std::vector<Element> read_elements(const OrtOpAttr* attribute, OrtOpAttrType type) {
  std::size_t bytes = attribute_bytes(attribute, type);
  std::vector<Element> elements(bytes / sizeof(Element));
  if (bytes > 0) check(ort_api().ReadOpAttr(attribute, type, elements.data(), bytes, &bytes));
  return elements;
}

std::string read_string(const OrtOpAttr* attribute) {
  const std::vector<char> text = read_elements<char>(attribute, ORT_OP_ATTR_STRING);
  return std::string(text.begin(), text.end());
}

/// STRINGS come as a run of NUL-terminated texts.
std::vector<std::string> read_strings(const OrtOpAttr* attribute) {
  const std::vector<char> text = read_elements<char>(attribute, ORT_OP_ATTR_STRINGS);
  std::vector<std::string> strings;
  for (auto begin = text.begin(); begin != text.end();) {
    auto end = std::find(begin, text.end(), '\0');
    strings.emplace_back(begin, end);
    begin = end == text.end() ? end : end + 1;
  }
  return strings;
}

template <class Element>
Element read_scalar(const OrtOpAttr* attribute, OrtOpAttrType type) {
  Element element{};
  std::size_t bytes = 0;
  check(ort_api().ReadOpAttr(attribute, type, &element, sizeof(element), &bytes));
  return element;
}

Attributes read_attributes(const OrtNode* node) {
  const OrtApi& api = ort_api();
  Attributes attributes;
  for (const OrtOpAttr* attribute : get_list(api.Node_GetNumAttributes, api.Node_GetAttributes, node)) {
    const std::string name = get<const char*>(api.OpAttr_GetName, attribute);
    const auto type = get<OrtOpAttrType>(api.OpAttr_GetType, attribute);
    if (type == ORT_OP_ATTR_INT) attributes[name] = read_scalar<std::int64_t>(attribute, type);
    if (type == ORT_OP_ATTR_FLOAT) attributes[name] = read_scalar<float>(attribute, type);
    if (type == ORT_OP_ATTR_STRING) attributes[name] = read_string(attribute);
    if (type == ORT_OP_ATTR_INTS) attributes[name] = read_elements<std::int64_t>(attribute, type);
    if (type == ORT_OP_ATTR_FLOATS) attributes[name] = read_elements<float>(attribute, type);
    if (type == ORT_OP_ATTR_STRINGS) attributes[name] = read_strings(attribute);
  }
  return attributes;
}

std::string domain_of(const OrtNode* node) {
  return core::canonical_domain(get<const char*>(ort_api().Node_GetDomain, node));
}

std::string ep_name_of(const OrtNode* node) {
  const char* name = get<const char*>(ort_api().Node_GetEpName, node);
  return name ? name : "";
}

/// Fills a Graph; values are found again by name, which is unique in a graph and its outer scopes.
class Reader {
 public:
  explicit Reader(const OrtGraph* graph) : handle_(graph) {}

  Graph read() {
    const OrtApi& api = ort_api();
    graph_.is_nested = get<const OrtNode*>(api.Graph_GetParentNode, handle_) != nullptr;
    const std::vector<const OrtNode*> nodes = get_list(api.Graph_GetNumNodes, api.Graph_GetNodes, handle_);
    graph_.nodes.reserve(nodes.size());
    for (const OrtNode* node : nodes) read_node(node);
    for (const OrtValueInfo* input : get_list(api.Graph_GetNumInputs, api.Graph_GetInputs, handle_))
      add_symbols(type_of(input), graph_.input_symbols);
    graph_.symbols.insert(graph_.input_symbols.begin(), graph_.input_symbols.end());
    return std::move(graph_);
  }

 private:
  void read_node(const OrtNode* handle) {
    const OrtApi& api = ort_api();
    GraphNode node;
    node.name = get<const char*>(api.Node_GetName, handle);
    node.op_type = get<const char*>(api.Node_GetOperatorType, handle);
    node.domain = domain_of(handle);
    node.ep_name = ep_name_of(handle);
    node.since_version = get<int>(api.Node_GetSinceVersion, handle);
    node.attributes = read_attributes(handle);
    node.inputs = value_indices(get_list(api.Node_GetNumInputs, api.Node_GetInputs, handle));
    node.implicit_inputs = value_indices(get_list(api.Node_GetNumImplicitInputs, api.Node_GetImplicitInputs, handle));
    node.outputs = value_indices(get_list(api.Node_GetNumOutputs, api.Node_GetOutputs, handle));
    graph_.add(std::move(node));
    graph_.node_handles.push_back(handle);
  }

  std::vector<int> value_indices(const std::vector<const OrtValueInfo*>& handles) {
    std::vector<int> indices;
    indices.reserve(handles.size());
    for (const OrtValueInfo* handle : handles) indices.push_back(handle ? value_index(handle) : kAbsent);
    return indices;
  }

  int value_index(const OrtValueInfo* handle) {
    const OrtApi& api = ort_api();
    const std::string name = get<const char*>(api.GetValueInfoName, handle);
    if (name.empty()) return kAbsent;
    const auto [found, is_new] = index_of_.emplace(name, static_cast<int>(graph_.values.size()));
    if (is_new) {
      claims::GraphValue value;
      value.name = name;
      SymbolicType type = type_of(handle);
      add_symbols(type, graph_.symbols);
      value.dtype = type.type.dtype;
      value.dims = std::move(type.type.dims);
      value.is_graph_output = get<bool>(api.ValueInfo_IsGraphOutput, handle);
      value.is_constant = get<bool>(api.ValueInfo_IsConstantInitializer, handle);
      graph_.values.push_back(std::move(value));
      graph_.value_handles.push_back(handle);
    }
    return found->second;
  }

  static SymbolicType type_of(const OrtValueInfo* value) {
    return read_symbolic_type(get<const OrtTypeInfo*>(ort_api().GetValueInfoTypeInfo, value));
  }

  static void add_symbols(const SymbolicType& type, std::set<std::string>& symbols) {
    for (const std::string& symbol : type.symbols)
      if (!symbol.empty()) symbols.insert(symbol);
  }

  const OrtGraph* handle_;
  Graph graph_;
  std::unordered_map<std::string, int> index_of_;
};

void append_nested_nodes(const OrtNode* parent, std::vector<NodeSummary>& summaries) {
  const OrtApi& api = ort_api();
  std::vector<const OrtGraph*> subgraphs(get<std::size_t>(api.Node_GetNumSubgraphs, parent));
  if (subgraphs.empty()) return;
  check(api.Node_GetSubgraphs(parent, subgraphs.data(), subgraphs.size(), nullptr));
  for (const OrtGraph* subgraph : subgraphs)
    for (const OrtNode* node : get_list(api.Graph_GetNumNodes, api.Graph_GetNodes, subgraph)) {
      summaries.push_back({get<const char*>(api.Node_GetOperatorType, node), domain_of(node), ep_name_of(node),
                           get<const char*>(api.Node_GetName, node)});
      append_nested_nodes(node, summaries);
    }
}

}  // namespace

Graph read_graph(const OrtGraph* graph) { return Reader(graph).read(); }

std::vector<NodeSummary> read_nested_nodes(const Graph& graph) {
  std::vector<NodeSummary> summaries;
  for (const OrtNode* node : graph.node_handles) append_nested_nodes(node, summaries);
  return summaries;
}

ValueInfo read_type(const OrtTypeInfo* info) {
  const OrtApi& api = ort_api();
  ValueInfo type;
  if (!info) return type;
  const auto* tensor = get<const OrtTensorTypeAndShapeInfo*>(api.CastTypeInfoToTensorInfo, info);
  if (!tensor) return type;
  type.dtype = static_cast<DataType>(get<ONNXTensorElementDataType>(api.GetTensorElementType, tensor));
  if (!api.TensorTypeAndShape_HasShape(tensor)) return type;
  type.dims = get_list(api.GetDimensionsCount, api.GetDimensions, tensor);
  return type;
}

SymbolicType read_symbolic_type(const OrtTypeInfo* info) {
  SymbolicType result{read_type(info), {}};
  if (!result.type.dims || result.type.dims->empty()) return result;
  const auto* tensor = get<const OrtTensorTypeAndShapeInfo*>(ort_api().CastTypeInfoToTensorInfo, info);
  std::vector<const char*> symbols(result.type.dims->size());
  check(ort_api().GetSymbolicDimensions(tensor, symbols.data(), symbols.size()));
  for (const char* symbol : symbols) result.symbols.emplace_back(symbol ? symbol : "");
  return result;
}

ValueInfo read_constant(const OrtValue* value) {
  // A constant without elements has no data, but is a constant all the same.
  static constexpr char kNoData = 0;
  const TensorView view = read_tensor(value);
  const std::vector<std::int64_t> dims(view.dims, view.dims + view.rank);
  return {view.dtype, dims, view.data ? view.data : &kNoData};
}

TensorView read_tensor(const OrtValue* value) {
  TensorView view;
  read_tensor(value, view);
  return view;
}

void read_tensor(const OrtValue* value, TensorView& view) {
  ONNXTensorElementDataType dtype{};
  std::size_t rank = 0;
  check(ort_api().GetTensorElementTypeAndShapeDataReference(value, &dtype, &view.dims, &rank));
  view.dtype = static_cast<DataType>(dtype);
  view.rank = static_cast<std::int32_t>(rank);
  view.data = const_cast<void*>(get<const void*>(ort_api().GetTensorData, value));
}

}  // namespace octet::ort
