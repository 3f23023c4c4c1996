#include "provider/ort/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "provider/core/options.hpp"
#include "provider/ort/api.hpp"
#include "provider/ort/options.hpp"

namespace octet::ort {
namespace {

constexpr std::string_view kPrefix = "ep.octetexecutionprovider.";

/// An option's text and where it came from.
struct Given {
  std::string name;
  std::string value;
  std::string source;  ///< "option 'threads'" or "environment variable OCTET_THREADS"
  bool is_by_environment = false;

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

void set_verbose(const Given& given, Settings& settings) {
  settings.trace_claims = given.value == "dispatch";
  if (!settings.trace_claims && given.value != "none") given.fail("none or dispatch");
  settings.trace_plans = settings.trace_claims && !given.is_by_environment;
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
    given.fail("NAME=VALUE of different symbolic dimensions, \"batch=1,sequence=128;batch=8,sequence=32\"");
  };
  settings.warmup.source = given.source;
  settings.warmup.is_by_environment = given.is_by_environment;
  std::istringstream shapes(given.value);
  for (std::string shape; std::getline(shapes, shape, ';');) {
    std::istringstream dims(shape);
    std::map<std::string, std::int64_t>& values = settings.warmup.shapes.emplace_back();
    for (std::string dim; std::getline(dims >> std::ws, dim, ',');) {
      const std::size_t equals = dim.rfind('=');
      if (equals == std::string::npos || equals == 0) fail();
      std::int64_t value = 0;
      const char* end = dim.data() + dim.size();
      const auto [rest, error] = std::from_chars(dim.data() + equals + 1, end, value);
      if (error != std::errc() || rest != end || value < 0) fail();
      if (!values.emplace(dim.substr(0, equals), value).second) fail();
    }
    if (values.empty()) fail();
  }
}

void set(const Given& given, Settings& settings) {
  if (given.name == "threads") return set_threads(given, settings);
  if (given.name == "min_coverage") return set_min_coverage(given, settings);
  if (given.name == "report") return set_report(given, settings);
  if (given.name == "verbose") return set_verbose(given, settings);
  if (given.name == "warmup") return set_warmup(given, settings);
  core::set_option(settings.operators, given.name, given.value, "Octet: " + given.source);
}

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

/// By the session, else by the environment, else the default.
Given find(const OptionDef& option, const std::map<std::string, std::string>& entries) {
  const std::string source = std::string("option '") + option.name + "'";
  if (const auto entry = entries.find(std::string(kPrefix) + option.name); entry != entries.end())
    return {option.name, entry->second, source};
  const std::string variable = environment_variable(option);
  if (const char* value = std::getenv(variable.c_str()); value != nullptr && *value != '\0')
    return {option.name, value, "environment variable " + variable, true};
  return {option.name, option.default_value, source};
}

}  // namespace

Settings read_settings(const OrtSessionOptions* options) {
  const std::map<std::string, std::string> entries = session_entries(options);
  check_names(entries);
  Settings settings;
  if (const auto entry = entries.find("session.intra_op.allow_spinning"); entry != entries.end())
    settings.spinning = entry->second == "1";
  for (const OptionDef& option : kOptions) set(find(option, entries), settings);
  return settings;
}

}  // namespace octet::ort
