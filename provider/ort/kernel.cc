#include "provider/ort/kernel.hpp"

#include <memory>
#include <vector>

#include "provider/core/registry.hpp"
#include "provider/ort/api.hpp"
#include "provider/ort/ep.hpp"
#include "provider/ort/program.hpp"

namespace octet::ort {
namespace {

/// Reads one node through the interface for kernels.
class NodeReader {
 public:
  NodeReader(const core::OpDef& op, const OrtKernelInfo* info) : op_(op), info_(info) {}

  claims::Step read() const {
    const OrtApi& api = ort_api();
    claims::Step step;
    step.node.op_type = op_.name;
    step.node.domain = op_.domain;
    step.node.opset_version = op_.since_version;
    step.node.attributes = read_attributes();
    const auto num_inputs = get<std::size_t>(api.KernelInfo_GetInputCount, info_);
    for (std::size_t i = 0; i < num_inputs; ++i) {
      step.inputs.push_back(get_text(api.KernelInfo_GetInputName, info_, i));
      step.node.inputs.push_back(step.inputs.back().empty() ? ValueInfo() : read_input(i));
    }
    const auto num_outputs = get<std::size_t>(api.KernelInfo_GetOutputCount, info_);
    for (std::size_t i = 0; i < num_outputs; ++i) {
      step.outputs.push_back(get_text(api.KernelInfo_GetOutputName, info_, i));
      const bool is_absent = step.outputs.back().empty();
      // Only the type: models declare shapes that their nodes do not give, and ONNX Runtime lets them.
      step.node.outputs.push_back(
          {is_absent ? DataType::undefined : read_type_of(api.KernelInfo_GetOutputTypeInfo, i).dtype});
    }
    step.node.name = get_text(api.KernelInfo_GetNodeName, info_);
    if (step.node.name.empty() && !step.outputs.empty()) step.node.name = step.outputs.front();
    return step;
  }

  std::vector<SymbolicType> input_types(const claims::Step& step) const {
    std::vector<SymbolicType> types(step.inputs.size());
    for (std::size_t i = 0; i < types.size(); ++i)
      if (!step.inputs[i].empty())
        types[i] = read_symbolic_type(type_info(ort_api().KernelInfo_GetInputTypeInfo, i).get());
    return types;
  }

 private:
  using TypeInfo = std::unique_ptr<OrtTypeInfo, void (*)(OrtTypeInfo*)>;

  template <class Getter>
  TypeInfo type_info(Getter getter, std::size_t i) const {
    return {get<OrtTypeInfo*>(getter, info_, i), ort_api().ReleaseTypeInfo};
  }

  template <class Getter>
  ValueInfo read_type_of(Getter getter, std::size_t i) const {
    return read_type(type_info(getter, i).get());
  }

  ValueInfo read_input(std::size_t i) const {
    int is_constant = 0;
    const OrtValue* value = nullptr;
    check(ort_api().KernelInfoGetConstantInput_tensor(info_, i, &is_constant, &value));
    if (is_constant == 0 || value == nullptr) return read_type_of(ort_api().KernelInfo_GetInputTypeInfo, i);
    return read_constant(value);
  }

  /// Attributes without a value are left out: ONNX Runtime has no other way to ask than to fail.
  Attributes read_attributes() const {
    Attributes attributes;
    for (const core::AttributeDef& attribute : op_.attributes) {
      try {
        attributes[attribute.name] = read_attribute(attribute);
      } catch (const StatusError&) {
        attributes.erase(attribute.name);
      }
    }
    return attributes;
  }

  AttributeValue read_attribute(const core::AttributeDef& attribute) const {
    const OrtApi& api = ort_api();
    const char* name = attribute.name.c_str();
    switch (attribute.type) {
      case core::AttributeType::integer:
        return get<std::int64_t>(api.KernelInfoGetAttribute_int64, info_, name);
      case core::AttributeType::real:
        return get<float>(api.KernelInfoGetAttribute_float, info_, name);
      case core::AttributeType::string:
        return get_text(api.KernelInfoGetAttribute_string, info_, name);
      case core::AttributeType::integers:
        return read_array<std::int64_t>(api.KernelInfoGetAttributeArray_int64, name);
      case core::AttributeType::reals:
        return read_array<float>(api.KernelInfoGetAttributeArray_float, name);
      case core::AttributeType::strings:
        break;  // such nodes are claimed as fused groups, see provider/claims/claims.cc
    }
    throw Error(ErrorCode::internal, op_.name + ": attribute '" + attribute.name + "' cannot be read");
  }

  template <class Element, class Getter>
  std::vector<Element> read_array(Getter getter, const char* name) const {
    std::size_t size = 0;
    check(getter(info_, name, nullptr, &size));
    std::vector<Element> elements(size);
    if (size > 0) check(getter(info_, name, elements.data(), &size));
    return elements;
  }

  const core::OpDef& op_;
  const OrtKernelInfo* info_;
};

class NodeKernel : public OrtKernelImpl {
 public:
  NodeKernel(std::shared_ptr<Session> session, const claims::Step& step, const std::vector<SymbolicType>& types)
      : OrtKernelImpl{}, program_(std::move(session), {step}, step.inputs, step.outputs, types) {
    ort_version_supported = kApiLevel;
    for (const ValueInfo& input : step.node.inputs) is_held_.push_back(input.constant != nullptr);
    Compute = [](OrtKernelImpl* self, OrtKernelContext* context) {
      return guard([&] { static_cast<NodeKernel*>(self)->program_.run(context); });
    };
    Release = [](OrtKernelImpl* self) { delete static_cast<NodeKernel*>(self); };
    PrePackWeight = [](OrtKernelImpl* self, const OrtValue*, int input, OrtAllocator*, OrtSharedPrePackedWeightCache*,
                       bool* is_packed) -> Status {
      // Constants were packed when the kernel was made, whether ONNX Runtime prepacks or not; it may free its own now.
      *is_packed = static_cast<NodeKernel*>(self)->is_held_[input];
      return nullptr;
    };
  }

 private:
  Program program_;
  std::vector<bool> is_held_;  ///< by input
};

Status create_kernel(void* state, const OrtKernelInfo* info, OrtKernelImpl** kernel) {
  return guard([&] {
    const auto& op = *static_cast<const core::OpDef*>(state);
    const auto* ep = get<const OrtEp*>(ep_api().KernelInfo_GetEp, info);
    const std::shared_ptr<Session> session = Ep::session_of(ep);
    session->announce();
    const NodeReader reader(op, info);
    const claims::Step step = reader.read();
    *kernel = new NodeKernel(session, step, reader.input_types(step));
  });
}

void add_type_constraints(const core::OpDef& op, OrtKernelDefBuilder* builder) {
  for (const core::TypeConstraint& constraint : op.type_constraints) {
    std::vector<const OrtDataType*> types;
    for (const DataType dtype : constraint.types) {
      const OrtDataType* type = nullptr;
      Status unknown = ep_api().GetTensorDataType(static_cast<ONNXTensorElementDataType>(dtype), &type);
      if (unknown)
        ort_api().ReleaseStatus(unknown);  // a type newer than this ONNX Runtime
      else
        types.push_back(type);
    }
    if (types.empty()) continue;
    check(ep_api().KernelDefBuilder_AddTypeConstraint(builder, constraint.name.c_str(), types.data(), types.size()));
  }
}

void add_kernel(const core::OpDef& op, OrtKernelRegistry* registry) {
  const OrtEpApi& api = ep_api();
  const std::unique_ptr<OrtKernelDefBuilder, void (*)(OrtKernelDefBuilder*)> builder(
      get<OrtKernelDefBuilder*>(api.CreateKernelDefBuilder), api.ReleaseKernelDefBuilder);
  check(api.KernelDefBuilder_SetOperatorType(builder.get(), op.name.c_str()));
  check(api.KernelDefBuilder_SetDomain(builder.get(), op.domain.c_str()));
  check(api.KernelDefBuilder_SetSinceVersion(builder.get(), op.since_version, op.since_version));
  check(api.KernelDefBuilder_SetExecutionProvider(builder.get(), kEpName));
  add_type_constraints(op, builder.get());
  if (const std::vector<int> outputs(op.in_place.size(), 0); !outputs.empty())
    check(api.KernelDefBuilder_AddInputOutputMutableAliases(builder.get(), op.in_place.data(), outputs.data(),
                                                            outputs.size()));
  const std::unique_ptr<OrtKernelDef, void (*)(OrtKernelDef*)> def(
      get<OrtKernelDef*>(api.KernelDefBuilder_Build, builder.get()), api.ReleaseKernelDef);
  check(api.KernelRegistry_AddKernel(registry, def.get(), create_kernel, const_cast<core::OpDef*>(&op)));
}

}  // namespace

OrtKernelRegistry* create_kernel_registry() {
  std::unique_ptr<OrtKernelRegistry, void (*)(OrtKernelRegistry*)> registry(
      get<OrtKernelRegistry*>(ep_api().CreateKernelRegistry), ep_api().ReleaseKernelRegistry);
  for (const core::OpDef& op : core::op_defs()) add_kernel(op, registry.get());
  return registry.release();
}

}  // namespace octet::ort
