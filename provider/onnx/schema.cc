// An onnx::OpSchema from each OpDef.
#include <octet/onnx.hpp>

#include <onnx/defs/schema.h>

#include "provider/core/registry.hpp"
#include "provider/onnx/inference.hpp"
#include "provider/ops/ops.hpp"

namespace octet {
namespace {

using core::AttributeDef;
using core::OpDef;
using core::PortDef;
using core::PortOption;
using onnx::OpSchema;

OpSchema::FormalParameterOption option_of(PortOption option) {
  switch (option) {
    case PortOption::optional:
      return OpSchema::Optional;
    case PortOption::variadic:
      return OpSchema::Variadic;
    case PortOption::required:
      break;
  }
  return OpSchema::Single;
}

onnx::AttributeProto::AttributeType type_of(core::AttributeType type) {
  switch (type) {
    case core::AttributeType::integer:
      return onnx::AttributeProto::INT;
    case core::AttributeType::real:
      return onnx::AttributeProto::FLOAT;
    case core::AttributeType::string:
      return onnx::AttributeProto::STRING;
    case core::AttributeType::integers:
      return onnx::AttributeProto::INTS;
    case core::AttributeType::reals:
      return onnx::AttributeProto::FLOATS;
    case core::AttributeType::strings:
      return onnx::AttributeProto::STRINGS;
  }
  return onnx::AttributeProto::UNDEFINED;
}

void add_attribute(OpSchema& schema, const AttributeDef& attribute) {
  const auto type = type_of(attribute.type);
  if (!attribute.default_value) {
    schema.Attr(attribute.name, attribute.doc, type, attribute.required);
    return;
  }
  std::visit([&](const auto& value) { schema.Attr(attribute.name, attribute.doc, type, value); },
             *attribute.default_value);
}

OpSchema schema_of(const OpDef& op) {
  OpSchema schema(op.name, __FILE__, __LINE__);
  schema.SetDomain(op.domain).SinceVersion(op.since_version).SetDoc(op.doc);
  for (const AttributeDef& attribute : op.attributes) add_attribute(schema, attribute);
  int index = 0;
  for (const PortDef& port : op.inputs)
    schema.Input(index++, port.name, port.doc, port.type, option_of(port.option), port.homogeneous,
                 port.option == PortOption::variadic ? op.min_variadic : 1);
  index = 0;
  for (const PortDef& port : op.outputs) schema.Output(index++, port.name, port.doc, port.type, option_of(port.option));
  for (const core::TypeConstraint& constraint : op.type_constraints) {
    std::vector<std::string> types;
    for (const DataType type : constraint.types) types.push_back(core::type_string(type));
    schema.TypeConstraint(constraint.name, std::move(types), constraint.doc);
  }
  schema.TypeAndShapeInferenceFunction([&op](onnx::InferenceContext& context) { onnx_side::infer(op, context); });
  return schema;
}

void register_domain() {
  auto& domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance();
  if (domains.Map().count(core::kMicrosoftDomain) == 0) domains.AddDomainToVersion(core::kMicrosoftDomain, 1, 1);
}

}  // namespace

void register_schemas() {
  register_domain();
  for (const OpDef& op : core::op_defs()) {
    if (op.domain != core::kMicrosoftDomain) continue;
    if (onnx::OpSchemaRegistry::Schema(op.name, op.since_version, op.domain) == nullptr)
      onnx::RegisterSchema(schema_of(op));
  }
}

}  // namespace octet
