// The table of operators.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "provider/core/kernel.hpp"
#include "provider/core/op_def.hpp"

namespace octet::core {

/// Every definition, ordered by domain, name and version. Built at first use, never destroyed.
const std::vector<OpDef>& op_defs();

/// The newest definition of an operator up to `opset_version` of its domain ("ai.onnx" means ""); null where there is
/// none.
const OpDef* find_op(std::string_view domain, std::string_view name, std::int64_t opset_version);

/// Builds the kernel of a node that has passed check_and_infer.
using MakeKernel = std::unique_ptr<const Kernel> (*)(const NodeContext& node);

/// How nodes of this operator are computed; never null.
MakeKernel kernel_maker(const OpDef& op);

/// The backends that have code for this operator, in the order in which they are asked.
std::vector<std::string_view> kernel_backends(const OpDef& op);

}  // namespace octet::core
