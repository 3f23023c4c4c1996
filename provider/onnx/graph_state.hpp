// What a GraphBuilder holds.
#pragma once

#include <octet/graph_builder.hpp>

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "provider/core/infer.hpp"

namespace octet::onnx_side {

using Constants = google::protobuf::RepeatedPtrField<onnx::TensorProto>;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Who makes a value.
enum class Source { input, constant, node, loaded_node };

struct BuiltValue {
  std::string name;
  Source source = Source::node;
  core::TypeAndShape type;
  bool is_output = false;
  bool is_tensor = true;  ///< loaded models have sequences and maps too
};

struct BuiltNode {
  std::string op_type;
  std::string domain;
  std::string name;
  std::vector<std::size_t> inputs;   ///< values; kNone where absent
  std::vector<std::size_t> outputs;  ///< values
  std::vector<bool> optional;        ///< of each output: whether it may be left out
  // NOLINTBEGIN(readability-redundant-member-init): g++ warns of lists that leave out what has none
  Attributes attributes = {};
  std::map<std::string, std::string> metadata = {
      // NOLINTEND(readability-redundant-member-init)
  };
};

[[noreturn]] inline void fail(const std::string& text) { throw Error(ErrorCode::invalid_argument, text); }

/// A fault of a model, and not of the call that it was given to.
class ModelError : public Error {
 public:
  explicit ModelError(const std::string& text) : Error(ErrorCode::invalid_argument, text) {}
};

/// What function() returns, which reads a model: its errors of arguments are the model's, and begin with `where`.
template <class Function>
auto reading(const std::string& where, const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) throw ModelError(where + error.what());
    throw Error(error.code(), where + error.what());
  }
}

using core::canonical_domain;

/// Names that are taken, and new ones.
class Names {
 public:
  bool taken(const std::string& name) const { return taken_.count(name) != 0; }
  void take(const std::string& name) { taken_.insert(name); }
  void give_back(const std::string& name) { taken_.erase(name); }
  /// `base`, or `base` with a number.
  std::string unused(const std::string& base);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::size_t> next_;  ///< where to go on counting
};

/// register_schemas(), once in the process, whichever thread comes first.
void register_schemas_once();

/// The model of a file; throws Error.
onnx::ModelProto read_model(const std::string& path);
/// Throws Error where the bytes are none.
onnx::ModelProto parse_model(const void* bytes, std::size_t size);

/// What the checker says of a model whose external data lies in `directory`; throws ModelError.
void check_model(const onnx::ModelProto& model, const std::filesystem::path& directory);

/// Types and shapes of the model's values, in value_info and output; throws ModelError, where not strict only for what
/// no inference can work with. External data of a few bytes is read where it can be, since shapes may follow from it.
void infer_shapes(onnx::ModelProto& model, const std::filesystem::path& directory, bool strict);

onnx::ValueInfoProto value_info(const BuiltValue& value);

/// Calls function(tensor) for every tensor in the attributes of a graph's nodes and in its subgraphs, and for
/// initializers of subgraphs.
void for_each_inner_tensor(onnx::GraphProto& graph, const std::function<void(onnx::TensorProto&)>& function);

/// The lowest IR version that can hold the model, as far as its nodes, opsets and the given types tell.
std::int64_t lowest_ir_version(const onnx::ModelProto& model, const std::vector<BuiltValue>& values);

/// Attributes in the form that onnxruntime takes: with hidden_size, without a clip of 0.
void complete_lstm(Attributes& attributes, const core::TypeAndShape& recurrence, const std::string& label);

struct GraphState {
  GraphState();

  onnx::ModelProto model;  ///< what was loaded, without the initializers of its main graph
  Constants constants;
  std::filesystem::path directory;  ///< of external data in `model` and `constants`
  std::vector<BuiltValue> values;
  std::vector<BuiltNode> nodes;
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> outputs;
  std::unordered_map<std::string, std::size_t> value_of_name;
  Names value_names;
  Names node_names;

  std::int64_t opset(const std::string& domain) const;  ///< 0 where it is not imported
  void import(const std::string& domain, std::int64_t version);

  /// The handle of values[index], and back; `what` begins the message where the handle is none of this graph.
  GraphValue handle(std::size_t index) const { return GraphValue(id_ << 32 | (index + 1)); }
  std::size_t index_of(GraphValue value, const std::string& what) const;

  /// A value's or node's name: the given one, which must be new, or one made from `base`.
  std::string new_value_name(const std::string& given, const std::string& base, const std::string& what);
  std::size_t add_value(BuiltValue value);
  void rename(std::size_t index, const std::string& name);

  /// The model with what was added, but for the constants.
  onnx::ModelProto without_constants() const;

 private:
  std::uint64_t id_;  ///< of this graph among those of the process
};

}  // namespace octet::onnx_side
