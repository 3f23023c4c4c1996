// `octet explain`.
#include <fstream>
#include <iostream>

#include "provider/cli/model.hpp"
#include "provider/cli/node_spec.hpp"

namespace octet::cli {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Json read_json(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return Json::parse(file);
}

void print_text(const Json& node) {
  std::cout << node["op_type"].get<std::string>();
  if (const std::string name = node["name"]; !name.empty()) std::cout << " '" << name << "'";
  std::cout << ": ";
  if (node.contains("error")) {
    std::cout << "not explained: " << node["error"].get<std::string>() << '\n';
    return;
  }
  const Json& decision = node["decision"];
  std::cout << decision["backend"].get<std::string>() << ' ' << decision["implementation"].get<std::string>() << "\n  ";
  for (const auto& input : node["inputs"]) std::cout << (input.is_null() ? "-" : input.get<std::string>()) << ' ';
  std::cout << "->";
  for (const auto& output : node["outputs"]) std::cout << ' ' << (output.is_null() ? "-" : output.get<std::string>());
  std::cout << '\n';
  for (const auto& reason : decision["reasons"]) std::cout << "  " << reason.get<std::string>() << '\n';
}

int explain_node(const NodeSpec& spec, bool json) {
  const Json result = explained(spec.node, spec.options);
  if (json)
    std::cout << result.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  else
    print_text(result);
  return kDone;
}

void print_model_text(const Json& result) {
  for (const auto& node : result["nodes"]) print_text(node);
  const Json& summary = result["summary"];
  std::cout << summary["nodes"] << " nodes, " << summary["of_octet"] << " of Octet's operators, "
            << summary["explained"] << " explained\n";
  for (const auto& [backend, count] : summary["backends"].items())
    std::cout << "  " << backend << ": " << count << '\n';
  for (const auto& [op, count] : summary["without_schema"].items())
    std::cout << "  " << op << ": " << count << " nodes whose outputs neither ONNX nor Octet can infer\n";
}

int explain_model(const ExplainArguments& arguments) {
  const Json result = explained_model(arguments);
  if (arguments.json)
    std::cout << result.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  else
    print_model_text(result);
  return kDone;
}

}  // namespace

Json explained(const Node& node, const Options& options) {
  const Operator op(node, options);
  std::vector<TensorView> inputs;
  Json input_texts = Json::array();
  for (const ValueInfo& info : node.inputs) {
    const bool present = info.dtype != DataType::undefined;
    inputs.push_back(present ? TensorView(info.constant, info.dtype, *info.dims) : TensorView());
    input_texts.push_back(present ? Json(to_string(info.dtype, *info.dims) + (info.constant ? " constant" : ""))
                                  : Json());
  }
  Json output_texts = Json::array();
  for (const ValueInfo& info : op.infer(inputs))
    output_texts.push_back(info.dtype == DataType::undefined ? Json() : Json(to_string(info.dtype, *info.dims)));
  const Decision decision = op.explain(inputs);
  return {
      {"name", node.name},
      {"op_type", node.op_type},
      {"domain", domain_name(node.domain)},
      {"inputs", std::move(input_texts)},
      {"outputs", std::move(output_texts)},
      {"decision",
       {{"backend", decision.backend}, {"implementation", decision.implementation}, {"reasons", decision.reasons}}}};
}

int explain(const ExplainArguments& arguments) {
  if (ends_with(arguments.target, ".onnx")) return explain_model(arguments);
  if (!arguments.dims.empty()) throw UsageError("--dim is for models");
  if (!ends_with(arguments.target, ".json")) return explain_node(node_from_arguments(arguments), arguments.json);
  NodeSpec spec;
  try {
    spec = node_from_json(read_json(arguments.target), arguments);
  } catch (const Json::exception& error) {
    throw std::runtime_error(arguments.target + ": " + error.what());
  }
  return explain_node(spec, arguments.json);
}

}  // namespace octet::cli
