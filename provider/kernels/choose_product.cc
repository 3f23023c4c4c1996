#include "provider/kernels/choose_product.hpp"

#include "provider/core/cpu.hpp"

namespace octet::core {

// With AMX oneDNN's tiles win from a few rows on; with VNNI alone our loop reaches the same peak without a primitive
// per shape; below VNNI oneDNN would saturate, and refuses.
Choice<Product> choose_product(const Options& options, const std::string& label, const ProductRequest& request) {
  const Candidate<Product> onednn{"onednn", [=] { return offer_onednn_product(request); }};
  const Candidate<Product> vector{"vector", [=] { return offer_vector_product(request); }};
  const Candidate<Product> eigen{"eigen", [=] { return offer_eigen_product(request); }};
  Choice<Product> choice = cpu_isa_level() == Isa::avx512_core_amx
                               ? dispatch<Product>(options, label, {onednn, vector, eigen})
                               : dispatch<Product>(options, label, {vector, onednn, eigen});
  choice.decision.implementation = choice.chosen->implementation();
  return choice;
}

}  // namespace octet::core
