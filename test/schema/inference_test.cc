// Inference of the core over inference.json: what the table says, and what less knowledge may make of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "provider/core/infer.hpp"
#include "provider/core/registry.hpp"

namespace octet::core {
namespace {

using Json = nlohmann::json;

/// "uint8[2,N,?]", "uint8" or "".
TypeAndShape parse(const std::string& text) {
  TypeAndShape value;
  if (text.empty()) return value;
  const std::size_t open = text.find('[');
  value.present = true;
  value.dtype = parse_type_string("tensor(" + text.substr(0, open) + ")");
  EXPECT_NE(value.dtype, DataType::undefined) << text;
  if (open == std::string::npos) return value;
  value.shape.emplace();
  std::istringstream dims(text.substr(open + 1, text.size() - open - 2));
  for (std::string dim; std::getline(dims, dim, ',');) {
    if (dim == "?")
      value.shape->emplace_back();
    else if (std::isdigit(static_cast<unsigned char>(dim[0])))
      value.shape->emplace_back(std::stoll(dim));
    else
      value.shape->push_back(Dim::symbolic(dim));
  }
  return value;
}

std::string describe(const TypeAndShape& value) {
  if (!value.present) return "";
  return data_type_name(value.dtype) + (value.shape ? to_string(*value.shape) : "");
}

Attributes attributes_of(const Json& json) {
  Attributes attributes;
  for (const auto& [name, value] : json.items()) {
    if (value.is_number_integer())
      attributes[name] = value.get<std::int64_t>();
    else if (value.is_number_float())
      attributes[name] = value.get<float>();
    else if (value.is_string())
      attributes[name] = value.get<std::string>();
    else if (value.empty() || value[0].is_number_integer())
      attributes[name] = value.get<std::vector<std::int64_t>>();
    else
      attributes[name] = value.get<std::vector<std::string>>();
  }
  return attributes;
}

struct Case {
  std::string id;
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<TypeAndShape> inputs;
  std::vector<std::string> outputs;
  std::string error;  ///< empty: none

  /// The node's outputs; throws where they cannot be inferred.
  std::vector<TypeAndShape> infer(const std::vector<TypeAndShape>& known) const {
    std::vector<TypeAndShape> wanted;
    for (const std::string& output : outputs) wanted.push_back({!output.empty()});
    InferContext context(*op, "node", attributes, known, wanted);
    check_and_infer(context, Purpose::graph);
    std::vector<TypeAndShape> result;
    for (std::size_t i = 0; i < context.num_outputs(); ++i) result.push_back(context.output(i));
    return result;
  }
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> result;
    std::ifstream file(OCTET_INFERENCE_CASES);
    const Json table = Json::parse(file);
    for (const auto& json : table["cases"]) {
      Case c;
      c.id = json["id"];
      c.op = find_op(json.value("domain", "com.microsoft"), json["op"].get<std::string>(), json.value("opset", 1));
      c.attributes = attributes_of(json.value("attributes", Json::object()));
      for (const auto& input : json["inputs"]) c.inputs.push_back(parse(input));
      c.outputs = json.value("outputs", std::vector<std::string>());
      c.error = json.value("error", "");
      result.push_back(std::move(c));
    }
    return result;
  }();
  return all;
}

bool known(const TypeAndShape& value) {
  return !value.present ||
         (value.dtype != DataType::undefined && value.shape &&
          std::all_of(value.shape->begin(), value.shape->end(), [](const Dim& d) { return d.known(); }));
}

TEST(Inference, NothingStaysUnknownWhereAllInputsAreKnown) {
  std::size_t count = 0;
  for (const Case& c : cases()) {
    if (!c.error.empty() || !std::all_of(c.inputs.begin(), c.inputs.end(), known)) continue;
    ++count;
    for (const auto& output : c.infer(c.inputs)) EXPECT_TRUE(known(output)) << c.id << ": " << describe(output);
  }
  EXPECT_GT(count, 30U);
}

TEST(Inference, Table) {
  ASSERT_GT(cases().size(), 100U);
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.id);
    ASSERT_NE(c.op, nullptr);
    try {
      const auto outputs = c.infer(c.inputs);
      EXPECT_EQ(c.error, "") << "no error";
      for (std::size_t i = 0; i < c.outputs.size(); ++i) EXPECT_EQ(describe(outputs[i]), c.outputs[i]);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      const std::string text = error.what();
      ASSERT_NE(c.error, "") << text;
      EXPECT_NE(text.find(c.error), std::string::npos) << text;
      EXPECT_EQ(text.find(c.op->name + " 'node': "), 0U) << text;
    }
  }
}

/// Whether `less` says nothing that `more` does not say as well.
bool is_part_of(const TypeAndShape& less, const TypeAndShape& more) {
  if (less.present != more.present) return false;
  if (less.dtype != DataType::undefined && less.dtype != more.dtype) return false;
  if (!less.shape) return true;
  if (!more.shape || less.shape->size() != more.shape->size()) return false;
  for (std::size_t d = 0; d < less.shape->size(); ++d)
    if ((*less.shape)[d].known() && (*less.shape)[d].value != (*more.shape)[d].value) return false;
  return true;
}

TypeAndShape with_less(TypeAndShape value, std::mt19937& random) {
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  if (one_in(4)) value.dtype = DataType::undefined;
  if (one_in(4)) value.shape.reset();
  if (value.shape)
    for (Dim& dim : *value.shape)
      if (one_in(3)) dim = one_in(2) ? Dim() : Dim::symbolic("S" + std::to_string(random() % 3));
  return value;
}

TEST(Inference, LessKnowledgeGivesLessAndNeverAnError) {
  std::mt19937 random(20240917);
  for (const Case& c : cases()) {
    if (!c.error.empty()) continue;
    SCOPED_TRACE(c.id);
    const auto whole = c.infer(c.inputs);
    for (int round = 0; round < 200; ++round) {
      auto inputs = c.inputs;
      for (auto& input : inputs) input = with_less(input, random);
      const auto outputs = c.infer(inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i)
        EXPECT_TRUE(is_part_of(outputs[i], whole[i])) << describe(outputs[i]) << " of " << describe(whole[i]);
    }
  }
}

/// What a hostile model may hold.
TypeAndShape arbitrary(std::mt19937& random) {
  constexpr std::int64_t kDims[] = {-9, -1, 0, 1, 2, 3, 4, 5, 8, 1LL << 31, 1LL << 40, INT64_MAX};
  TypeAndShape value{random() % 8 != 0, static_cast<DataType>(random() % 40)};
  if (random() % 2 == 0) value.dtype = random() % 2 == 0 ? DataType::uint8 : DataType::float32;
  if (random() % 6 == 0) return value;
  value.shape.emplace();
  for (unsigned d = random() % 5; d > 0; --d) value.shape->emplace_back(kDims[random() % std::size(kDims)]);
  return value;
}

TEST(Inference, AnythingElseIsAnErrorOfItsOwn) {
  std::mt19937 random(7);
  std::size_t accepted = 0;
  for (const Case& c : cases()) {
    for (int round = 0; round < 300; ++round) {
      auto inputs = c.inputs;
      for (auto& input : inputs)
        if (random() % 3 == 0) input = arbitrary(random);
      if (random() % 8 == 0) inputs.resize(random() % (inputs.size() + 4));
      try {
        c.infer(inputs);
        ++accepted;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      }
    }
  }
  EXPECT_GT(accepted, 0U);
}

InferContext qgemm(const Attributes& attributes, bool y_scale, bool y_zero_point) {
  std::vector<TypeAndShape> inputs;
  for (const char* text : {"uint8[2,4]", "float[]", "uint8[]", "int8[4,3]", "float[3]", "int8[]", ""})
    inputs.push_back(parse(text));
  inputs.push_back(parse(y_scale ? "float[]" : ""));
  inputs.push_back(parse(y_zero_point ? "int8[]" : ""));
  return {*find_op("com.microsoft", "QGemm", 1), "fc1", attributes, inputs, {}};
}

std::string error_of(InferContext context, Purpose purpose = Purpose::node) {
  try {
    check_and_infer(context, purpose);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Inference, ANodeThatIsToRunIsCheckedWhole) {
  const Attributes none;
  EXPECT_EQ(error_of(qgemm(none, false, false)), "");
  EXPECT_EQ(error_of(qgemm(none, true, true)), "");
  EXPECT_EQ(error_of(qgemm(none, true, false), Purpose::graph), "");
  EXPECT_EQ(
      error_of(qgemm(none, true, false)),
      "QGemm 'fc1': input 'y_scale' is given without 'y_zero_point'; give both for an 8-bit Y, or none for a float Y");
  EXPECT_EQ(
      error_of(qgemm(none, false, true)),
      "QGemm 'fc1': input 'y_zero_point' is given without 'y_scale'; give both for an 8-bit Y, or none for a float Y");
}

TEST(Inference, Attributes) {
  EXPECT_EQ(error_of(qgemm({{"beta", 1.0F}}, false, false)), "QGemm 'fc1': the operator has no attribute 'beta'");
  EXPECT_EQ(error_of(qgemm({{"transA", 1.0F}}, false, false)),
            "QGemm 'fc1': attribute 'transA' is FLOAT, expected INT");
}

TEST(Inference, DeclaredOutputs) {
  const OpDef& op = *find_op("com.microsoft", "ReduceSumInteger", 1);
  const Attributes attributes{{"axes", std::vector<std::int64_t>{0}}, {"keepdims", std::int64_t{1}}};
  const auto sum = [&](const std::string& input, const std::string& output) {
    return InferContext(op, "sum", attributes, {parse(input)}, {parse(output)});
  };
  InferContext other_sign = sum("uint8[4,N]", "int32[1,?]");
  check_and_infer(other_sign);
  EXPECT_EQ(describe(other_sign.output(0)), "int32[1,N]");
  EXPECT_EQ(error_of(sum("uint8[4]", "float[1]")),
            "ReduceSumInteger 'sum': output 'reduced' has type float, expected int32 or uint32");
  EXPECT_EQ(error_of(sum("uint8[4]", "uint32[2]")),
            "ReduceSumInteger 'sum': output 'reduced' is declared with shape [2], but the node gives [1]");
  EXPECT_EQ(error_of(sum("uint8[4]", "uint32[]")),
            "ReduceSumInteger 'sum': output 'reduced' is declared with shape [], but the node gives [1]");

  const OpDef& relu = *find_op("com.microsoft", "QLinearSigmoid", 1);
  const Attributes none;
  InferContext context(relu, "s", none, {parse("int8[2]"), parse("float[]"), {}, parse("float[]")},
                       {parse("uint8[2]")});
  EXPECT_EQ(error_of(std::move(context)),
            "QLinearSigmoid 's': output 'Y' is declared as uint8, but the node gives int8");
}

TEST(Inference, SumOfExtentsThatOverflows) {
  const OpDef& op = *find_op("com.microsoft", "QLinearConcat", 1);
  const Attributes attributes{{"axis", std::int64_t{0}}};
  std::vector<TypeAndShape> inputs{parse("float[]"), parse("uint8[]")};
  for (int i = 0; i < 80; ++i)
    for (const char* text : {"uint8[144115188075855871]", "float[]", "uint8[]"}) inputs.push_back(parse(text));
  const std::string error = error_of(InferContext(op, "cat", attributes, inputs, {}));
  EXPECT_EQ(error.find("QLinearConcat 'cat': input 'inputs["), 0U) << error;
  EXPECT_NE(error.find("longer than memory can hold"), std::string::npos) << error;
}

TEST(Registry, Table) {
  EXPECT_EQ(op_defs().size(), 14U + 4U + 2U * 8U);
  EXPECT_EQ(find_op("ai.onnx", "QuantizeLinear", 22)->since_version, 21);
  EXPECT_EQ(find_op("", "QuantizeLinear", 9), nullptr);
  EXPECT_EQ(find_op("com.microsoft", "QuantizeLinear", 1)->domain, "com.microsoft");
  EXPECT_EQ(find_op("com.microsoft", "Conv", 1), nullptr);
  for (const OpDef& op : op_defs()) {
    SCOPED_TRACE(qualified_name(op));
    EXPECT_NE(op.infer, nullptr);
    for (const auto* ports : {&op.inputs, &op.outputs})
      for (const PortDef& port : *ports)
        for (const DataType type : op.allowed_types(port)) EXPECT_EQ(parse_type_string(type_string(type)), type);
    for (const AttributeDef& attribute : op.attributes) {
      if (!attribute.default_value) continue;
      EXPECT_EQ(attribute_type(*attribute.default_value), attribute.type) << attribute.name;
    }
  }
}

TEST(Types, BitWidths) {
  EXPECT_EQ(bit_width(DataType::uint4), 4);
  EXPECT_EQ(bit_width(DataType::int2), 2);
  EXPECT_EQ(bit_width(DataType::float16), 16);
  EXPECT_EQ(bit_width(DataType::string), 0);
  // What C callers and files may bring: the enumeration's underlying type holds every value.
  for (const std::int32_t number : {-5, 1000}) EXPECT_EQ(bit_width(static_cast<DataType>(number)), 0) << number;
  EXPECT_STREQ(data_type_name(DataType::float8e4m3fn), "float8e4m3fn");
  EXPECT_EQ(parse_type_string("tensor()"), DataType::undefined);
  EXPECT_EQ(parse_type_string("tensor(undefined)"), DataType::undefined);
}

}  // namespace
}  // namespace octet::core
