// What is found out about one node, or about all nodes of a model, as JSON.
#pragma once

#include <functional>

#include "provider/cli/cli.hpp"

#include <octet/octet.hpp>

namespace octet::cli {

/// {"name", "op_type", "domain", "inputs", "outputs", "decision"}; all extents of the node must be known.
Json explained(const Node& node, const Options& options);

/// What `explained` and its like find out about a node.
using Examine = std::function<Json(const Node&, const Options&)>;

/// Of a node: what `examine` says. Of a model: {"model", "nodes": [what `examine` says, or "error" in place of
/// "inputs", "outputs" and all that follows], "summary": {"nodes", "of_octet", "explained", "backends": {name: count},
/// "without_schema": {operator: count}}, and what groups.hpp adds}.
Json examined(const TargetArguments& arguments, const Examine& examine);
/// The same of a model.
Json examined_model(const TargetArguments& arguments, const Examine& examine);

void print_node(const Json& node);
void print_groups(const Json& model);
void print_summary(const Json& summary);
void print_json(const Json& json);

}  // namespace octet::cli
