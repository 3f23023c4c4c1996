#include "scripts/benchmark/bare_onednn.hpp"

#include <cstdint>

namespace octet::benchmark {
namespace {

using dnnl::memory;
using Type = memory::data_type;
using Tag = memory::format_tag;

memory vector_memory(memory::dim count, Type type, void* data) {
  return memory({{count}, type, Tag::x}, engine(), data);
}

Tag tag_of(WeightsLayout layout) {
  switch (layout) {
    case WeightsLayout::chosen:
      return Tag::any;
    case WeightsLayout::packed:
      return Tag::BA16a64b4a;
    case WeightsLayout::plain:
      break;
  }
  return Tag::ab;
}

memory arranged_weights(const BareProductJob& job, void* b, const memory::desc& desc) {
  memory plain({{job.k, job.n}, job.b_type, Tag::ab}, engine(), b);
  if (plain.get_desc() == desc) return plain;
  memory arranged(desc, engine());
  dnnl::reorder(plain, arranged).execute(stream(), plain, arranged);
  return arranged;
}

dnnl::primitive_attr attributes_of(const BareProductJob& job) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (job.a_zero_point) attributes.set_zero_points_mask(DNNL_ARG_SRC, 0);
  if (job.a_scale) attributes.set_scales_mask(DNNL_ARG_SRC, 0);
  if (job.b_scale) attributes.set_scales_mask(DNNL_ARG_WEIGHTS, 2);
  if (job.y_scale) attributes.set_scales_mask(DNNL_ARG_DST, 0);
  if (job.y_zero_point) attributes.set_zero_points_mask(DNNL_ARG_DST, 0);
  return attributes;
}

}  // namespace

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::stream& stream() {
  static dnnl::stream in_order(engine());
  return in_order;
}

std::unique_ptr<BareProduct> BareProduct::make(const BareProductJob& job, WeightsLayout layout) {
  const memory::desc a({job.m, job.k}, job.a_type, Tag::ab), b({job.k, job.n}, job.b_type, tag_of(layout));
  const memory::desc y({job.m, job.n}, job.y_type, Tag::ab);
  const memory::desc bias = job.bias ? memory::desc({1, job.n}, Type::f32, Tag::ab) : memory::desc();
  const dnnl::matmul::primitive_desc desc(engine(), a, b, bias, y, attributes_of(job), true);
  if (!desc || std::string(desc.impl_info_str()).rfind("ref", 0) == 0) return nullptr;

  std::unique_ptr<BareProduct> product(new BareProduct());
  product->implementation_ = desc.impl_info_str();
  product->primitive_ = dnnl::matmul(desc);
  std::unordered_map<int, memory> shared = {{DNNL_ARG_SRC, memory(a, engine(), job.a)},
                                            {DNNL_ARG_DST, memory(y, engine(), job.y)},
                                            {DNNL_ARG_SCRATCHPAD, memory(desc.scratchpad_desc(), engine())}};
  const auto add = [&](int argument, memory::dim count, Type type, void* data) {
    if (data) shared.insert({argument, vector_memory(count, type, data)});
  };
  add(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, 1, Type::f32, job.a_scale);
  add(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, job.n, Type::f32, job.b_scale);
  add(DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST, 1, Type::f32, job.y_scale);
  add(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, 1, Type::s32, job.a_zero_point);
  add(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, 1, Type::s32, job.y_zero_point);
  if (job.bias) shared.insert({DNNL_ARG_BIAS, memory(bias, engine(), job.bias)});
  for (void* weights : job.b) {
    product->arguments_.push_back(shared);
    product->arguments_.back().insert({DNNL_ARG_WEIGHTS, arranged_weights(job, weights, desc.weights_desc())});
  }
  return product;
}

void BareProduct::run(std::size_t copy) { primitive_.execute(stream(), arguments_[copy]); }

BareReorder::BareReorder(memory::dim rows, memory::dim columns, Type from, Type to, bool per_column, const void* x,
                         void* y, float* scale, std::int32_t* zero_point) {
  const memory::desc source({rows, columns}, from, Tag::ab), target({rows, columns}, to, Tag::ab);
  const int parameters_of = to == Type::f32 ? DNNL_ARG_SRC : DNNL_ARG_DST;
  dnnl::primitive_attr attributes;
  attributes.set_scales_mask(parameters_of, per_column ? 2 : 0);
  attributes.set_zero_points_mask(parameters_of, per_column ? 2 : 0);
  const dnnl::reorder::primitive_desc desc(engine(), source, engine(), target, attributes);
  implementation_ = desc.impl_info_str();
  primitive_ = dnnl::reorder(desc);
  const memory::dim count = per_column ? columns : 1;
  arguments_ = {{DNNL_ARG_FROM, memory(source, engine(), const_cast<void*>(x))},
                {DNNL_ARG_TO, memory(target, engine(), y)},
                {DNNL_ARG_ATTR_SCALES | parameters_of, vector_memory(count, Type::f32, scale)},
                {DNNL_ARG_ATTR_ZERO_POINTS | parameters_of, vector_memory(count, Type::s32, zero_point)}};
}

void BareReorder::run() { primitive_.execute(stream(), arguments_); }

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
}

}  // namespace octet::benchmark
