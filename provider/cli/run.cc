// `octet run`.
#include <filesystem>
#include <iostream>
#include <map>

#include <octet/model.hpp>

#include "provider/cli/cli.hpp"
#include "provider/cli/node_spec.hpp"
#include "provider/cli/npy.hpp"

namespace octet::cli {
namespace {

/// The files of the model's inputs, in their order; absent ones are empty.
std::vector<ModelTensor> read_inputs(const Model& model, const std::vector<std::string>& texts) {
  std::map<std::string, std::string> files;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) throw UsageError("--input '" + text + "': expected NAME=FILE");
    if (!files.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      throw UsageError("--input: '" + text.substr(0, equals) + "' is given twice");
  }
  std::vector<ModelTensor> tensors;
  for (const GraphValueInfo& input : model.inputs()) {
    const auto found = files.find(input.name);
    tensors.push_back(found == files.end() ? ModelTensor() : read_npy(found->second));
    if (found != files.end()) files.erase(found);
  }
  if (files.empty()) return tensors;
  std::string names;
  for (const GraphValueInfo& input : model.inputs()) names += (names.empty() ? "" : ", ") + input.name;
  throw UsageError("--input: the model has no input '" + files.begin()->first + "', its inputs are " + names);
}

/// A name of a value as one of a file: what is no letter, digit, dot, dash or underscore becomes an underscore.
std::string file_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  return name + ".npy";
}

}  // namespace

int run_model(const RunArguments& arguments) {
  const Model model = Model::from_file(arguments.model, arguments.options);
  const std::vector<ModelTensor> inputs = read_inputs(model, arguments.inputs);
  std::vector<TensorView> views;
  for (const ModelTensor& tensor : inputs)
    views.push_back(tensor.dtype == DataType::undefined ? TensorView() : tensor.view());
  const std::vector<ModelTensor> outputs = model.run(views);

  const std::filesystem::path folder = arguments.output;
  std::filesystem::create_directories(folder);
  std::map<std::string, std::string> written;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = model.outputs()[i].name;
    const std::string file = (folder / file_name(name)).string();
    if (!written.emplace(file, name).second)
      throw std::runtime_error("outputs '" + written[file] + "' and '" + name + "' would both be " + file);
    write_npy(file, outputs[i]);
    std::cout << name << ": " << to_string(outputs[i].dtype, outputs[i].dims) << " -> " << file << '\n';
  }
  return kDone;
}

}  // namespace octet::cli
