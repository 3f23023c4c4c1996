#include "provider/core/registry.hpp"

#include <algorithm>
#include <tuple>

#include "provider/ops/ops.hpp"

namespace octet::core {
namespace {

std::vector<OpDef> make_op_defs() {
  std::vector<OpDef> ops;
  add_matmul_ops(ops);
  add_quantize_ops(ops);
  add_binary_ops(ops);
  add_unary_ops(ops);
  add_reduce_ops(ops);
  add_concat_ops(ops);
  add_lstm_ops(ops);
  const auto key = [](const OpDef& op) { return std::tie(op.domain, op.name, op.since_version); };
  std::sort(ops.begin(), ops.end(), [&](const OpDef& a, const OpDef& b) { return key(a) < key(b); });
  return ops;
}

}  // namespace

const std::vector<OpDef>& op_defs() {
  // Never destroyed: operators may outlive the static objects of a program that is ending.
  static const auto* const ops = new std::vector<OpDef>(make_op_defs());
  return *ops;
}

const OpDef* find_op(std::string_view domain, std::string_view name, std::int64_t opset_version) {
  if (domain == "ai.onnx") domain = "";
  const OpDef* newest = nullptr;
  for (const OpDef& op : op_defs())
    if (op.domain == domain && op.name == name && op.since_version <= opset_version) newest = &op;
  return newest;
}

}  // namespace octet::core
