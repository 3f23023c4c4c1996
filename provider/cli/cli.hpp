// The command line program `octet`: one function for each command.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <octet/octet.hpp>

namespace octet::cli {

using Json = nlohmann::ordered_json;

/// What main() returns; `octet --help` lists them.
enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2 };

/// The command line asks for something that makes no sense: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

int print_version(bool json);
int print_ops(const std::string& name, bool json);
/// The options of the provider for onnxruntime, and what they are by default.
int print_options(bool json);

/// What to look at: one node or the nodes of a model.
struct TargetArguments {
  std::string target;  ///< an operator's name, a node as JSON (*.json), or a model (*.onnx)
  std::string domain;
  std::int64_t opset_version = 0;  ///< 0: the newest
  std::string name;
  std::vector<std::string> inputs;      ///< "uint8[2,3]", "int8[3,4]=random", "-"
  std::vector<std::string> outputs;     ///< "uint8"
  std::vector<std::string> attributes;  ///< "alpha=0.5"
  std::vector<std::string> dims;        ///< "batch=4"
  Options options;
  bool json = false;
};
int explain(const TargetArguments& arguments);

struct BenchArguments {
  TargetArguments target;
  std::vector<std::int32_t> threads = {1};
  double seconds = 0.2;  ///< for each node, number of threads, and state of the caches
  bool cold = false;     ///< also with everything driven out of the caches before each run
};
int bench(const BenchArguments& arguments);

struct RunArguments {
  std::string model;
  std::vector<std::string> inputs;  ///< "name=file.npy"
  std::string output;               ///< a folder
  Options options;
};
int run_model(const RunArguments& arguments);

/// The operator table, parsed: the array that octet.h describes at octet_ops_json().
const Json& ops();

/// "ai.onnx" for the empty domain.
std::string domain_name(const std::string& domain);

}  // namespace octet::cli
