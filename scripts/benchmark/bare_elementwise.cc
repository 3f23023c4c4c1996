// oneDNN's binary, eltwise, concat and reduction primitives on 8-bit tensors. They take scales but no zero points, so
// they do less than the operators do.
#include <algorithm>

#include "scripts/benchmark/bare_onednn.hpp"

namespace octet::benchmark {
namespace {

using dnnl::memory;
using Type = memory::data_type;

memory::desc dense(const std::vector<std::int64_t>& dims, std::size_t rank, Type type) {
  memory::dims extents(rank - dims.size(), 1), strides(rank, 1);
  extents.insert(extents.end(), dims.begin(), dims.end());
  for (std::size_t d = rank - 1; d > 0; --d) strides[d - 1] = strides[d] * extents[d];
  return {extents, type, strides};
}

memory& scale() {
  static float value = 0.7F;
  static memory one({{1}, Type::f32, memory::format_tag::x}, engine(), &value);
  return one;
}

dnnl::primitive_attr scaled(std::size_t sources) {
  dnnl::primitive_attr attributes;
  if (sources >= 1) attributes.set_scales_mask(DNNL_ARG_SRC_0, 0);
  if (sources >= 2) attributes.set_scales_mask(DNNL_ARG_SRC_1, 0);
  return attributes;
}

}  // namespace

std::unique_ptr<BareElementwise> BareElementwise::make(const BareElementwiseJob& job) {
  const std::size_t rank = std::max<std::size_t>(1, job.y_dims.size());
  const Type type = job.is_signed ? Type::s8 : Type::u8;
  std::vector<memory::desc> x;
  for (const auto& dims : job.x_dims) x.push_back(dense(dims, rank, type));
  const bool sums = job.op == "ReduceSumInteger";
  const memory::desc y = dense(job.y_dims, rank, sums ? Type::s32 : type);
  std::unique_ptr<BareElementwise> made(new BareElementwise());
  const auto keep = [&](const auto& desc, auto primitive) {
    if (!desc || std::string(desc.impl_info_str()).rfind("ref", 0) == 0) return false;
    made->implementation_ = desc.impl_info_str();
    made->primitive_ = primitive(desc);
    return true;
  };
  bool found = false;
  int first_source = DNNL_ARG_SRC;
  std::size_t scales = 0;
  if (job.op == "QLinearAdd" || job.op == "QLinearMul") {
    const auto algorithm = job.op == "QLinearAdd" ? dnnl::algorithm::binary_add : dnnl::algorithm::binary_mul;
    scales = 2;
    found = keep(dnnl::binary::primitive_desc(engine(), algorithm, x[0], x[1], y, scaled(2), true),
                 [](const auto& desc) { return dnnl::binary(desc); });
  } else if (job.op == "QLinearLeakyRelu") {
    found = keep(dnnl::eltwise_forward::primitive_desc(engine(), dnnl::prop_kind::forward_inference,
                                                       dnnl::algorithm::eltwise_relu, x[0], y, 0.1F, 0.F, {}, true),
                 [](const auto& desc) { return dnnl::eltwise_forward(desc); });
  } else if (job.op == "QLinearReduceMean" || sums) {
    const auto algorithm = sums ? dnnl::algorithm::reduction_sum : dnnl::algorithm::reduction_mean;
    found = keep(dnnl::reduction::primitive_desc(engine(), algorithm, x[0], y, 0.F, 0.F, {}, true),
                 [](const auto& desc) { return dnnl::reduction(desc); });
  } else if (job.op == "QLinearConcat") {
    const int axis = job.y_dims.size() > 1 ? 1 : 0;
    scales = job.rescales ? 2 : 0;
    first_source = DNNL_ARG_MULTIPLE_SRC;
    found = keep(dnnl::concat::primitive_desc(engine(), y, axis, x, scaled(0), true),
                 [](const auto& desc) { return dnnl::concat(desc); });
    if (job.rescales) found = false;  // with scales, oneDNN has a reference loop only
  }
  if (!found) return nullptr;
  for (std::size_t i = 0; i < x.size(); ++i)
    made->arguments_.insert({first_source + static_cast<int>(i), memory(x[i], engine(), job.x[i])});
  made->arguments_.insert({DNNL_ARG_DST, memory(y, engine(), job.y)});
  for (std::size_t i = 0; i < scales; ++i)
    made->arguments_.insert({DNNL_ARG_ATTR_SCALES | (DNNL_ARG_SRC_0 + static_cast<int>(i)), scale()});
  return made;
}

void BareElementwise::run() { primitive_.execute(stream(), arguments_); }

}  // namespace octet::benchmark
