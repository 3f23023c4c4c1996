// Mutated single-node models through ONNX's checker and shape inference with Octet's schemas, and through the doors
// that load models: whatever the model, the answer is a result or an exception, never a crash. Meant for the asan
// build. OCTET_FUZZ_COUNT and OCTET_FUZZ_TRACE as in call_fuzz_test.cc.
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>

#include <octet/graph_builder.hpp>
#include <octet/model.hpp>
#include <octet/onnx.hpp>
#include <octet/training.hpp>

#include "test/fuzz/mutation.hpp"

namespace octet::test {
namespace {

constexpr std::uint64_t kStandardCount = 2000;

struct AttributeWriter {
  onnx::AttributeProto& proto;
  void operator()(std::int64_t value) const {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) proto.add_ints(value);
  }
  void operator()(const std::vector<float>& values) const {
    proto.set_type(onnx::AttributeProto::FLOATS);
    for (const float value : values) proto.add_floats(value);
  }
  void operator()(const std::vector<std::string>& values) const {
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) proto.add_strings(value);
  }
};

void describe(const MutatedTensor& tensor, const std::string& name, onnx::ValueInfoProto& proto) {
  proto.set_name(name);
  auto* type = proto.mutable_type()->mutable_tensor_type();
  type->set_elem_type(static_cast<int>(tensor.node_type));
  auto* shape = type->mutable_shape();  // ONNX's checker wants one
  for (const std::int64_t dim : tensor.node_dims) {
    auto* added = shape->add_dim();
    if (tensor.node_knows_dims)
      added->set_dim_value(dim);
    else if (dim % 2 == 0)
      added->set_dim_param("n" + std::to_string(dim));
  }
}

void add_initializer(const MutatedTensor& tensor, const std::string& name, onnx::GraphProto& graph) {
  auto* proto = graph.add_initializer();
  proto->set_name(name);
  proto->set_data_type(static_cast<int>(tensor.node_type));
  for (const std::int64_t dim : tensor.node_dims) proto->add_dims(dim);
  proto->set_raw_data(tensor.memory.data(), tensor.memory.size());
}

void import_opset(onnx::ModelProto& model, const std::string& domain, std::int64_t version) {
  auto* opset = model.add_opset_import();
  opset->set_domain(domain);
  opset->set_version(version);
}

onnx::ModelProto model_of(const MutatedNode& mutated) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  import_opset(model, mutated.domain, mutated.opset_version);
  if (!mutated.domain.empty()) import_opset(model, "", 21);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("fuzz");
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(mutated.op_type);
  node.set_domain(mutated.domain);
  node.set_name("node");
  for (const auto& [name, value] : mutated.attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    std::visit(AttributeWriter{attribute}, value);
  }
  for (std::size_t i = 0; i < mutated.inputs.size(); ++i) {
    const MutatedTensor& tensor = mutated.inputs[i];
    const std::string name = tensor.node_type == DataType::undefined ? "" : "x" + std::to_string(i);
    node.add_input(name);
    if (name.empty()) continue;
    describe(tensor, name, *graph.add_input());
    if (tensor.constant) add_initializer(tensor, name, graph);
  }
  for (std::size_t i = 0; i < mutated.outputs.size(); ++i) {
    const std::string name = "y" + std::to_string(i);
    node.add_output(name);
    MutatedTensor output = mutated.outputs[i];
    output.node_knows_dims = mutated.declares_outputs;
    describe(output, name, *graph.add_output());
  }
  return model;
}

/// The model with some of its bytes changed; as it was where what comes out is no model at all.
onnx::ModelProto with_broken_bytes(const onnx::ModelProto& model, Dice dice) {
  std::string bytes = model.SerializeAsString();
  for (std::size_t changes = dice.roll(4) + 1; changes > 0 && !bytes.empty(); --changes)
    bytes[dice.roll(bytes.size())] = static_cast<char>(dice.word());
  if (dice.chance(8)) bytes.resize(dice.roll(bytes.size() + 1));
  onnx::ModelProto broken;
  return broken.ParseFromString(bytes) ? broken : model;
}

/// What became of the model. Whatever ONNX throws is an answer, but for what must not pass through it.
std::string attempt(onnx::ModelProto model) {
  std::string stage = "the checker";
  try {
    onnx::checker::check_model(model, false);
    stage = "lenient inference";
    onnx::shape_inference::InferShapes(model);
    stage = "strict inference";
    const onnx::ShapeInferenceOptions strict(true, 1, true);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), strict);
    return "accepted";
  } catch (const Error& error) {
    ADD_FAILURE() << "an octet::Error came out of " << stage << ": " << error.what();
  } catch (const std::bad_alloc&) {
    ADD_FAILURE() << "out of memory in " << stage;
  } catch (const std::exception&) {
  }
  return "refused by " + stage;
}

/// The builder and the runner take the model, or tell by an Error why they do not; anything else ends the test.
std::string load(const onnx::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  std::string stage = "the builder";
  try {
    GraphBuilder graph = GraphBuilder::from_model(bytes.data(), bytes.size());
    stage = "the builder's check";
    graph.check();
    EXPECT_FALSE(graph.serialize().empty());
    stage = "the runner";
    Model::from_bytes(bytes.data(), bytes.size());
    return "loaded";
  } catch (const Error&) {
    return "refused by " + stage;
  }
}

/// How often answer(model) gave what, over models of mutated nodes, each third with broken bytes; prints it.
template <class Answer, class Change>
std::map<std::string, int> answers(const std::vector<Case>& corpus, std::uint64_t count, const Answer& answer,
                                   const Change& change) {
  const bool trace = std::getenv("OCTET_FUZZ_TRACE") != nullptr;
  std::map<std::string, int> outcomes;
  for (std::uint64_t seed = 0; seed < count && !testing::Test::HasFailure(); ++seed) {
    MutatedNode mutated = mutated_node(corpus, seed);
    change(mutated);
    if (trace) std::fprintf(stderr, "%llu: %s\n", static_cast<unsigned long long>(seed), mutated.description().c_str());
    onnx::ModelProto model = model_of(mutated);
    if (seed % 3 == 0) model = with_broken_bytes(model, Dice(~seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + mutated.description());
    ++outcomes[answer(model)];
  }
  for (const auto& [outcome, times] : outcomes) std::printf("%6d %s\n", times, outcome.c_str());
  return outcomes;
}
constexpr auto kAsItIs = [](const MutatedNode&) {};

TEST(ModelFuzz, BuilderAndRunnerLoadOrRefuse) {
  const std::uint64_t count = fuzz_count(kStandardCount);
  EXPECT_GT(answers(fuzz_corpus(), count, load, kAsItIs)["loaded"], static_cast<int>(count / 20));
}

/// A layer in training is made of the node, or an Error tells why not.
std::string train(const onnx::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  try {
    training::from_model(bytes.data(), bytes.size(), "node");
    return "trained";
  } catch (const Error&) {
    return "refused";
  }
}

TEST(ModelFuzz, TrainingTakesOrRefuses) {
  std::vector<Case> corpus = fuzz_corpus();
  corpus.erase(std::remove_if(corpus.begin(), corpus.end(),
                              [](const Case& test_case) { return test_case.op_type != "DynamicQuantizeLSTM"; }),
               corpus.end());
  ASSERT_FALSE(corpus.empty());
  const auto make_constant = [](MutatedNode& mutated) {  // as weights must be
    for (MutatedTensor& tensor : mutated.inputs) {
      std::size_t bytes = 0;
      tensor.constant = byte_size(tensor.node_type, tensor.node_dims, tensor.memory.size(), bytes);
      if (tensor.constant) tensor.memory.resize(bytes);
    }
  };
  const std::uint64_t count = fuzz_count(kStandardCount);
  auto outcomes = answers(corpus, count, train, make_constant);
  EXPECT_GT(outcomes["trained"], static_cast<int>(count / 20));
  EXPECT_GT(outcomes["refused"], static_cast<int>(count / 20));
}

TEST(ModelFuzz, OnlyExceptionsOfOnnxComeOut) {
  register_schemas();
  const std::uint64_t count = fuzz_count(kStandardCount);
  auto outcomes = answers(fuzz_corpus(), count, attempt, kAsItIs);
  EXPECT_GT(outcomes["accepted"], static_cast<int>(count / 10)) << "the mutations spoil too much to test anything";
  EXPECT_GT(outcomes["refused by strict inference"], static_cast<int>(count / 100));
}

}  // namespace
}  // namespace octet::test
