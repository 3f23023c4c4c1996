#include "test/support/cases.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <stdexcept>

namespace octet::test {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Bindings = std::map<std::string, json>;

/// Replaces "$name" by what is bound to it; a bound list inside a list is spliced in.
json resolve(const json& value, const Bindings& bindings) {
  if (value.is_string() && !value.get_ref<const std::string&>().empty() &&
      value.get_ref<const std::string&>()[0] == '$') {
    const auto bound = bindings.find(value.get_ref<const std::string&>().substr(1));
    if (bound == bindings.end()) throw std::invalid_argument("nothing is bound to " + value.get<std::string>());
    return resolve(bound->second, bindings);
  }
  if (value.is_array()) {
    json result = json::array();
    for (const json& element : value) {
      json resolved = resolve(element, bindings);
      if (element.is_string() && resolved.is_array())
        result.insert(result.end(), resolved.begin(), resolved.end());
      else
        result.push_back(std::move(resolved));
    }
    return result;
  }
  if (value.is_object()) {
    json result = json::object();
    for (const auto& [key, member] : value.items()) result[key] = resolve(member, bindings);
    return result;
  }
  return value;
}

/// How a bound value shows in a case's name.
std::string label_of(const std::string& variable, const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "no_" + variable;
  std::string text = variable;
  for (const char c : value.dump()) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      text += c;
    else if (c == '-')
      text += "minus";
    else if (c == '.')
      text += "p";
    else if (c == ',')
      text += "x";
  }
  return text;
}

struct Variant {
  std::string label;
  Bindings bindings;
};

/// Every combination of what there was and one more choice.
std::vector<Variant> combined(const std::vector<Variant>& variants, const std::vector<Variant>& choices) {
  std::vector<Variant> result;
  for (const Variant& variant : variants) {
    for (const Variant& choice : choices) {
      Variant both = variant;
      if (!both.label.empty() && !choice.label.empty()) both.label += "_";
      both.label += choice.label;
      both.bindings.insert(choice.bindings.begin(), choice.bindings.end());
      result.push_back(std::move(both));
    }
  }
  return result;
}

std::vector<Variant> product_choices(const std::string& variable, const ordered_json& values) {
  std::vector<Variant> choices;
  for (const auto& [key, value] : values.items())
    choices.push_back({values.is_object() ? key : label_of(variable, value), {{variable, json(value)}}});
  return choices;
}

std::vector<Variant> rows(const ordered_json& each) {
  std::vector<Variant> choices;
  for (const ordered_json& row : each) {
    Variant choice;
    for (const auto& [variable, value] : row.items()) {
      if (variable == "label") continue;
      choice.bindings[variable] = json(value);
      if (row.contains("label")) continue;
      choice.label += (choice.label.empty() ? "" : "_") + label_of(variable, value);
    }
    if (row.contains("label")) choice.label = row["label"].get<std::string>();
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::vector<Variant> variants_of(const ordered_json& group) {
  std::vector<Variant> variants{{}};
  if (group.contains("each")) variants = combined(variants, rows(group["each"]));
  if (group.contains("product"))
    for (const auto& [variable, values] : group["product"].items())
      variants = combined(variants, product_choices(variable, values));
  return variants;
}

AttributeValue attribute_value(const json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<float>();
  if (value.is_string()) return value.get<std::string>();
  if (!value.empty() && value[0].is_string()) return value.get<std::vector<std::string>>();
  const bool real =
      std::any_of(value.begin(), value.end(), [](const json& element) { return element.is_number_float(); });
  if (real) return value.get<std::vector<float>>();
  return value.get<std::vector<std::int64_t>>();
}

std::vector<PortSpec> ports(const json& list) {
  std::vector<PortSpec> result;
  for (const json& item : list) {
    PortSpec port;
    if (!item.is_null()) {
      port.dtype = data_type(item.at("dtype"));
      port.dims = item.value("dims", Dims{});
      port.constant = item.value("constant", false);
      if (item.contains("fill")) port.fill = item["fill"];
    }
    result.push_back(std::move(port));
  }
  return result;
}

Case make_case(const ordered_json& table, const ordered_json& group, const Variant& variant) {
  Case result;
  result.domain = table.value("domain", "");
  result.op_type = table.at("operator");
  result.group = group.at("name");
  result.name = variant.label.empty() ? result.group : result.group + "/" + variant.label;
  result.fixed = group.value("fixed", false);
  result.opset_version = resolve(json(group.at("opset_version")), variant.bindings);
  if (group.contains("attributes")) {
    const json attributes = resolve(json(group["attributes"]), variant.bindings);
    for (const auto& [name, value] : attributes.items())
      if (!value.is_null()) result.attributes[name] = attribute_value(value);
  }
  result.inputs = ports(resolve(json(group.at("inputs")), variant.bindings));
  result.outputs = ports(resolve(json(group.at("outputs")), variant.bindings));
  return result;
}

/// The fixed cases, and `count` others drawn by the seed, in the order of the table.
std::vector<Case> sample(std::vector<Case> cases, std::size_t count, std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, std::size_t>> others;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (!cases[i].fixed) others.emplace_back(random_word(seed, hash(cases[i].name)), i);
  std::sort(others.begin(), others.end());
  std::vector<bool> keep(cases.size(), true);
  for (std::size_t i = count; i < others.size(); ++i) keep[others[i].second] = false;
  std::vector<Case> result;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (keep[i]) result.push_back(std::move(cases[i]));
  return result;
}

std::uint64_t seed_from_environment() {
  const char* seed = std::getenv("OCTET_TEST_SEED");
  return seed == nullptr ? 0 : std::strtoull(seed, nullptr, 10);
}

}  // namespace

std::filesystem::path case_folder() {
  const char* folder = std::getenv("OCTET_TEST_CASES");
  return folder == nullptr ? OCTET_CASE_FOLDER : folder;
}

std::vector<std::filesystem::path> table_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(case_folder()))
    if (entry.path().extension() == ".json" && entry.path().filename() != "dispatch.json")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Case> load_table(const std::filesystem::path& file) {
  std::ifstream stream(file);
  const auto table = ordered_json::parse(stream, nullptr, true, true);
  std::vector<Case> cases;
  for (const ordered_json& group : table.at("groups")) {
    for (const Variant& variant : variants_of(group)) {
      try {
        cases.push_back(make_case(table, group, variant));
      } catch (const std::exception& error) {
        throw std::invalid_argument(file.string() + ": " + group.value("name", "?") + "/" + variant.label + ": " +
                                    error.what());
      }
    }
  }
  return cases;
}

std::vector<Case> selected_cases() {
  const char* wanted = std::getenv("OCTET_TEST_SAMPLE");
  std::vector<Case> result;
  for (const auto& file : table_files()) {
    std::vector<Case> cases = load_table(file);
    if (wanted != nullptr) {
      char* end = nullptr;
      const auto count = std::strtoull(wanted, &end, 10);
      cases = sample(std::move(cases), count, *end == ',' ? std::strtoull(end + 1, nullptr, 10) : 0);
    }
    std::move(cases.begin(), cases.end(), std::back_inserter(result));
  }
  return result;
}

std::vector<Tensor> make_inputs(const Case& test_case) {
  static const std::uint64_t seed = seed_from_environment();
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const PortSpec& port = test_case.inputs[i];
    if (port.present()) {
      tensors.emplace_back(port.dtype, port.dims);
      fill(tensors.back(), port.fill,
           hash(test_case.qualified_op() + "/" + test_case.name + "#" + std::to_string(i)) + seed);
    } else {
      tensors.emplace_back();
    }
  }
  return tensors;
}

std::vector<Tensor> make_outputs(const Case& test_case) {
  std::vector<Tensor> tensors;
  for (const PortSpec& port : test_case.outputs)
    tensors.push_back(port.present() ? Tensor(port.dtype, port.dims) : Tensor());
  return tensors;
}

Node make_node(const Case& test_case, const std::vector<Tensor>& inputs, bool with_constants) {
  Node node;
  node.op_type = test_case.op_type;
  node.domain = test_case.domain;
  node.opset_version = test_case.opset_version;
  node.name = "node";
  node.attributes = test_case.attributes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const PortSpec& port = test_case.inputs[i];
    ValueInfo value{port.dtype};
    if (port.present() && port.constant && with_constants) {
      value.dims = port.dims;
      value.constant = inputs[i].data();
    }
    node.inputs.push_back(std::move(value));
  }
  for (const PortSpec& port : test_case.outputs) node.outputs.push_back({port.dtype});
  return node;
}

bool has_constants(const Case& test_case) {
  return std::any_of(test_case.inputs.begin(), test_case.inputs.end(),
                     [](const PortSpec& port) { return port.constant; });
}

}  // namespace octet::test
