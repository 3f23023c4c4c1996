// Decisions as JSON, for one node and for all nodes of a model.
#pragma once

#include "provider/cli/cli.hpp"

#include <octet/octet.hpp>

namespace octet::cli {

/// {"name", "op_type", "domain", "inputs", "outputs", "decision"}; all extents of the node must be known.
Json explained(const Node& node, const Options& options);

/// {"model", "nodes": [as above, or with "error" in place of the last three], "summary": {"nodes", "of_octet",
/// "explained", "backends": {name: count}, "without_schema": {operator: count}}}.
Json explained_model(const ExplainArguments& arguments);

}  // namespace octet::cli
