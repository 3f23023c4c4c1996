// octet_dqip: the dynamically quantized inner product.
#include "provider/kernels/inner_product.hpp"
#include "provider/c_api/error.hpp"

using namespace octet;
using namespace octet::c_api;

struct octet_dqip {
  core::InnerProductContext context;
};

namespace {

std::int64_t checked_extent(const char* name, std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(INT64_MAX))
    refuse(std::string("octet_dqip: ") + name + " is " + std::to_string(value) + ", more than any memory holds");
  return static_cast<std::int64_t>(value);
}

bool checked_flag(const char* name, std::int32_t value) {
  if (value != 0 && value != 1)
    refuse(std::string("octet_dqip_init: '") + name + "' is " + std::to_string(value) + ", expected 0 or 1");
  return value == 1;
}

}  // namespace

octet_dqip* octet_dqip_init(uint64_t m, uint64_t n, uint64_t k, int32_t type_a, int32_t type_b, int32_t type_c,
                            int32_t const_b, int32_t bias, int32_t activation, int32_t avoid_overflow) {
  return guarded_pointer([&] {
    InnerProductOptions options;
    options.a_type = static_cast<DataType>(type_a);
    options.b_type = static_cast<DataType>(type_b);
    options.c_type = static_cast<DataType>(type_c);
    options.constant_b = checked_flag("const_b", const_b);
    options.bias = checked_flag("bias", bias);
    options.activation = static_cast<InnerProductActivation>(activation);
    options.avoid_overflow = checked_flag("avoid_overflow", avoid_overflow);
    return new octet_dqip{
        core::InnerProductContext({checked_extent("m", m), checked_extent("n", n), checked_extent("k", k), options})};
  });
}

void octet_dqip_release(octet_dqip* product) { delete product; }

uint64_t octet_dqip_internal_buffer_size(const octet_dqip* product) {
  return product ? product->context.internal_bytes() : 0;
}

uint64_t octet_dqip_external_buffer_size(const octet_dqip* product) {
  return product ? product->context.external_bytes() : 0;
}

const char* octet_dqip_info(octet_dqip* product) {
  return guarded_pointer([&] { return required(product, "octet_dqip_info", "product").context.info(); });
}

octet_status* octet_dqip_set_option(octet_dqip* product, const char* key, int64_t value) {
  static constexpr const char* kFunction = "octet_dqip_set_option";
  return guarded([&] {
    octet_dqip& target = required(product, kFunction, "product");
    target.context.set_option(&required(key, kFunction, "key"), value);
  });
}

octet_status* octet_dqip_set_params(octet_dqip* product, const void* weight, const float* scale, const float* bias,
                                    const float* params) {
  return guarded([&] {
    required(product, "octet_dqip_set_params", "product").context.set_parameters(weight, scale, bias, params);
  });
}

octet_status* octet_dqip_forward(octet_dqip* product, const void* a, const void* b, void* buf, void* c) {
  return guarded([&] {
    core::InnerProductContext& context = required(product, "octet_dqip_forward", "product").context;
    context.forward(context.spec().m, a, b, buf, c);
  });
}

octet_status* octet_dqip_forward_rows(octet_dqip* product, uint64_t m, const void* a, const void* b, void* buf,
                                      void* c) {
  return guarded([&] {
    octet_dqip& target = required(product, "octet_dqip_forward_rows", "product");
    target.context.forward(checked_extent("m", m), a, b, buf, c);
  });
}
