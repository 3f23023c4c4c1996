#include "provider/core/options.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace octet::core {
namespace {

using Values = std::vector<std::string>;

/// An option that is one of a few words.
struct Choice {
  const char* key;
  std::string Options::* member;
  Values values;
};

const std::vector<Choice>& choices() {
  static const std::vector<Choice> list{{"backend", &Options::backend, {"auto", "onednn", "vector", "eigen"}},
                                        {"accuracy", &Options::accuracy, {"exact", "fast"}},
                                        {"lstm_quantization", &Options::lstm_quantization, {"per_row", "per_tensor"}}};
  return list;
}

[[noreturn]] void fail(const std::string& what, const std::string& value, const std::string& expected) {
  throw Error(ErrorCode::invalid_argument, what + " is " + value + ", expected " + expected);
}

void check_word(const std::string& what, const std::string& value, const Values& values) {
  if (std::find(values.begin(), values.end(), value) != values.end()) return;
  std::string expected = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) expected += (i + 1 == values.size() ? " or " : ", ") + values[i];
  fail(what, "'" + value + "'", expected);
}

std::int32_t threads_of(const std::string& what, const std::string& text) {
  std::int32_t threads = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, threads);
  if (error != std::errc() || stop != end || threads < 1 || threads > kMostThreads)
    fail(what, "'" + text + "'", "1 to " + std::to_string(kMostThreads));
  return threads;
}

}  // namespace

void set_option(Options& options, const std::string& key, const std::string& value, const std::string& what) {
  const std::string name = what.empty() ? "option '" + key + "'" : what;
  if (key == "threads") {
    options.threads = threads_of(name, value);
    return;
  }
  if (key == "rowwise") {
    check_word(name, value, {"0", "1"});
    options.rowwise = value == "1";
    return;
  }
  for (const Choice& choice : choices())
    if (key == choice.key) {
      check_word(name, value, choice.values);
      options.*choice.member = value;
      return;
    }
  throw Error(ErrorCode::invalid_argument,
              name + " is not known, expected threads, backend, accuracy, lstm_quantization or rowwise");
}

void check_options(const std::string& label, const Options& options) {
  if (options.threads < 1 || options.threads > kMostThreads)
    fail(label + ": option 'threads'", std::to_string(options.threads), "1 to " + std::to_string(kMostThreads));
  for (const Choice& choice : choices())
    check_word(label + ": option '" + choice.key + "'", options.*choice.member, choice.values);
}

}  // namespace octet::core
