// What is wrong with a node or a call is said in words: operator, node, port, found, expected (errors.json).
#include <gtest/gtest.h>

#include <fstream>

#include "provider/core/registry.hpp"
#include "test/support/cases.hpp"

namespace octet::test {
namespace {

using nlohmann::json;
using Ports = std::vector<core::PortDef>;

constexpr std::size_t kEnough = 4096;  // bytes behind every tensor of a call: errors come before data is looked at

const json& table() {
  static const json loaded = json::parse(std::ifstream(OCTET_ERROR_TABLE));
  return loaded;
}

/// A base with a case's changes.
json changed(const json& test_case) {
  json result = table()["bases"][test_case["base"].get<std::string>()];
  result["op_type"] = test_case["base"];
  for (const auto& [key, value] : test_case.items()) {
    if (key == "inputs" || key == "outputs")
      result[key].update(value);
    else
      result[key] = value;
  }
  return result;
}

struct Tensors {
  std::vector<ValueInfo> infos;  ///< as a node describes them
  std::vector<TensorView> views() const {
    static std::vector<unsigned char> memory(kEnough);
    std::vector<TensorView> result;
    for (const ValueInfo& info : infos)
      result.push_back(info.dtype == DataType::undefined ? TensorView()
                                                         : TensorView(memory.data(), info.dtype, *info.dims));
    return result;
  }
};

ValueInfo value_info(const json& description) {
  ValueInfo info;
  if (description.is_null()) return info;
  info.dtype = data_type(description[0]);
  info.dims = description[1].get<Dims>();
  return info;
}

/// Those of the ports in `description`, the members of a variadic port, and some more.
Tensors tensors(const json& description, const Ports& ports, const json& members, std::size_t extra) {
  Tensors result;
  for (const core::PortDef& port : ports)
    if (port.option != core::PortOption::variadic)
      result.infos.push_back(value_info(description.value(port.name, json())));
  for (const json& member : members) result.infos.push_back(value_info(member));
  for (std::size_t i = 0; i < extra; ++i) result.infos.push_back({DataType::uint8, Dims{}});
  return result;
}

struct Attempt {
  explicit Attempt(const json& test_case) : description(changed(test_case)) {
    const json& base = table()["bases"][test_case["base"].get<std::string>()];
    const core::OpDef* op = core::find_op(base["domain"].get<std::string>(), test_case["base"].get<std::string>(),
                                          base["opset_version"].get<std::int64_t>());
    inputs = tensors(description["inputs"], op->inputs, description["variadic"], description.value("extra_inputs", 0U));
    outputs = tensors(description["outputs"], op->outputs, {}, description.value("extra_outputs", 0U));
    options.backend = description.value("/options/backend"_json_pointer, "auto");
    options.accuracy = description.value("/options/accuracy"_json_pointer, "exact");
    options.lstm_quantization = description.value("/options/lstm_quantization"_json_pointer, "per_row");
    options.threads = description.value("/options/threads"_json_pointer, 1);
  }

  Node node() const {
    Node node;
    node.op_type = description["op_type"];
    node.domain = description["domain"];
    node.opset_version = description["opset_version"];
    node.name = "node";
    const json attributes = description.value("attributes", json::object());
    for (const auto& [name, value] : attributes.items()) {
      if (value.is_number_integer())
        node.attributes[name] = value.get<std::int64_t>();
      else if (value.is_number())
        node.attributes[name] = value.get<float>();
      else if (value.is_string())
        node.attributes[name] = value.get<std::string>();
      else if (value[0].is_string())
        node.attributes[name] = value.get<std::vector<std::string>>();
      else
        node.attributes[name] = value.get<std::vector<std::int64_t>>();
    }
    return node;
  }

  /// Everything is known when the operator is created.
  void create() const {
    Node all = node();
    all.inputs = inputs.infos;
    all.outputs = outputs.infos;
    while (!all.outputs.empty() && all.outputs.back().dtype == DataType::undefined) all.outputs.pop_back();
    const Operator op(all, options);
  }

  /// Only which inputs there are, and their types, is known before the call.
  void call() const {
    Node types = node();
    const json base_description = table()["bases"][description["base"].get<std::string>()];
    const Tensors base =
        tensors(base_description["inputs"], core::find_op(types.domain, types.op_type, types.opset_version)->inputs,
                base_description.value("variadic", json()), 0);
    for (const ValueInfo& info : base.infos) types.inputs.push_back({info.dtype});
    if (types.op_type == "DynamicQuantizeLSTM") types.outputs.assign(3, {DataType::float32});  // they are optional
    const Operator op(types, options);
    op.run(inputs.views(), outputs.views());
  }

  json description;
  Tensors inputs, outputs;
  Options options;
};

class ErrorTest : public testing::TestWithParam<std::size_t> {
 protected:
  const json& test_case() const { return table()["cases"][GetParam()]; }

  template <class Action>
  void expect_error(const std::string& how, const Action& action) const {
    try {
      action();
      ADD_FAILURE() << how << ": no error";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(static_cast<int>(error.code()), test_case().value("code", 1)) << how << ": " << text;
      const std::string label = test_case().value("label", test_case()["base"].get<std::string>() + " 'node': ");
      EXPECT_EQ(text.rfind(label, 0), 0U) << how << ": " << text;
      for (const json& word : test_case()["words"])
        EXPECT_NE(text.find(word.get<std::string>()), std::string::npos) << how << ": '" << text << "' lacks " << word;
    }
  }
};

TEST_P(ErrorTest, SaysWhatIsWrong) {
  const Attempt attempt(test_case());
  const std::string when = test_case().value("when", "");
  if (when != "call") expect_error("create", [&] { attempt.create(); });
  if (when != "create") expect_error("call", [&] { attempt.call(); });
}

TEST(ErrorBases, AreValid) {
  for (const auto& [name, base] : table()["bases"].items()) {
    const Attempt attempt(json{{"base", name}});
    EXPECT_NO_THROW(attempt.create()) << name;
    EXPECT_NO_THROW(attempt.call()) << name;
  }
}

TEST(ErrorMoved, UseIsAnError) {
  const Attempt attempt(json{{"base", "QLinearAdd"}});
  Node node = attempt.node();
  node.inputs = attempt.inputs.infos;
  Operator op(node);
  const Operator moved = std::move(op);
  const std::vector<TensorView> inputs = attempt.inputs.views(), outputs = attempt.outputs.views();
  // NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move): what is tested
  EXPECT_THROW(op.run(inputs, outputs), Error);
  EXPECT_THROW(static_cast<void>(op.infer(inputs)), Error);
  EXPECT_THROW(static_cast<void>(op.explain(inputs)), Error);
  // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
  moved.run(inputs, outputs);
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
  const json& test_case = table()["cases"][info.param];
  return test_case["base"].get<std::string>() + "_" + test_case["name"].get<std::string>();
}

INSTANTIATE_TEST_SUITE_P(Table, ErrorTest, testing::Range(std::size_t{0}, table()["cases"].size()), name_of);

}  // namespace
}  // namespace octet::test
