#include <CLI/CLI.hpp>
#include <octet/octet.hpp>

#include <iostream>

#include "provider/cli/cli.hpp"
#include "provider/core/options.hpp"

namespace {

using namespace octet::cli;

constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0  done\n"
    "  1  could not be done: a file, node or model was refused, or the CPU is not supported\n"
    "  2  wrong command line\n\n"
    "Environment:\n"
    "  OCTET_MAX_CPU_ISA  AVX2, AVX2_VNNI, AVX512_CORE, AVX512_CORE_VNNI or AVX512_CORE_AMX: use nothing above it\n"
    "  OCTET_VERBOSE      dispatch: a line on stderr for each decision";

constexpr const char* kTargetHelp =
    "Inputs are given in the operator's order, one --input each:\n"
    "  uint8[128,768]        comes with each run\n"
    "  int8[768,768]=random  a constant of random values (the same ones each time)\n"
    "  float[]=0.02          a constant of one value throughout; [] is a scalar\n"
    "  -                     an optional input that is left out\n"
    "A node as JSON says the same:\n"
    "  {\"op_type\": \"QGemm\", \"domain\": \"com.microsoft\", \"opset_version\": 1, \"name\": \"fc1\",\n"
    "   \"attributes\": {\"transB\": 1},\n"
    "   \"inputs\": [{\"type\": \"uint8\", \"shape\": [128,768]}, {\"type\": \"float\", \"shape\": [], \"constant\": "
    "0.02}, null],\n"
    "   \"outputs\": [\"float\"]}\n"
    "\"constant\" is \"random\", a number, or the array of all elements.\n\n";

constexpr const char* kGroupsHelp =
    "Of a model it also tells which nodes the provider for onnxruntime takes together and runs as one, and which\n"
    "QuantizeLinear and DequantizeLinear it leaves, as onnxruntime fuses what is between them. That holds for the "
    "graph\n"
    "as the file has it: onnxruntime's own optimizations come first, and the provider sees what they make of it.\n\n";

constexpr const char* kExplainExamples =
    "Examples:\n"
    "  octet explain MatMulInteger --input 'uint8[128,768]' --input 'int8[768,768]=random'\n"
    "  octet explain model.onnx --dim batch=1 --dim sequence=128";

constexpr const char* kBenchExamples =
    "Examples:\n"
    "  octet bench MatMulInteger --input 'uint8[128,768]' --input 'int8[768,768]=random' --threads 1,2 --cold\n"
    "  octet bench model.onnx --dim batch=1 --dim sequence=128 --json";

void add_operator_options(CLI::App* command, octet::Options& options) {
  command->add_option("--backend", options.backend, "Allow only this one")
      ->check(CLI::IsMember({"auto", "onednn", "vector", "eigen"}));
  command->add_option("--accuracy", options.accuracy, "May bits be given up for speed?")
      ->check(CLI::IsMember({"exact", "fast"}));
  command->add_option("--lstm-quantization", options.lstm_quantization, "Scales of DynamicQuantizeLSTM's activations")
      ->check(CLI::IsMember({"per_row", "per_tensor"}));
  command->add_flag("--rowwise", options.rowwise, "Quantize each row of DynamicQuantizeMatMul's A by its own range");
}

template <class Number>
void add_threads(CLI::App* command, Number& threads, const char* help) {
  command->add_option("--threads", threads, help)->delimiter(',')->check(CLI::Range(1, octet::core::kMostThreads));
}

void add_target(CLI::App* command, TargetArguments& arguments) {
  command->add_option("target", arguments.target, "Name of an operator, or a file: node.json or model.onnx")
      ->required();
  command->add_option("--input,-i", arguments.inputs, "An input of the operator, see below");
  command->add_option("--output,-o", arguments.outputs, "Type of an output, where the operator leaves a choice");
  command->add_option("--attribute,-a", arguments.attributes,
                      "NAME=VALUE; the members of a list are separated by commas");
  command->add_option("--domain", arguments.domain, "Domain of the operator: com.microsoft or ai.onnx");
  command->add_option("--opset", arguments.opset_version, "Version of the domain (default: the newest definition)")
      ->check(CLI::PositiveNumber);
  command->add_option("--name", arguments.name, "The node's name in messages");
  command->add_option("--dim,-d", arguments.dims, "NAME=VALUE: value of a symbolic dimension of the model");
  add_operator_options(command, arguments.options);
  command->add_flag("--json", arguments.json, "Write JSON");
}

void add_explain(CLI::App& app, TargetArguments& arguments) {
  auto* command = app.add_subcommand("explain", "Say which backend computes a node, or each node of a model, and why");
  command->footer(std::string(kTargetHelp) + kGroupsHelp + kExplainExamples);
  add_target(command, arguments);
  add_threads(command, arguments.options.threads, "Threads of a run");
}

void add_bench(CLI::App& app, BenchArguments& arguments) {
  auto* command =
      app.add_subcommand("bench", "Measure how long a node takes, or each node of a model, with random data");
  command->footer(std::string(kTargetHelp) + kBenchExamples);
  add_target(command, arguments.target);
  add_threads(command, arguments.threads, "Numbers of threads, separated by commas");
  command->add_option("--seconds", arguments.seconds, "Time for each measurement")->check(CLI::Range(0.0, 3600.0));
  command->add_flag("--cold", arguments.cold, "Also with everything driven out of the caches before each run");
}

constexpr const char* kRunHelp =
    "Runs models of Octet's operators and the shape operators around them (Reshape, Transpose, Slice, ...), without\n"
    "onnxruntime. Each output goes to a file of its name in the folder.\n\n"
    "Example:\n"
    "  octet run model.onnx --input x=x.npy --output results";

void add_run(CLI::App& app, RunArguments& arguments) {
  auto* command = app.add_subcommand("run", "Run a model on arrays in .npy files");
  command->footer(kRunHelp);
  command->add_option("model", arguments.model, "The model")->required();
  command->add_option("--input,-i", arguments.inputs, "NAME=FILE: the array of an input");
  command->add_option("--output,-o", arguments.output, "Folder for the outputs")->required();
  add_operator_options(command, arguments.options);
  add_threads(command, arguments.options.threads, "Threads of a run");
}

int run(int argc, char** argv) {
  CLI::App app("Octet: 8-bit ONNX operators on the CPU", "octet");
  app.footer(kExitCodes);
  app.require_subcommand(0, 1);
  bool json = false;
  bool version = false;
  std::string name;
  app.add_flag("--version", version, "Print versions and the instruction set, as `octet version` does");

  auto* version_command = app.add_subcommand("version", "Print versions and the instruction set in use");
  version_command->add_flag("--json", json, "Write JSON");
  auto* ops_command = app.add_subcommand("ops", "List the operators");
  ops_command->add_option("name", name, "Only this operator, with its whole definition");
  ops_command->add_flag("--json", json, "Write every definition whole, as JSON");
  auto* options_command = app.add_subcommand("options", "List the options of the provider for onnxruntime");
  options_command->add_flag("--json", json, "Write JSON");
  TargetArguments explain_arguments;
  add_explain(app, explain_arguments);
  BenchArguments bench_arguments;
  add_bench(app, bench_arguments);
  RunArguments run_arguments;
  add_run(app, run_arguments);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  if (version || version_command->parsed()) return print_version(json);
  if (ops_command->parsed()) return print_ops(name, json);
  if (options_command->parsed()) return print_options(json);
  if (app.got_subcommand("explain")) return explain(explain_arguments);
  if (app.got_subcommand("bench")) return bench(bench_arguments);
  if (app.got_subcommand("run")) return run_model(run_arguments);
  std::cerr << app.help();
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    std::cerr << "octet: " << error.what() << '\n';
    return kUsage;
  } catch (const std::exception& error) {
    std::cerr << "octet: " << error.what() << '\n';
    return kFailed;
  }
}
