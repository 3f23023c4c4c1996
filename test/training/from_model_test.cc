// octet::training::from_model: a node's weights, attributes and metadata, and what is wrong with others.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/training.hpp>

#include <fstream>
#include <functional>

#include "test/support/error_of.hpp"
#include "test/support/folder.hpp"
#include "test/training/layer_case.hpp"

namespace octet::test {
namespace {

constexpr const char* kPorts[] = {"X",         "W",           "R", "B",       "sequence_lens",
                                  "initial_h", "initial_c",   "P", "W_scale", "W_zero_point",
                                  "R_scale",   "R_zero_point"};

onnx::TensorProto tensor(const std::string& name, DataType type, const Dims& dims, const void* data,
                         std::size_t bytes) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(static_cast<std::int32_t>(type));
  for (const std::int64_t dim : dims) proto.add_dims(dim);
  proto.set_raw_data(data, bytes);
  return proto;
}

onnx::TensorProto tensor(const std::string& name, const std::vector<float>& values, const Dims& dims) {
  return tensor(name, DataType::float32, dims, values.data(), values.size() * sizeof(float));
}

void add_attribute(const std::string& name, const AttributeValue& value, onnx::NodeProto& node) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(*integer);
  } else if (const auto* real = std::get_if<float>(&value)) {
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(*text);
  } else if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
    attribute.set_type(onnx::AttributeProto::FLOATS);
    for (const float member : *reals) attribute.add_floats(member);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    attribute.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& member : *texts) attribute.add_strings(member);
  }
}

/// The model that a layer exports.
onnx::ModelProto model_of(const LayerCase& c, const QuantizedLstmWeights& weights) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("DynamicQuantizeLSTM");
  node.set_domain("com.microsoft");
  node.set_name("lstm");
  for (const char* port : kPorts) node.add_input(port);
  for (const auto& [name, value] : c.definition.attributes) add_attribute(name, value, node);
  const auto add = [&](const std::string& name, const QuantizedLstmTensor& from) {
    *graph.add_initializer() = tensor(name, from.type, from.dims, from.values.data(), from.values.size());
    *graph.add_initializer() = tensor(name + "_scale", from.scale, from.parameter_dims);
    *graph.add_initializer() =
        tensor(name + "_zero_point", from.type, from.parameter_dims, from.zero_point.data(), from.zero_point.size());
  };
  add("W", weights.w);
  add("R", weights.r);
  const std::int64_t hidden = c.definition.hidden_size;
  if (c.definition.b.empty())
    node.set_input(3, "");
  else
    *graph.add_initializer() = tensor("B", c.definition.b, {c.directions(), 8 * hidden});
  if (c.definition.p.empty())
    node.set_input(7, "");
  else
    *graph.add_initializer() = tensor("P", c.definition.p, {c.directions(), 3 * hidden});
  return model;
}

void add_metadata(onnx::NodeProto& node, const std::string& key, const std::string& value) {
  auto& entry = *node.add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
}

training::Lstm layer_of(const onnx::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  return training::from_model(bytes.data(), bytes.size(), "lstm");
}

TEST(FromModel, IsTheExportedLayer) {
  for (int number = 0; number < 60; ++number) {
    const LayerCase c = LayerCase::generated(number);
    SCOPED_TRACE(c.describe());
    training::Lstm layer(c.definition);
    const QuantizedLstmWeights weights = layer.quantize();
    training::Lstm again = layer_of(model_of(c, weights));
    const QuantizedLstmWeights found = again.quantize();
    for (const auto part : {&QuantizedLstmWeights::w, &QuantizedLstmWeights::r}) {
      EXPECT_EQ((found.*part).values, (weights.*part).values);
      EXPECT_EQ((found.*part).scale, (weights.*part).scale);
      EXPECT_EQ((found.*part).zero_point, (weights.*part).zero_point);
      EXPECT_EQ((found.*part).parameter_dims, (weights.*part).parameter_dims);
      EXPECT_EQ((found.*part).largest_error, 0);
    }
    const Array expected = unwritten(c.y_dims()), y = unwritten(c.y_dims());
    layer.forward(c.inputs(), {expected.view(), {}, {}});
    again.forward(c.inputs(), {y.view(), {}, {}});
    EXPECT_EQ(y.values, expected.values);
  }
}

TEST(FromModel, ReadsMetadata) {
  const LayerCase c = LayerCase::generated(12);
  const onnx::ModelProto plain = model_of(c, training::Lstm(c.definition).quantize());
  EXPECT_TRUE(layer_of(plain).training());
  EXPECT_EQ(layer_of(plain).lda_coeff(), 1.0F);
  onnx::ModelProto model = plain;
  add_metadata(*model.mutable_graph()->mutable_node(0), "octet.training", "0");
  add_metadata(*model.mutable_graph()->mutable_node(0), "octet.lda_coeff", "0.125");
  add_metadata(*model.mutable_graph()->mutable_node(0), "other", "text");
  EXPECT_FALSE(layer_of(model).training());
  EXPECT_EQ(layer_of(model).lda_coeff(), 0.125F);
}

/// W has one scale and R one for each column; data stands in typed fields and in a Constant node.
TEST(FromModel, TakesEveryForm) {
  LayerCase c = LayerCase::generated(10);
  c.definition.quantization = {DataType::uint8, false, false};
  training::Lstm layer(c.definition);
  const QuantizedLstmWeights weights = layer.quantize();
  onnx::ModelProto model = model_of(c, weights);
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::NodeProto& constant = *graph.add_node();
  constant.set_op_type("Constant");
  constant.add_output("R_scale");
  onnx::AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  const std::int64_t columns = weights.r.dims[2];
  for (int i = 0; i < graph.initializer_size(); ++i) {
    onnx::TensorProto& initializer = *graph.mutable_initializer(i);
    if (initializer.name() == "R_scale") {
      const std::vector<float> scales(static_cast<std::size_t>(columns), weights.r.scale[0]);
      *value.mutable_t() = tensor("", scales, {1, columns});
      initializer.set_name("unused");
    } else if (initializer.name() == "W") {
      initializer.clear_raw_data();
      for (const std::uint8_t byte : weights.w.values) initializer.add_int32_data(byte);
    } else if (initializer.name() == "W_scale") {
      initializer.clear_raw_data();
      initializer.add_float_data(weights.w.scale[0]);
    }
  }
  const QuantizedLstmWeights found = layer_of(model).quantize();
  EXPECT_EQ(found.w.values, weights.w.values);
  EXPECT_EQ(found.r.values, weights.r.values);
  EXPECT_EQ(found.w.parameter_dims, (Dims{1, columns})) << "one for each column, where one of them has that";
  EXPECT_EQ(found.w.scale, std::vector<float>(static_cast<std::size_t>(columns), weights.w.scale[0]));
}

/// W_scale out of a Constant node, in each form that ONNX has for one.
TEST(FromModel, TakesConstantsOfEveryForm) {
  LayerCase c = LayerCase::generated(10);
  c.definition.quantization = {DataType::int8, true, false};
  const QuantizedLstmWeights weights = training::Lstm(c.definition).quantize();
  const float scale = weights.w.scale[0];
  const auto model_with = [&](const std::function<void(onnx::NodeProto&)>& fill) {
    onnx::ModelProto model = model_of(c, weights);
    for (onnx::TensorProto& initializer : *model.mutable_graph()->mutable_initializer())
      if (initializer.name() == "W_scale") initializer.set_name("unused");
    onnx::NodeProto& node = *model.mutable_graph()->add_node();
    node.set_op_type("Constant");
    node.add_output("W_scale");
    fill(node);
    return model;
  };
  const auto form = [&](const char* name, const std::function<void(onnx::AttributeProto&)>& fill) {
    return model_with([&](onnx::NodeProto& node) {
      onnx::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name(name);
      fill(attribute);
    });
  };
  using Attribute = onnx::AttributeProto;
  for (const onnx::ModelProto& model : {form("value", [&](Attribute& a) { *a.mutable_t() = tensor("", {scale}, {1}); }),
                                        form("value_floats", [&](Attribute& a) { a.add_floats(scale); })}) {
    const QuantizedLstmWeights found = layer_of(model).quantize();
    EXPECT_EQ(found.w.values, weights.w.values);
    EXPECT_EQ(found.w.scale, weights.w.scale);
  }
  const auto expect = [&](const onnx::ModelProto& model, const std::string& text) {
    const std::string found = error_of([&] { layer_of(model); });
    EXPECT_NE(found.find("DynamicQuantizeLSTM 'lstm': input 'W_scale' " + text), std::string::npos) << found;
  };
  expect(form("value_float", [&](Attribute& a) { a.set_f(scale); }), "has shape []");
  expect(form("value_int", [](Attribute& a) { a.set_i(1); }), "has type int64");
  expect(form("value_ints", [](Attribute& a) { a.add_ints(1); }), "has type int64");
  expect(form("value_string", [](Attribute& a) { a.set_s("1"); }), "is 'W_scale', which is not constant");
  expect(form("value_strings", [](Attribute& a) { a.add_strings("1"); }), "is 'W_scale', which is not constant");
  expect(form("sparse_value", [](Attribute& a) { a.mutable_sparse_tensor(); }), "is 'W_scale', which is not constant");
  expect(model_with([](onnx::NodeProto&) {}), "is 'W_scale', which is not constant");
  expect(model_with([](onnx::NodeProto& node) { node.clear_output(); }), "is 'W_scale', which is not constant");
}

onnx::TensorProto& initializer(onnx::ModelProto& model, const std::string& name) {
  for (onnx::TensorProto& proto : *model.mutable_graph()->mutable_initializer())
    if (proto.name() == name) return proto;
  throw std::invalid_argument(name);
}

/// Moves the elements of an initializer behind the end of a file.
void move_out(onnx::TensorProto& tensor, const std::filesystem::path& folder, const std::string& location) {
  std::ofstream file(folder / location, std::ios::binary | std::ios::app);
  file.seekp(0, std::ios::end);
  const auto add = [&](const char* key, const std::string& value) {
    onnx::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", location);
  add("offset", std::to_string(file.tellp()));
  add("length", std::to_string(tensor.raw_data().size()));
  file << tensor.raw_data();
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
}

TEST(FromModel, ReadsExternalData) {
  const Folder folder;
  const LayerCase c = LayerCase::generated(10);
  const QuantizedLstmWeights weights = training::Lstm(c.definition).quantize();
  onnx::ModelProto model = model_of(c, weights);
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer())
    move_out(tensor, folder.path(), "weights.bin");
  const std::string bytes = model.SerializeAsString();
  std::ofstream(folder.file("m.onnx"), std::ios::binary) << bytes;
  const QuantizedLstmWeights in_folder =
      training::from_model(bytes.data(), bytes.size(), "lstm", folder.path().string()).quantize();
  const QuantizedLstmWeights of_file = training::from_file(folder.file("m.onnx"), "lstm").quantize();
  for (const QuantizedLstmWeights* found : {&in_folder, &of_file}) {
    EXPECT_EQ(found->w.values, weights.w.values);
    EXPECT_EQ(found->r.values, weights.r.values);
    EXPECT_EQ(found->r.scale, weights.r.scale);
  }
  // Extents that the file does not reach are refused before memory is taken for them.
  initializer(model, "W").set_dims(1, std::int64_t{1} << 40);
  std::ofstream(folder.file("m.onnx"), std::ios::binary) << model.SerializeAsString();
  EXPECT_EQ(error_of([&] { training::from_file(folder.file("m.onnx"), "lstm"); }),
            "DynamicQuantizeLSTM 'lstm': input 'W': tensor 'W' cannot be read from 'weights.bin'");
  std::filesystem::remove(folder.file("weights.bin"));
  EXPECT_EQ(error_of([&] { training::from_file(folder.file("m.onnx"), "lstm"); }),
            "DynamicQuantizeLSTM 'lstm': input 'W': tensor 'W' cannot be read from 'weights.bin'");
}

std::string error_of_changed(const std::function<void(onnx::ModelProto&)>& change) {
  const LayerCase c = LayerCase::generated(10);
  onnx::ModelProto model = model_of(c, training::Lstm(c.definition).quantize());
  change(model);
  return error_of([&] { layer_of(model); });
}

/// Shapes of up to 4 of these extents.
std::vector<Dims> shapes_of(const std::vector<std::int64_t>& extents) {
  std::vector<Dims> shapes{{}};
  for (std::size_t next = 0; shapes[next].size() < 4; ++next)
    for (const std::int64_t extent : extents) {
      shapes.push_back(shapes[next]);
      shapes.back().push_back(extent);
    }
  return shapes;
}

/// Every constant input in every shape, with as many elements: the layer is made or refused, of bytes and of a file.
TEST(FromModel, ExtentsAreThoseOfTheDefinition) {
  const Folder folder;
  const LayerCase c = LayerCase::generated(10);
  const onnx::ModelProto right = model_of(c, training::Lstm(c.definition).quantize());
  const std::int64_t hidden = c.definition.hidden_size, gates = 4 * hidden;
  for (const onnx::TensorProto& proto : right.graph().initializer()) {
    const std::string& port = proto.name();
    for (const Dims& dims : shapes_of({0, 1, hidden, gates})) {
      std::size_t bytes = proto.data_type() == onnx::TensorProto::FLOAT ? sizeof(float) : 1;
      for (const std::int64_t dim : dims) bytes *= static_cast<std::size_t>(dim);
      onnx::ModelProto model = right;
      initializer(model, port) =
          tensor(port, static_cast<DataType>(proto.data_type()), dims, std::string(bytes, '\0').data(), bytes);
      const std::string text = model.SerializeAsString();
      std::ofstream(folder.file("m.onnx"), std::ios::binary) << text;
      const bool fits = port == "W"        ? dims.size() == 3 && dims[0] == 1 && dims[2] == gates
                        : port == "R"      ? dims == Dims{1, hidden, gates}
                        : port.size() == 1 ? false  // B and P are longer
                                           : dims == Dims{1} || dims == Dims{1, gates};
      for (const std::string& error : {error_of([&] { training::from_model(text.data(), text.size(), "lstm"); }),
                                       error_of([&] { training::from_file(folder.file("m.onnx"), "lstm"); })}) {
        SCOPED_TRACE(port + " of rank " + std::to_string(dims.size()) + ": " + error);
        // What fits may still be refused: zeros are no scales.
        EXPECT_EQ(error.find("' has shape [") == std::string::npos, fits);
        EXPECT_EQ(error == "no error", fits && port.find("scale") == std::string::npos);
      }
    }
  }
}

/// Weights without columns, which every parameter's shape has to do with.
TEST(FromModel, WeightsWithoutColumnsAreRefused) {
  for (const Dims& parameter : {Dims{0}, Dims{1}, Dims{1, 0}, Dims{0, 0}}) {
    for (const Dims& w : {Dims{1, 4, 0}, Dims{0, 4, 0}, Dims{1, 0, 0}, Dims{0, 0, 0}}) {
      const LayerCase c = LayerCase::generated(10);
      onnx::ModelProto model = model_of(c, training::Lstm(c.definition).quantize());
      initializer(model, "W") = tensor("W", DataType::int8, w, "", 0);
      initializer(model, "W_scale") = tensor("W_scale", std::vector<float>(parameter == Dims{1}, 1.0F), parameter);
      EXPECT_NE(error_of([&] { layer_of(model); }).find("DynamicQuantizeLSTM 'lstm': input '"), std::string::npos);
    }
  }
}

TEST(FromModel, WrongModelsAreErrors) {
  using Model = onnx::ModelProto;
  const auto expect = [](const std::function<void(Model&)>& change, const std::string& text) {
    const std::string found = error_of_changed(change);
    EXPECT_NE(found.find(text), std::string::npos) << found;
  };
  const auto node = [](Model& m) { return m.mutable_graph()->mutable_node(0); };
  expect([&](Model& m) { node(m)->set_name("other"); }, "the graph has no node 'lstm'");
  expect([&](Model& m) { *m.mutable_graph()->add_node() = *node(m); }, "two nodes are named 'lstm'");
  expect([&](Model& m) { node(m)->set_domain(""); }, "node 'lstm' is ai.onnx.DynamicQuantizeLSTM, expected com.");
  expect([&](Model& m) { node(m)->set_input(1, "computed"); },
         "DynamicQuantizeLSTM 'lstm': input 'W' is 'computed', which is not constant");
  expect([&](Model& m) { node(m)->mutable_input()->DeleteSubrange(8, 4); }, "input 'W_scale' is missing");
  expect([&](Model& m) { initializer(m, "R").set_data_type(onnx::TensorProto::FLOAT); }, "input 'R' has type float");
  expect([&](Model& m) { initializer(m, "W").set_data_type(onnx::TensorProto::INT16); },
         "'W' has type int16, expected");
  expect([&](Model& m) { initializer(m, "W").mutable_raw_data()->pop_back(); }, "input 'W': tensor 'W' has ");
  expect([&](Model& m) { initializer(m, "W").set_dims(1, -3); }, "'W' has the negative extent -3");
  expect([&](Model& m) { initializer(m, "W").set_dims(1, INT64_MAX); }, "more than memory can hold");
  expect([&](Model& m) { initializer(m, "W").set_dims(1, std::int64_t{1} << 40); }, " bytes, expected ");
  expect([&](Model& m) { initializer(m, "R").clear_dims(); }, "input 'R' has shape [], expected [num_directions,hid");
  expect([&](Model& m) { initializer(m, "R").set_data_location(onnx::TensorProto::EXTERNAL); },
         "input 'R': tensor 'R' is in the file '', which is not beside the model");
  expect([&](Model& m) { initializer(m, "W_scale") = tensor("W_scale", {1, 2, 3}, {3}); }, "'W_scale' has shape [3]");
  expect([&](Model& m) { add_metadata(*node(m), "octet.training", "yes"); }, "'octet.training' is 'yes'");
  expect([&](Model& m) { add_metadata(*node(m), "octet.lda_coeff", "0.5x"); }, "'octet.lda_coeff' is '0.5x'");
  expect([&](Model& m) { add_metadata(*node(m), "octet.lda_coeff", "inf"); }, "lda_coeff is inf");
  expect([&](Model& m) { add_attribute("direction", std::string("up"), *node(m)); }, "'direction' is 'up'");
  EXPECT_THROW(training::from_model("rubbish", 7, "lstm"), Error);
  EXPECT_THROW(training::from_model(nullptr, 0, "lstm"), Error);
}

}  // namespace
}  // namespace octet::test
