#include "provider/ort/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "provider/core/options.hpp"
#include "provider/ort/api.hpp"

namespace octet::ort {
namespace {

constexpr std::string_view kPrefix = "ep.octetexecutionprovider.";

/// An option's text and where it came from.
struct Given {
  std::string name;
  std::string value;
  std::string source;  ///< "option 'threads'" or "environment variable OCTET_THREADS"
  bool is_option = true;

  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(ErrorCode::invalid_argument, "Octet: " + source + " is '" + value + "', expected " + expected);
  }
};

void set_threads(const Given& given, Settings& settings) {
  const char* end = given.value.data() + given.value.size();
  const auto [rest, error] = std::from_chars(given.value.data(), end, settings.threads);
  if (error != std::errc() || rest != end || settings.threads < 0 || settings.threads > core::kMostThreads)
    given.fail("a whole number from 0 (all of the session's threads) to " + std::to_string(core::kMostThreads));
}

std::string one_of(const Given& given, const std::vector<std::string>& values) {
  if (std::find(values.begin(), values.end(), given.value) != values.end()) return given.value;
  std::string expected = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) expected += (i + 1 == values.size() ? " or " : ", ") + values[i];
  given.fail(expected);
}

void set_operators(const Given& given, Settings& settings) {
  core::set_option(settings.operators, given.name, given.value, "Octet: " + given.source);
}

void set_verbose(const Given& given, Settings& settings) {
  settings.trace_claims = one_of(given, {"none", "dispatch"}) == "dispatch";
  settings.trace_plans = settings.trace_claims && given.is_option;
}

void set_min_coverage(const Given& given, Settings& settings) {
  const char* end = given.value.data() + given.value.size();
  const auto [rest, error] = std::from_chars(given.value.data(), end, settings.min_coverage);
  if (error != std::errc() || rest != end || !(settings.min_coverage >= 0 && settings.min_coverage <= 1))
    given.fail("a share of the quantized nodes from 0 to 1");
}

/// Worker processes that share the environment write a file each with "%p", the process's number.
void set_report(const Given& given, Settings& settings) {
  settings.report = given.value;
  if (const std::size_t at = settings.report.find("%p"); at != std::string::npos)
    settings.report.replace(at, 2, std::to_string(getpid()));
  if (!given.value.empty() && !std::ofstream(settings.report)) given.fail("the path of a file that can be written");
}

/// "batch=1,sequence=128; batch=8,sequence=32"
void set_warmup(const Given& given, Settings& settings) {
  const auto fail = [&] {
    given.fail("NAME=VALUE of symbolic dimensions, \"batch=1,sequence=128;batch=8,sequence=32\"");
  };
  std::istringstream shapes(given.value);
  for (std::string shape; std::getline(shapes, shape, ';');) {
    std::istringstream dims(shape);
    std::map<std::string, std::int64_t>& values = settings.warmup.emplace_back();
    for (std::string dim; std::getline(dims, dim, ',');) {
      const std::size_t equals = dim.rfind('=');
      if (equals == std::string::npos || equals == 0) fail();
      std::int64_t& value = values[dim.substr(0, equals)];
      const char* end = dim.data() + dim.size();
      const auto [rest, error] = std::from_chars(dim.data() + equals + 1, end, value);
      if (error != std::errc() || rest != end || value < 0) fail();
    }
    if (values.empty()) fail();
  }
}

struct OptionDef {
  const char* name;
  void (*set)(const Given& given, Settings& settings);
};
constexpr OptionDef kOptions[] = {
    {"threads", set_threads},
    {"backend", set_operators},
    {"accuracy", set_operators},
    {"lstm_quantization", set_operators},
    {"rowwise", set_operators},
    {"verbose", set_verbose},
    {"min_coverage", set_min_coverage},
    {"report", set_report},
    {"warmup", set_warmup},
};

/// The session's entries.
std::map<std::string, std::string> session_entries(const OrtSessionOptions* options) {
  const OrtApi& api = ort_api();
  const std::unique_ptr<OrtKeyValuePairs, void (*)(OrtKeyValuePairs*)> pairs(
      get<OrtKeyValuePairs*>(api.GetSessionOptionsConfigEntries, options), api.ReleaseKeyValuePairs);
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  std::size_t count = 0;
  api.GetKeyValuePairs(pairs.get(), &keys, &values, &count);
  std::map<std::string, std::string> entries;
  for (std::size_t i = 0; i < count; ++i) entries.emplace(keys[i], values[i]);
  return entries;
}

void check_names(const std::map<std::string, std::string>& entries) {
  std::string known;
  for (const OptionDef& option : kOptions) known += (known.empty() ? "" : ", ") + std::string(option.name);
  for (const auto& [key, value] : entries) {
    if (key.compare(0, kPrefix.size(), kPrefix) != 0) continue;
    const std::string name = key.substr(kPrefix.size());
    const bool is_known = std::any_of(std::begin(kOptions), std::end(kOptions),
                                      [&](const OptionDef& option) { return name == option.name; });
    if (!is_known) throw Error(ErrorCode::invalid_argument, "Octet: unknown option '" + name + "', known are " + known);
  }
}

std::string environment_name(std::string option) {
  std::transform(option.begin(), option.end(), option.begin(), [](unsigned char c) { return std::toupper(c); });
  return "OCTET_" + option;
}

}  // namespace

Settings read_settings(const OrtSessionOptions* options) {
  const std::map<std::string, std::string> entries = session_entries(options);
  check_names(entries);
  Settings settings;
  if (const auto entry = entries.find("session.intra_op.allow_spinning"); entry != entries.end())
    settings.spinning = entry->second == "1";
  for (const OptionDef& option : kOptions) {
    const std::string variable = environment_name(option.name);
    const char* from_environment = std::getenv(variable.c_str());
    if (const auto entry = entries.find(std::string(kPrefix) + option.name); entry != entries.end())
      option.set({option.name, entry->second, std::string("option '") + option.name + "'"}, settings);
    else if (from_environment != nullptr && *from_environment != '\0')
      option.set({option.name, from_environment, "environment variable " + variable, false}, settings);
  }
  return settings;
}

}  // namespace octet::ort
