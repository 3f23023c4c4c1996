// `octet explain`, and what it shares with other commands that look at nodes.
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

}  // namespace

void print_node(const Json& node) {
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

void print_groups(const Json& model) {
  if (model.contains("groups_error"))
    std::cout << "groups of nodes: not explained: " << model["groups_error"].get<std::string>() << '\n';
  for (const char* list : {"groups", "qdq_marks"})
    if (model.contains(list))
      for (const auto& item : model[list]) std::cout << item["description"].get<std::string>() << '\n';
}

void print_summary(const Json& summary) {
  std::cout << summary["nodes"] << " nodes, " << summary["of_octet"] << " of Octet's operators, "
            << summary["explained"] << " explained\n";
  for (const auto& [backend, count] : summary["backends"].items())
    std::cout << "  " << backend << ": " << count << '\n';
  if (summary.contains("groups"))
    std::cout << "  in onnxruntime: " << summary["nodes_in_groups"] << " nodes taken together in " << summary["groups"]
              << " groups, " << summary["qdq_marks"] << " left as marks of the QDQ format\n";
  for (const auto& [op, count] : summary["without_schema"].items())
    std::cout << "  " << op << ": " << count << " nodes whose outputs neither ONNX nor Octet can infer\n";
}

void print_json(const Json& json) { std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n'; }

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

Json examined(const TargetArguments& arguments, const Examine& examine) {
  if (ends_with(arguments.target, ".onnx")) return examined_model(arguments, examine);
  if (!arguments.dims.empty()) throw UsageError("--dim is for models");
  NodeSpec spec;
  if (ends_with(arguments.target, ".json")) {
    try {
      spec = node_from_json(read_json(arguments.target), arguments);
    } catch (const Json::exception& error) {
      throw std::runtime_error(arguments.target + ": " + error.what());
    }
  } else {
    spec = node_from_arguments(arguments);
  }
  return examine(spec.node, spec.options);
}

int explain(const TargetArguments& arguments) {
  const Json result = examined(arguments, explained);
  if (arguments.json) {
    print_json(result);
  } else if (result.contains("nodes")) {
    for (const auto& node : result["nodes"]) print_node(node);
    print_groups(result);
    print_summary(result["summary"]);
  } else {
    print_node(result);
  }
  return kDone;
}

}  // namespace octet::cli
