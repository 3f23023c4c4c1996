// Models that run, in flat C.
#include <cstring>
#include <memory>

#include <octet/model.hpp>

#include "provider/core/options.hpp"
#include "provider/onnx/graph_c.hpp"
#include "provider/onnx/graph_state.hpp"

using namespace octet::c_api;
using namespace octet::graph_c;
using octet::Model;
using octet::ModelTensor;

struct octet_graph_model {
  std::shared_ptr<const Model> model;
};

struct octet_graph_run {
  struct Input {
    octet::DataType dtype = octet::DataType::undefined;
    std::vector<std::int64_t> dims;
    const void* data = nullptr;
  };
  std::shared_ptr<const Model> model;
  std::vector<Input> inputs;
  std::vector<ModelTensor> outputs;
};

namespace {

/// "threads=2,backend=eigen"
octet::Options parse_options(const std::string& text) {
  octet::Options options;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::size_t equals = std::min(text.find('=', begin), end);
    const std::string key = text.substr(begin, equals - begin);
    const std::string value = equals < end ? text.substr(equals + 1, end - equals - 1) : "";
    octet::core::set_option(options, key, value);
    begin = end + 1;
  }
  return options;
}

octet_graph_model* handle(Model model) {
  return new octet_graph_model{std::make_shared<const Model>(std::move(model))};
}

void write_name(const std::vector<octet::GraphValueInfo>& values, std::uint64_t index, char* buffer,
                std::uint64_t* size, const char* function) {
  if (index >= values.size()) refuse(std::string(function) + ": there is no value " + std::to_string(index));
  write_text(values[index].name, buffer, size, function);
}

const ModelTensor& output_of(const octet_graph_run* run, std::uint64_t index, const char* function) {
  const auto& outputs = required(run, function, "run").outputs;
  if (outputs.empty()) refuse(std::string(function) + ": nothing was computed yet");
  if (index >= outputs.size()) refuse(std::string(function) + ": there is no output " + std::to_string(index));
  return outputs[index];
}

}  // namespace

extern "C" {

octet_graph_model* octet_graph_model_from_bytes(const void* model, uint64_t model_size, const char* directory,
                                                const char* options) {
  return guarded_pointer([&] {
    require(model, "octet_graph_model_from_bytes", "model");
    return handle(
        Model::from_bytes(model, model_size, text_or_empty(directory), parse_options(text_or_empty(options))));
  });
}

octet_graph_model* octet_graph_model_from_file(const char* path, const char* options) {
  return guarded_pointer([&] {
    const std::string file = &required(path, "octet_graph_model_from_file", "path");
    return handle(Model::from_file(file, parse_options(text_or_empty(options))));
  });
}

void octet_graph_model_release(octet_graph_model* model) { delete model; }

int32_t octet_graph_model_counts(const octet_graph_model* model, uint64_t* inputs, uint64_t* outputs) {
  return guarded([&] {
    const Model& loaded = *required(model, "octet_graph_model_counts", "model").model;
    if (inputs) *inputs = loaded.inputs().size();
    if (outputs) *outputs = loaded.outputs().size();
  });
}

int32_t octet_graph_model_input_name(const octet_graph_model* model, uint64_t index, char* buffer, uint64_t* size) {
  static constexpr const char* kFunction = "octet_graph_model_input_name";
  return guarded(
      [&] { write_name(required(model, kFunction, "model").model->inputs(), index, buffer, size, kFunction); });
}

int32_t octet_graph_model_output_name(const octet_graph_model* model, uint64_t index, char* buffer, uint64_t* size) {
  static constexpr const char* kFunction = "octet_graph_model_output_name";
  return guarded(
      [&] { write_name(required(model, kFunction, "model").model->outputs(), index, buffer, size, kFunction); });
}

octet_graph_run* octet_graph_run_create(const octet_graph_model* model) {
  return guarded_pointer([&] {
    const auto& loaded = required(model, "octet_graph_run_create", "model").model;
    return new octet_graph_run{loaded, std::vector<octet_graph_run::Input>(loaded->inputs().size()), {}};
  });
}

void octet_graph_run_release(octet_graph_run* run) { delete run; }

int32_t octet_graph_run_set_input(octet_graph_run* run, uint64_t index, int32_t dtype, const int64_t* dims,
                                  int32_t rank, const void* data, uint64_t size_bytes) {
  static constexpr const char* kFunction = "octet_graph_run_set_input";
  return guarded([&] {
    auto& inputs = required(run, kFunction, "run").inputs;
    if (index >= inputs.size()) refuse(std::string(kFunction) + ": there is no input " + std::to_string(index));
    octet_graph_run::Input input{static_cast<octet::DataType>(dtype),
                                 array(dims, checked_rank(rank, kFunction), kFunction, "dims"), data};
    const std::string what = "input '" + run->model->inputs()[index].name + "'";
    const std::uint64_t needed = octet::core::checked_bytes(what, {data, input.dtype, input.dims});
    if (size_bytes < needed)
      refuse(what + " has " + std::to_string(size_bytes) + " bytes, expected " + std::to_string(needed));
    inputs[index] = std::move(input);
  });
}

int32_t octet_graph_run_execute(octet_graph_run* run) {
  return guarded([&] {
    octet_graph_run& call = required(run, "octet_graph_run_execute", "run");
    std::vector<octet::TensorView> views;
    for (const auto& input : call.inputs)
      views.push_back(input.dtype == octet::DataType::undefined
                          ? octet::TensorView()
                          : octet::TensorView(input.data, input.dtype, input.dims));
    call.outputs = call.model->run(views);
  });
}

int32_t octet_graph_run_output_info(const octet_graph_run* run, uint64_t index, int32_t* dtype, int32_t* rank,
                                    uint64_t* size_bytes) {
  return guarded([&] {
    const ModelTensor& output = output_of(run, index, "octet_graph_run_output_info");
    if (dtype) *dtype = static_cast<std::int32_t>(output.dtype);
    if (rank) *rank = static_cast<std::int32_t>(output.dims.size());
    if (size_bytes) *size_bytes = output.data.size();
  });
}

int32_t octet_graph_run_output_dims(const octet_graph_run* run, uint64_t index, int64_t* dims, uint64_t capacity) {
  static constexpr const char* kFunction = "octet_graph_run_output_dims";
  return guarded([&] { write_array(output_of(run, index, kFunction).dims, dims, capacity, kFunction, "dims"); });
}

int32_t octet_graph_run_copy_output(const octet_graph_run* run, uint64_t index, void* data, uint64_t size_bytes) {
  static constexpr const char* kFunction = "octet_graph_run_copy_output";
  return guarded([&] {
    write_array(output_of(run, index, kFunction).data, static_cast<unsigned char*>(data), size_bytes, kFunction,
                "data");
  });
}

}  // extern "C"
