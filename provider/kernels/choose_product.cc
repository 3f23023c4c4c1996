#include "provider/kernels/choose_product.hpp"

#include "provider/core/cpu.hpp"

namespace octet::core {
namespace {

// With AMX oneDNN's product of many rows is as fast as ours, and faster where k is small.
constexpr std::int64_t kManyRows = 64;

bool prefers_onednn(const ProductRequest& request) {
  return cpu_isa_level() == Isa::avx512_core_amx && request.m >= kManyRows && !request.weights_of_run;
}

}  // namespace

// Our loop is no slower elsewhere, and needs no primitive per shape; below VNNI oneDNN would saturate, and refuses.
Choice<Product> choose_product(const Options& options, const std::string& label, const ProductRequest& request) {
  const Candidate<Product> onednn{"onednn", [=] { return offer_onednn_product(request); }};
  const Candidate<Product> vector{"vector", [=] { return offer_vector_product(request); }};
  const Candidate<Product> eigen{"eigen", [=] { return offer_eigen_product(request); }};
  Choice<Product> choice = prefers_onednn(request) ? dispatch<Product>(options, label, {onednn, vector, eigen})
                                                   : dispatch<Product>(options, label, {vector, onednn, eigen});
  choice.decision.implementation = choice.chosen->implementation();
  return choice;
}

}  // namespace octet::core
