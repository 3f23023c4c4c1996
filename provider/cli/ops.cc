// `octet ops`, `octet options` and `octet version`.
#include <octet/octet.h>
#include <octet/octet.hpp>

#include <cstdlib>
#include <iomanip>
#include <iostream>

#include "provider/cli/cli.hpp"
#include "provider/ort/options.hpp"

namespace octet::cli {
namespace {

std::string joined(const Json& list, const std::string& separator) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : separator) + item.get<std::string>();
  return text;
}

std::string backends(const Json& op) {
  const Json& kernel = op["kernel"];
  return kernel.is_string() ? kernel.get<std::string>() : joined(kernel, ", ");
}

void print_table(const Json& list) {
  std::size_t width = 0;
  for (const auto& op : list) width = std::max(width, op["name"].get<std::string>().size());
  std::cout << std::left;
  for (const auto& op : list)
    std::cout << std::setw(15) << domain_name(op["domain"]) << std::setw(static_cast<int>(width) + 2)
              << op["name"].get<std::string>() << "since " << std::setw(4) << op["since_version"].get<int>()
              << std::setw(10) << op["family"].get<std::string>() << backends(op) << '\n';
}

void print_ports(const char* title, const Json& ports) {
  std::cout << title << ":\n";
  for (const auto& port : ports) {
    const std::string option = port["option"];
    std::cout << "  " << port["name"].get<std::string>() << " (" << port["type"].get<std::string>()
              << (option == "required" ? "" : ", " + option) << "): " << port["doc"].get<std::string>() << '\n';
  }
}

void print_whole(const Json& op) {
  std::cout << domain_name(op["domain"]) << ' ' << op["name"].get<std::string>() << ", since version "
            << op["since_version"] << ", kernel: " << backends(op) << "\n\n"
            << op["doc"].get<std::string>() << "\n\n";
  print_ports("Inputs", op["inputs"]);
  print_ports("Outputs", op["outputs"]);
  if (!op["attributes"].empty()) std::cout << "Attributes:\n";
  for (const auto& attribute : op["attributes"]) {
    const std::string use = attribute["required"] ? "required" : "default " + attribute["default"].dump();
    std::cout << "  " << attribute["name"].get<std::string>() << " (" << attribute["type"].get<std::string>() << ", "
              << use << "): " << attribute["doc"].get<std::string>() << '\n';
  }
  if (!op["type_constraints"].empty()) std::cout << "Types:\n";
  for (const auto& constraint : op["type_constraints"])
    std::cout << "  " << constraint["name"].get<std::string>() << ": " << joined(constraint["types"], ", ") << '\n';
}

std::string text_of(octet_status* (*function)(char*, std::uint64_t*)) {
  const auto check = [](octet_status* status) {
    if (status == nullptr) return;
    const std::string text = octet_status_text(status);
    octet_status_release(status);
    throw std::runtime_error(text);
  };
  std::uint64_t size = 0;
  check(function(nullptr, &size));
  std::string text(size, '\0');
  check(function(text.data(), &size));
  text.resize(size - 1);
  return text;
}

}  // namespace

const Json& ops() {
  static const Json parsed = Json::parse(text_of(octet_ops_json));
  return parsed;
}

std::string domain_name(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

int print_ops(const std::string& name, bool json) {
  Json list = Json::array();
  for (const auto& op : ops())
    if (name.empty() || op["name"] == name || domain_name(op["domain"]) + "." + op["name"].get<std::string>() == name)
      list.push_back(op);
  if (list.empty()) throw std::runtime_error("there is no operator '" + name + "'; octet ops lists them");
  if (json) {
    std::cout << list.dump(2) << '\n';
  } else if (name.empty()) {
    print_table(list);
  } else {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) std::cout << '\n';
      print_whole(list[i]);
    }
  }
  return kDone;
}

int print_options(bool json) {
  Json list = Json::array();
  for (const ort::OptionDef& option : ort::kOptions) {
    const std::string variable = ort::environment_variable(option);
    if (json) {
      list.push_back({{"name", option.name},
                      {"default", option.default_value},
                      {"meaning", option.meaning},
                      {"environment", variable}});
      continue;
    }
    const std::string value = option.default_value;
    std::cout << option.name << " (" << variable << "; default " << (value.empty() ? "none" : value) << ")\n  "
              << option.meaning << '\n';
  }
  if (json) std::cout << list.dump(2) << '\n';
  return kDone;
}

int print_version(bool json) {
  const char* const cap = std::getenv("OCTET_MAX_CPU_ISA");
  const std::string isa = cpu_isa();
  if (json) {
    const Json object = {{"octet", octet_version()},
                         {"abi", octet_abi_version()},
                         {"onednn", octet_onednn_version()},
                         {"isa", isa},
                         {"isa_cap", cap ? Json(cap) : Json()}};
    std::cout << object.dump(2) << '\n';
  } else {
    std::cout << "octet " << octet_version() << " (C ABI " << octet_abi_version() << ")\n"
              << "oneDNN " << octet_onednn_version() << '\n'
              << "ISA " << isa << (cap ? std::string(" (OCTET_MAX_CPU_ISA=") + cap + ")" : std::string()) << '\n';
  }
  return kDone;
}

}  // namespace octet::cli
