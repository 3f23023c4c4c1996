// oneDNN's float32 GEMM: what its matmul primitive runs as gemm:jit:f32, but without a primitive for each shape, which
// a sequence's length would be part of.
#include <algorithm>

#include "primitives/onednn.hpp"
#include "provider/core/float_product.hpp"

namespace octet::core {

void float_product(std::int64_t m, std::int64_t n, std::int64_t k, const Operand& a, const Operand& b, float* y) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(y, m * n, 0.0F);
    return;
  }
  static_cast<void>(onednn::engine());  // caps the instruction set
  const onednn::OneThread one_thread;
  const bool a_transposed = a.transposed == Transposed::yes, b_transposed = b.transposed == Transposed::yes;
  onednn::check(dnnl_sgemm(a_transposed ? 'T' : 'N', b_transposed ? 'T' : 'N', m, n, k, 1, a.data, a_transposed ? m : k,
                           b.data, b_transposed ? k : n, 0, y, n),
                "a float32 product");
}

}  // namespace octet::core
