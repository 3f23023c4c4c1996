// The graph builder in flat C.
#include <algorithm>
#include <cstring>
#include <memory>

#include <octet/graph_builder.hpp>

#include "provider/core/registry.hpp"
#include "provider/onnx/graph_c.hpp"
#include "provider/onnx/graph_state.hpp"

using namespace octet::c_api;
using namespace octet::graph_c;
using octet::GraphBuilder;
using octet::GraphValue;
using octet::GraphValueInfo;

struct octet_graph_builder {
  GraphBuilder graph;
};

struct octet_graph_node {
  octet::GraphNode node;
};

namespace {

/// Writes values to the caller's array of *count members.
void write_values(const std::vector<GraphValue>& values, std::uint64_t* to, std::uint64_t* count,
                  const char* function) {
  const std::uint64_t capacity = required(count, function, "count");
  *count = values.size();
  if (to == nullptr) return;
  if (capacity < values.size())
    refuse(std::string(function) + ": there is room for " + std::to_string(capacity) + " values, expected at least " +
           std::to_string(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) to[i] = values[i].number();
}

GraphValueInfo info_of(const octet_graph_builder* builder, std::uint64_t value, const char* function) {
  return required(builder, function, "builder").graph.info(GraphValue(value));
}

}  // namespace

extern "C" {

octet_graph_builder* octet_graph_builder_create(int64_t opset_version) {
  return guarded_pointer([&] {
    return new octet_graph_builder{GraphBuilder(opset_version == 0 ? GraphBuilder::kDefaultOpset : opset_version)};
  });
}

octet_graph_builder* octet_graph_builder_from_model(const void* model, uint64_t model_size, const char* directory) {
  return guarded_pointer([&] {
    require(model, "octet_graph_builder_from_model", "model");
    return new octet_graph_builder{GraphBuilder::from_model(model, model_size, text_or_empty(directory))};
  });
}

octet_graph_builder* octet_graph_builder_from_file(const char* path) {
  return guarded_pointer([&] {
    return new octet_graph_builder{GraphBuilder::from_file(&required(path, "octet_graph_builder_from_file", "path"))};
  });
}

void octet_graph_builder_release(octet_graph_builder* builder) { delete builder; }

int32_t octet_graph_builder_add_input(octet_graph_builder* builder, const char* name, int32_t dtype,
                                      const int64_t* dims, const char* const* symbols, int32_t rank, uint64_t* value) {
  static constexpr const char* kFunction = "octet_graph_builder_add_input";
  return guarded([&] {
    std::vector<octet::GraphDim> extents;
    for (const std::int64_t dim : array(dims, checked_rank(rank, kFunction), kFunction, "dims")) {
      const char* symbol = symbols ? symbols[extents.size()] : nullptr;
      extents.emplace_back(dim);
      extents.back().symbol = text_or_empty(symbol);
    }
    std::uint64_t& result = required(value, kFunction, "value");
    result = required(builder, kFunction, "builder")
                 .graph.add_input(text_or_empty(name), static_cast<octet::DataType>(dtype), extents)
                 .number();
  });
}

int32_t octet_graph_builder_add_constant(octet_graph_builder* builder, const char* name, int32_t dtype,
                                         const int64_t* dims, int32_t rank, const void* data, uint64_t size_bytes,
                                         uint64_t* value) {
  static constexpr const char* kFunction = "octet_graph_builder_add_constant";
  return guarded([&] {
    const auto extents = array(dims, checked_rank(rank, kFunction), kFunction, "dims");
    const octet::TensorView tensor(data, static_cast<octet::DataType>(dtype), extents);
    std::uint64_t& result = required(value, kFunction, "value");
    GraphBuilder& graph = required(builder, kFunction, "builder").graph;
    const std::uint64_t needed = octet::core::checked_bytes("the constant", tensor);
    if (size_bytes != needed)
      refuse(std::string(kFunction) + ": 'data' has " + std::to_string(size_bytes) + " bytes, expected " +
             std::to_string(needed));
    result = graph.add_constant(tensor, text_or_empty(name)).number();
  });
}

octet_graph_node* octet_graph_node_create(const char* domain, const char* op_type, const char* name) {
  return guarded_pointer([&] {
    auto node = std::make_unique<octet_graph_node>();
    node->node.op_type = &required(op_type, "octet_graph_node_create", "op_type");
    node->node.domain = text_or_empty(domain);
    node->node.name = text_or_empty(name);
    return node.release();
  });
}

void octet_graph_node_release(octet_graph_node* node) { delete node; }

int32_t octet_graph_node_add_input(octet_graph_node* node, const char* port, uint64_t value) {
  static constexpr const char* kFunction = "octet_graph_node_add_input";
  return guarded([&] {
    auto& inputs = required(node, kFunction, "node").node.inputs;
    const std::string name = &required(port, kFunction, "port");
    const auto found =
        std::find_if(inputs.begin(), inputs.end(), [&](const octet::GraphInput& input) { return input.port == name; });
    if (found == inputs.end())
      inputs.emplace_back(name, GraphValue(value));
    else
      found->values.emplace_back(value);
  });
}

int32_t octet_graph_node_set_int(octet_graph_node* node, const char* attribute, int64_t value) {
  return guarded([&] { set_attribute(node, attribute, "octet_graph_node_set_int", value); });
}

int32_t octet_graph_node_set_float(octet_graph_node* node, const char* attribute, float value) {
  return guarded([&] { set_attribute(node, attribute, "octet_graph_node_set_float", value); });
}

int32_t octet_graph_node_set_string(octet_graph_node* node, const char* attribute, const char* value) {
  static constexpr const char* kFunction = "octet_graph_node_set_string";
  return guarded([&] { set_attribute(node, attribute, kFunction, std::string(&required(value, kFunction, "value"))); });
}

int32_t octet_graph_node_set_ints(octet_graph_node* node, const char* attribute, const int64_t* values,
                                  uint64_t count) {
  static constexpr const char* kFunction = "octet_graph_node_set_ints";
  return guarded([&] { set_attribute(node, attribute, kFunction, array(values, count, kFunction, "values")); });
}

int32_t octet_graph_node_set_floats(octet_graph_node* node, const char* attribute, const float* values,
                                    uint64_t count) {
  static constexpr const char* kFunction = "octet_graph_node_set_floats";
  return guarded([&] { set_attribute(node, attribute, kFunction, array(values, count, kFunction, "values")); });
}

int32_t octet_graph_node_set_strings(octet_graph_node* node, const char* attribute, const char* const* values,
                                     uint64_t count) {
  static constexpr const char* kFunction = "octet_graph_node_set_strings";
  return guarded([&] { set_attribute(node, attribute, kFunction, strings(values, count, kFunction, "values")); });
}

int32_t octet_graph_node_set_metadata(octet_graph_node* node, const char* key, const char* value) {
  static constexpr const char* kFunction = "octet_graph_node_set_metadata";
  return guarded([&] {
    const std::string text = &required(value, kFunction, "value");
    required(node, kFunction, "node").node.metadata[&required(key, kFunction, "key")] = text;
  });
}

int32_t octet_graph_builder_add_node(octet_graph_builder* builder, const octet_graph_node* node, uint64_t* outputs,
                                     uint64_t* count) {
  static constexpr const char* kFunction = "octet_graph_builder_add_node";
  return guarded([&] {
    require(outputs, kFunction, "outputs");
    const std::uint64_t capacity = required(count, kFunction, "count");
    const octet::GraphNode& description = required(node, kFunction, "node").node;
    GraphBuilder& graph = required(builder, kFunction, "builder").graph;
    const octet::core::OpDef* op = octet::core::find_op(description.domain, description.op_type, INT64_MAX);
    if (op != nullptr && capacity < op->outputs.size())
      refuse(std::string(kFunction) + ": there is room for " + std::to_string(capacity) +
             " outputs, expected at least " + std::to_string(op->outputs.size()));
    write_values(graph.add_node(description), outputs, count, kFunction);
  });
}

int32_t octet_graph_builder_add_dynamic_quantize_lstm(octet_graph_builder* builder, const char* name,
                                                      const uint64_t* inputs, const float* activation_alpha,
                                                      uint64_t activation_alpha_count, const float* activation_beta,
                                                      uint64_t activation_beta_count, const char* const* activations,
                                                      uint64_t activation_count, float clip, const char* direction,
                                                      int64_t hidden_size, int32_t input_forget, int32_t training,
                                                      float lda_coeff, uint64_t* outputs) {
  static constexpr const char* kFunction = "octet_graph_builder_add_dynamic_quantize_lstm";
  return guarded([&] {
    require(outputs, kFunction, "outputs");
    const std::uint64_t* from = &required(inputs, kFunction, "inputs");
    const auto value = [&](std::size_t i) { return GraphValue(from[i]); };
    octet::DynamicQuantizeLstmParameters parameters;
    parameters.activation_alpha = array(activation_alpha, activation_alpha_count, kFunction, "activation_alpha");
    parameters.activation_beta = array(activation_beta, activation_beta_count, kFunction, "activation_beta");
    parameters.activations = strings(activations, activation_count, kFunction, "activations");
    parameters.clip = clip;
    if (direction != nullptr) parameters.direction = direction;
    parameters.hidden_size = hidden_size;
    parameters.input_forget = input_forget != 0;
    parameters.training = training != 0;
    parameters.lda_coeff = lda_coeff;
    const auto made =
        required(builder, kFunction, "builder")
            .graph.add_dynamic_quantize_lstm({value(0), value(1), value(2), value(3), value(4), value(5), value(6),
                                              value(7), value(8), value(9), value(10), value(11)},
                                             parameters, text_or_empty(name));
    outputs[0] = made.Y.number();
    outputs[1] = made.Y_h.number();
    outputs[2] = made.Y_c.number();
  });
}

int32_t octet_graph_quantize_lstm_weight(const float* weight, int64_t num_directions, int64_t gates, int64_t columns,
                                         int32_t dtype, int32_t symmetric, int32_t per_channel, void* data,
                                         float* scale, void* zero_point, double* largest_error,
                                         double* root_mean_square_error) {
  static constexpr const char* kFunction = "octet_graph_quantize_lstm_weight";
  return guarded([&] {
    const std::int64_t dims[] = {num_directions, gates, columns};
    const auto made =
        octet::quantize_lstm_weight({weight, octet::DataType::float32, dims, 3},
                                    {static_cast<octet::DataType>(dtype), symmetric != 0, per_channel != 0});
    const auto copy = [&](const auto& from, void* to, const char* parameter) {
      if (from.empty()) return;
      require(to, kFunction, parameter);
      std::memcpy(to, from.data(), from.size() * sizeof from[0]);
    };
    copy(made.values, data, "data");
    copy(made.scale, scale, "scale");
    copy(made.zero_point, zero_point, "zero_point");
    if (largest_error) *largest_error = static_cast<double>(made.largest_error);
    if (root_mean_square_error) *root_mean_square_error = static_cast<double>(made.rms_error);
  });
}

int32_t octet_graph_builder_add_output(octet_graph_builder* builder, uint64_t value, const char* name) {
  return guarded([&] {
    required(builder, "octet_graph_builder_add_output", "builder")
        .graph.add_output(GraphValue(value), text_or_empty(name));
  });
}

int32_t octet_graph_builder_remove_output(octet_graph_builder* builder, uint64_t value) {
  return guarded([&] {
    required(builder, "octet_graph_builder_remove_output", "builder").graph.remove_output(GraphValue(value));
  });
}

int32_t octet_graph_builder_find_value(const octet_graph_builder* builder, const char* name, uint64_t* value) {
  static constexpr const char* kFunction = "octet_graph_builder_find_value";
  return guarded([&] {
    const GraphBuilder& graph = required(builder, kFunction, "builder").graph;
    required(value, kFunction, "value") = graph.value(&required(name, kFunction, "name")).number();
  });
}

int32_t octet_graph_builder_inputs(const octet_graph_builder* builder, uint64_t* values, uint64_t* count) {
  static constexpr const char* kFunction = "octet_graph_builder_inputs";
  return guarded(
      [&] { write_values(required(builder, kFunction, "builder").graph.inputs(), values, count, kFunction); });
}

int32_t octet_graph_builder_outputs(const octet_graph_builder* builder, uint64_t* values, uint64_t* count) {
  static constexpr const char* kFunction = "octet_graph_builder_outputs";
  return guarded(
      [&] { write_values(required(builder, kFunction, "builder").graph.outputs(), values, count, kFunction); });
}

int32_t octet_graph_builder_value_info(const octet_graph_builder* builder, uint64_t value, int32_t* dtype,
                                       int32_t* rank) {
  return guarded([&] {
    const GraphValueInfo info = info_of(builder, value, "octet_graph_builder_value_info");
    if (dtype) *dtype = static_cast<std::int32_t>(info.dtype);
    if (rank) *rank = info.dims ? static_cast<std::int32_t>(info.dims->size()) : -1;
  });
}

int32_t octet_graph_builder_value_dims(const octet_graph_builder* builder, uint64_t value, int64_t* dims,
                                       uint64_t capacity) {
  static constexpr const char* kFunction = "octet_graph_builder_value_dims";
  return guarded([&] {
    const GraphValueInfo info = info_of(builder, value, kFunction);
    if (!info.dims) refuse(std::string(kFunction) + ": the rank of value '" + info.name + "' is not known");
    std::vector<std::int64_t> extents;
    for (const octet::GraphDim& dim : *info.dims) extents.push_back(dim.value);
    write_array(extents, dims, capacity, kFunction, "dims");
  });
}

int32_t octet_graph_builder_value_name(const octet_graph_builder* builder, uint64_t value, char* buffer,
                                       uint64_t* size) {
  static constexpr const char* kFunction = "octet_graph_builder_value_name";
  return guarded([&] { write_text(info_of(builder, value, kFunction).name, buffer, size, kFunction); });
}

int32_t octet_graph_builder_value_symbol(const octet_graph_builder* builder, uint64_t value, uint64_t d, char* buffer,
                                         uint64_t* size) {
  static constexpr const char* kFunction = "octet_graph_builder_value_symbol";
  return guarded([&] {
    const GraphValueInfo info = info_of(builder, value, kFunction);
    if (!info.dims || d >= info.dims->size())
      refuse(std::string(kFunction) + ": value '" + info.name + "' has no extent " + std::to_string(d));
    write_text((*info.dims)[d].symbol, buffer, size, kFunction);
  });
}

int32_t octet_graph_builder_check(const octet_graph_builder* builder) {
  return guarded([&] { required(builder, "octet_graph_builder_check", "builder").graph.check(); });
}

int32_t octet_graph_builder_serialize(const octet_graph_builder* builder, void* buffer, uint64_t* size) {
  static constexpr const char* kFunction = "octet_graph_builder_serialize";
  return guarded([&] {
    require(size, kFunction, "size");
    const std::string bytes = required(builder, kFunction, "builder").graph.serialize();
    check_capacity(buffer, size, bytes.size(), kFunction);
    if (buffer) std::memcpy(buffer, bytes.data(), bytes.size());
  });
}

int32_t octet_graph_builder_save(const octet_graph_builder* builder, const char* path,
                                 uint64_t external_data_threshold) {
  static constexpr const char* kFunction = "octet_graph_builder_save";
  return guarded([&] {
    const std::string file = &required(path, kFunction, "path");
    required(builder, kFunction, "builder").graph.save(file, external_data_threshold);
  });
}

}  // extern "C"
