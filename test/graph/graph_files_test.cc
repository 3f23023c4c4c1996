// GraphBuilder: files and external data.
#include <algorithm>
#include <fstream>

#include "test/graph/graph_support.hpp"

namespace octet::test {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

constexpr std::int64_t kColumns = 300;
constexpr std::int64_t kRows = 100;

std::map<std::string, std::string> external(const onnx::TensorProto& tensor) {
  EXPECT_EQ(tensor.data_location(), onnx::TensorProto::EXTERNAL);
  std::map<std::string, std::string> result;
  for (const auto& entry : tensor.external_data()) result[entry.key()] = entry.value();
  return result;
}

const onnx::TensorProto& initializer(const onnx::ModelProto& model, const std::string& name) {
  for (const auto& tensor : model.graph().initializer())
    if (tensor.name() == name) return tensor;
  ADD_FAILURE() << name;
  return onnx::TensorProto::default_instance();
}

std::string read(const fs::path& path, std::uint64_t offset, std::size_t size) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  std::string bytes(size, '\0');
  EXPECT_TRUE(file.read(bytes.data(), static_cast<std::streamsize>(size)));
  return bytes;
}

std::string weights() {
  std::string bytes(kRows * kColumns, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  return bytes;
}

/// y = MatMulInteger(x, w) with two constants of 30,000 bytes, and one of 4.
GraphBuilder product() {
  GraphBuilder graph;
  const std::string bytes = weights();
  const GraphValue x = graph.add_input("x", DataType::uint8, {"M", kRows});
  const GraphValue w = graph.add_constant({bytes.data(), DataType::int8, {kRows, kColumns}}, "w");
  const GraphValue unused = graph.add_constant({bytes.data(), DataType::uint8, {kRows, kColumns}}, "v");
  const GraphValue small = graph.add_constant({"\1\2\3", DataType::uint8, {3}}, "small");
  graph.add_output(graph.add_node({"MatMulInteger", "", "product", {{"A", x}, {"B", w}}})[0], "y");
  graph.add_output(unused, "v_output");
  graph.add_output(small, "small_output");
  return graph;
}

TEST(GraphFiles, ConstantsStayInsideBelowTheThreshold) {
  const Folder folder;
  const GraphBuilder graph = product();
  graph.save(folder.file("m.onnx"));
  EXPECT_EQ(folder.files(), (Strings{"m.onnx"}));
  EXPECT_EQ(read_model(folder.file("m.onnx")).SerializeAsString(), graph.serialize());
}

TEST(GraphFiles, LargeConstantsGoToAFileOfTheirOwn) {
  const Folder folder;
  product().save(folder.file("m.onnx"), 1000);
  EXPECT_EQ(folder.files(), (Strings{"m.onnx", "m.onnx.data"}));
  const onnx::ModelProto model = read_model(folder.file("m.onnx"));
  EXPECT_EQ(initializer(model, "small").raw_data().size(), 3U);
  for (const char* name : {"w", "v"}) {
    const auto place = external(initializer(model, name));
    EXPECT_EQ(place.at("location"), "m.onnx.data");
    EXPECT_EQ(std::stoull(place.at("offset")) % 64, 0U);
    EXPECT_EQ(place.at("length"), "30000");
    EXPECT_EQ(read(folder.file("m.onnx.data"), std::stoull(place.at("offset")), 30000), weights());
    EXPECT_FALSE(initializer(model, name).has_raw_data());
  }
  GraphBuilder again = GraphBuilder::from_file(folder.file("m.onnx"));
  again.check();
  EXPECT_EQ(describe(again.info(again.value("w"))), "int8[100,300]");
}

TEST(GraphFiles, AThresholdOf0LeavesOutWhatIsEmpty) {
  const Folder folder;
  GraphBuilder graph = product();
  graph.add_constant({nullptr, DataType::uint8, {0, 3}}, "empty");
  graph.save(folder.file("m.onnx"), 0);
  const onnx::ModelProto model = read_model(folder.file("m.onnx"));
  EXPECT_EQ(external(initializer(model, "small")).at("length"), "3");
  EXPECT_NE(initializer(model, "empty").data_location(), onnx::TensorProto::EXTERNAL);
  GraphBuilder::from_file(folder.file("m.onnx")).check();
}

TEST(GraphFiles, ExternalDataOfALoadedModelStaysWhereItIs) {
  const Folder folder;
  product().save(folder.file("m.onnx"), 1000);
  GraphBuilder graph = GraphBuilder::from_file(folder.file("m.onnx"));
  graph.add_constant({weights().data(), DataType::int8, {kRows, kColumns}}, "new");
  graph.save(folder.file("second.onnx"), 1000);
  const onnx::ModelProto model = read_model(folder.file("second.onnx"));
  EXPECT_EQ(external(initializer(model, "w")).at("location"), "m.onnx.data");
  EXPECT_EQ(external(initializer(model, "new")).at("location"), "second.onnx.data");
  EXPECT_EQ(fs::file_size(folder.file("second.onnx.data")), 30000U);
  GraphBuilder::from_file(folder.file("second.onnx")).check();
}

TEST(GraphFiles, ExternalDataMovesToAnotherFolder) {
  const Folder folder;
  const Folder other;
  product().save(folder.file("m.onnx"), 1000);
  GraphBuilder::from_file(folder.file("m.onnx")).save(other.file("m.onnx"));
  EXPECT_EQ(other.files(), (Strings{"m.onnx", "m.onnx.data"}));
  fs::remove_all(folder.path());
  GraphBuilder::from_file(other.file("m.onnx")).check();
  const onnx::ModelProto model = read_model(other.file("m.onnx"));
  const auto place = external(initializer(model, "v"));
  EXPECT_EQ(read(other.file("m.onnx.data"), std::stoull(place.at("offset")), 30000), weights());
}

TEST(GraphFiles, AModelMayTakeItsOwnPlace) {
  const Folder folder;
  product().save(folder.file("m.onnx"), 1000);
  GraphBuilder graph = GraphBuilder::from_file(folder.file("m.onnx"));
  graph.add_constant({weights().data(), DataType::int8, {kRows, kColumns}}, "new");
  graph.save(folder.file("m.onnx"), 1000);
  EXPECT_EQ(folder.files(), (Strings{"m.onnx", "m.onnx.data"}));
  const onnx::ModelProto model = read_model(folder.file("m.onnx"));
  for (const char* name : {"w", "v", "new"}) {
    const auto place = external(initializer(model, name));
    EXPECT_EQ(read(folder.file("m.onnx.data"), std::stoull(place.at("offset")), 30000), weights()) << name;
  }
}

/// Sparse files: the sizes are real, the disk holds next to nothing of them.
TEST(GraphFiles, ModelsOfMoreThanTwoGigabytes) {
  const Folder folder;
  constexpr std::int64_t kLarge = (std::int64_t{1} << 31) + 4096;
  constexpr std::uint64_t kOffset = std::uint64_t{5} << 30;
  {
    std::ofstream data(folder.file("weights.bin"), std::ios::binary);
    data.seekp(static_cast<std::streamoff>(kOffset));
    data << weights();
  }
  onnx::ModelProto model = parsed(product());
  const auto refer = [&](onnx::TensorProto& tensor, std::uint64_t offset, std::uint64_t length) {
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : std::map<std::string, std::string>{
             {"location", "weights.bin"}, {"offset", std::to_string(offset)}, {"length", std::to_string(length)}}) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
  };
  refer(*model.mutable_graph()->mutable_initializer(0), kOffset, 30000);
  onnx::TensorProto& large = *model.mutable_graph()->add_initializer();
  large.set_name("large");
  large.set_data_type(onnx::TensorProto::UINT8);
  large.add_dims(kLarge);
  refer(large, 0, kLarge);
  const std::string bytes = model.SerializeAsString();
  GraphBuilder graph = GraphBuilder::from_model(bytes.data(), bytes.size(), folder.path().string());
  EXPECT_EQ(describe(graph.info(graph.value("large"))), "uint8[" + std::to_string(kLarge) + "]");
  graph.add_output(graph.add_node({"MatMulInteger", "", "", {{"A", graph.value("x")}, {"B", graph.value("w")}}})[0]);
  graph.check();
  graph.save(folder.file("m.onnx"));
  EXPECT_EQ(folder.files(), (Strings{"m.onnx", "weights.bin"}));
  GraphBuilder again = GraphBuilder::from_file(folder.file("m.onnx"));
  again.check();

  // The constant behind 5 GB alone, to another folder.
  again = GraphBuilder::from_file(folder.file("m.onnx"));
  model = read_model(folder.file("m.onnx"));
  model.mutable_graph()->mutable_initializer()->RemoveLast();
  const Folder other;
  const std::string small = model.SerializeAsString();
  GraphBuilder::from_model(small.data(), small.size(), folder.path().string()).save(other.file("m.onnx"));
  EXPECT_EQ(read(other.file("m.onnx.data"), 0, 30000), weights());
}

TEST(GraphFiles, WhatGoesWrongLeavesNothingBehind) {
  const Folder folder;
  product().save(folder.file("m.onnx"), 1000);
  const std::string before = read(folder.file("m.onnx"), 0, fs::file_size(folder.file("m.onnx")));
  GraphBuilder graph = GraphBuilder::from_file(folder.file("m.onnx"));
  EXPECT_NE(error_of([&] { graph.save(folder.file("none/m.onnx"), 0); }).find("cannot be written"), std::string::npos);
  fs::resize_file(folder.file("m.onnx.data"), 100);
  EXPECT_NE(error_of([&] { graph.save(folder.file("m.onnx"), 0); }).find("cannot be read"), std::string::npos);
  EXPECT_EQ(folder.files(), (Strings{"m.onnx", "m.onnx.data"}));
  EXPECT_EQ(read(folder.file("m.onnx"), 0, before.size()), before);
  fs::remove(folder.file("m.onnx.data"));
  EXPECT_NE(error_of([&] { GraphBuilder::from_file(folder.file("m.onnx")); }).find("m.onnx.data"), std::string::npos);
}

TEST(GraphFiles, ExternalDataOutsideTheFolderIsRefused) {
  const Folder folder;
  product().save(folder.file("m.onnx"), 1000);
  for (const std::string location : {"../m.onnx.data", "/etc/passwd", "a/../../m.onnx.data", ""}) {
    onnx::ModelProto model = read_model(folder.file("m.onnx"));
    model.mutable_graph()->mutable_initializer(0)->mutable_external_data(0)->set_value(location);
    const std::string bytes = model.SerializeAsString();
    EXPECT_NE(error_of([&] { GraphBuilder::from_model(bytes.data(), bytes.size(), folder.path().string()); }),
              "no error")
        << location;
  }
}

}  // namespace
}  // namespace octet::test
