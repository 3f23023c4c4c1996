// What the provider for onnxruntime takes together of a model: its claims on the graph that onnxruntime would show it.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "provider/claims/graph.hpp"
#include "provider/cli/cli.hpp"

namespace octet::cli {

class ModelGroups {
 public:
  /// Reads the main graph, without what is in subgraphs and functions. To be made before inference, which turns some
  /// nodes into constants.
  explicit ModelGroups(const onnx::ModelProto& model);

  /// Adds to what was found out of a model, whose graph after inference this is:
  /// - "groups": those of two nodes at least, each {"nodes", "steps": [{"op_type", "name"}], "is_table",
  /// "description"},
  /// - "qdq_marks": [{"op_type", "name", "description"}],
  /// - to "summary": "groups", "nodes_in_groups", "qdq_marks",
  /// or "groups_error" alone, for a model that onnxruntime would refuse.
  void add_to(Json& result, const onnx::GraphProto& inferred, const Options& options);

 private:
  void set_types(const onnx::GraphProto& inferred);

  claims::Graph graph_;
  std::string error_;
};

}  // namespace octet::cli
