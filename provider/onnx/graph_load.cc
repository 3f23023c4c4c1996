// GraphBuilder: going on from a model.
#include <algorithm>
#include <fstream>
#include <limits>
#include <mutex>
#include <new>

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <octet/onnx.hpp>

#include "provider/onnx/graph_state.hpp"
#include "provider/onnx/inference.hpp"
#include "provider/onnx/tensor_data.hpp"

namespace octet {
namespace onnx_side {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail(path + ": cannot be read");
  const std::streamoff size = file.tellg();
  // What protobuf can parse; more lies in files of external data.
  if (size < 0 || size > std::numeric_limits<std::int32_t>::max())
    fail(path + ": has " + std::to_string(size) + " bytes, a serialized model has at most 2147483647");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(bytes.data(), size)) fail(path + ": cannot be read");
  return bytes;
}

/// Calls function(), and turns what the ONNX library throws of a model, which is of many types, into a ModelError.
template <class Function>
void with_errors_of_onnx(const Function& function) {
  try {
    reading("", function);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw ModelError(error.what());
  }
}

}  // namespace

void register_schemas_once() {
  static std::once_flag once;
  std::call_once(once, register_schemas);
}

onnx::ModelProto parse_model(const void* bytes, std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    fail("the model is larger than 2147483647 bytes");
  onnx::ModelProto model;
  if (bytes == nullptr || size == 0 || !model.ParseFromArray(bytes, static_cast<int>(size)) || !model.has_graph())
    fail("the bytes are no serialized ModelProto");
  return model;
}

onnx::ModelProto read_model(const std::string& path) {
  const std::string bytes = read_file(path);
  try {
    return parse_model(bytes.data(), bytes.size());
  } catch (const Error& error) {
    fail(path + ": " + error.what());
  }
}

void infer_shapes(onnx::ModelProto& model, const std::filesystem::path& directory, bool strict) {
  register_schemas_once();
  auto& initializers = *model.mutable_graph()->mutable_initializer();
  auto before = load_small_tensors(*model.mutable_graph(), directory);
  with_errors_of_onnx([&] {
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(strict, strict ? 1 : 0, !strict));
  });
  for (auto& [index, tensor] : before) initializers[index] = std::move(tensor);
}

void check_model(const onnx::ModelProto& model, const std::filesystem::path& directory) {
  register_schemas_once();
  with_errors_of_onnx([&] {
    onnx::checker::CheckerContext context;
    std::unordered_map<std::string, int> imports;
    for (const auto& import : model.opset_import())
      imports[canonical_domain(import.domain())] = static_cast<int>(import.version());
    if (model.ir_version() > onnx::Version::IR_VERSION)
      fail("the model has IR version " + std::to_string(model.ir_version()) + ", this library knows up to " +
           std::to_string(onnx::Version::IR_VERSION));
    if (imports.count("") == 0) fail("the model does not import ai.onnx");
    context.set_ir_version(static_cast<int>(model.ir_version()));
    context.set_opset_imports(std::move(imports));
    context.set_model_dir(directory.string());
    const onnx::checker::LexicalScopeContext scope;
    onnx::checker::check_graph(model.graph(), context, scope);
    onnx::checker::check_model_local_functions(model, context, scope);
  });
}

}  // namespace onnx_side

using onnx_side::BuiltValue;
using onnx_side::fail;
using onnx_side::GraphState;
using onnx_side::Source;

namespace {

core::TypeAndShape tensor_type(const onnx::TypeProto::Tensor& tensor) {
  core::TypeAndShape type{true, static_cast<DataType>(tensor.elem_type())};
  if (!tensor.has_shape()) return type;
  type.shape = onnx_side::shape_of(tensor.shape());
  for (core::Dim& dim : *type.shape) dim.value = std::max<std::int64_t>(dim.value, -1);  // any negative one is unknown
  return type;
}

/// Types and shapes of values by name.
using Types = std::unordered_map<std::string, onnx::TypeProto>;

Types inferred_types(const onnx::ModelProto& loaded, const std::filesystem::path& directory) {
  onnx::ModelProto model = loaded;
  onnx_side::infer_shapes(model, directory, false);
  Types types;
  for (const auto* list : {&model.graph().value_info(), &model.graph().input(), &model.graph().output()})
    for (const auto& value : *list) types[value.name()] = value.type();
  return types;
}

void add_loaded_value(GraphState& state, const std::string& name, Source source, const Types& types) {
  BuiltValue value;
  value.name = name;
  value.source = source;
  if (const auto found = types.find(name); found != types.end()) {
    value.is_tensor = found->second.has_tensor_type() || found->second.value_case() == onnx::TypeProto::VALUE_NOT_SET;
    if (found->second.has_tensor_type()) value.type = tensor_type(found->second.tensor_type());
  }
  state.add_value(std::move(value));
}

void add_constant_value(GraphState& state, const onnx::TensorProto& tensor) {
  BuiltValue value;
  value.name = tensor.name();
  value.source = Source::constant;
  value.type.dtype = static_cast<DataType>(tensor.data_type());
  value.type.shape = core::Shape(tensor.dims().begin(), tensor.dims().end());
  state.add_value(std::move(value));
}

/// Names inside subgraphs stand for other values than those of the main graph, which may not hide behind them.
void reserve_names(GraphState& state, const onnx::GraphProto& graph, bool is_main) {
  const auto reserve = [&](const std::string& name) {
    if (!is_main) state.value_names.take(name);
  };
  for (const auto& value : graph.input()) reserve(value.name());
  for (const auto& tensor : graph.initializer()) reserve(tensor.name());
  for (const auto& node : graph.node()) {
    if (!node.name().empty()) state.node_names.take(node.name());
    for (const auto& output : node.output()) reserve(output);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) reserve_names(state, attribute.g(), false);
      for (const auto& subgraph : attribute.graphs()) reserve_names(state, subgraph, false);
    }
  }
}

void add_loaded_values(GraphState& state, const Types& types) {
  const onnx::GraphProto& graph = state.model.graph();
  for (const auto& input : graph.input()) {
    state.inputs.push_back(state.values.size());
    add_loaded_value(state, input.name(), Source::input, types);
  }
  // An initializer of an input's name is its default.
  for (const auto& tensor : graph.initializer())
    if (state.value_of_name.count(tensor.name()) == 0) add_constant_value(state, tensor);
  for (const auto& tensor : graph.sparse_initializer())
    if (state.value_of_name.count(tensor.values().name()) == 0)
      add_loaded_value(state, tensor.values().name(), Source::constant, types);
  for (const auto& node : graph.node())
    for (const auto& output : node.output())
      if (!output.empty()) add_loaded_value(state, output, Source::loaded_node, types);
  for (const auto& output : graph.output()) {
    const std::size_t index = state.value_of_name.at(output.name());  // the checker has seen to it
    if (state.values[index].is_output) fail("output '" + output.name() + "' is there twice");
    state.values[index].is_output = true;
    state.outputs.push_back(index);
  }
}

std::unique_ptr<GraphState> continued(onnx::ModelProto model, const std::filesystem::path& directory) {
  auto state = std::make_unique<GraphState>();
  state->model = std::move(model);
  state->directory = directory;
  onnx_side::check_model(state->model, state->directory);
  reserve_names(*state, state->model.graph(), true);
  add_loaded_values(*state, inferred_types(state->model, directory));
  state->constants.Swap(state->model.mutable_graph()->mutable_initializer());
  return state;
}

}  // namespace

GraphBuilder GraphBuilder::from_model(const void* model, std::size_t size, const std::string& directory) {
  onnx::ModelProto parsed = onnx_side::parse_model(model, size);
  return onnx_side::reading("", [&] { return GraphBuilder(continued(std::move(parsed), directory)); });
}

GraphBuilder GraphBuilder::from_file(const std::string& path) {
  onnx::ModelProto model = onnx_side::read_model(path);
  return onnx_side::reading(path + ": ", [&] {
    return GraphBuilder(continued(std::move(model), std::filesystem::path(path).parent_path()));
  });
}

}  // namespace octet
