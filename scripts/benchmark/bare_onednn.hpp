// oneDNN called directly, as a program would that knows nothing of Octet: the yardstick of the C++ benchmark.
// Descriptors, memories and argument maps are made beforehand; a call only executes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

namespace octet::benchmark {

/// Buffers of one product; pointers outlive the primitive. Null: not part of the job.
struct BareProductJob {
  dnnl::memory::dim m, k, n;
  dnnl::memory::data_type a_type, y_type;
  dnnl::memory::data_type b_type = dnnl::memory::data_type::s8;
  void* a;
  std::vector<void*> b;  ///< row-major: one for each copy of the weights
  void* y;
  float* a_scale;
  float* b_scale;  ///< n of them
  float* bias;     ///< n of them
  float* y_scale;
  std::int32_t* a_zero_point;
  std::int32_t* y_zero_point;
};

/// How the weights lie in memory.
enum class WeightsLayout {
  chosen,  ///< tag `any`, reordered beforehand
  packed,  ///< tag BA16a64b4a, reordered beforehand
  plain,   ///< row-major, as weights of the run come
};

class BareProduct {
 public:
  /// Nothing where oneDNN has none but a reference loop for this layout.
  static std::unique_ptr<BareProduct> make(const BareProductJob& job, WeightsLayout layout);
  const std::string& implementation() const noexcept { return implementation_; }
  void run(std::size_t copy);

 private:
  BareProduct() = default;

  std::string implementation_;
  dnnl::matmul primitive_;
  std::vector<std::unordered_map<int, dnnl::memory>> arguments_;  ///< one for each copy of the weights
};

/// float to 8 bits or back by oneDNN's reorder, with scale and zero point for the tensor or for each column.
class BareReorder {
 public:
  BareReorder(dnnl::memory::dim rows, dnnl::memory::dim columns, dnnl::memory::data_type from,
              dnnl::memory::data_type to, bool per_column, const void* x, void* y, float* scale,
              std::int32_t* zero_point);
  const std::string& implementation() const noexcept { return implementation_; }
  void run();

 private:
  std::string implementation_;
  dnnl::reorder primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

/// Buffers of one element-wise operator, reduction or concatenation.
struct BareElementwiseJob {
  std::string op;  ///< the ONNX operator whose work it does, but for zero points
  bool is_signed;
  std::vector<void*> x;
  std::vector<std::vector<std::int64_t>> x_dims;
  std::vector<std::int64_t> y_dims;
  void* y;
  bool rescales;  ///< of a concatenation: the tensors have scales of their own
};

class BareElementwise {
 public:
  /// Nothing where oneDNN has no primitive for it but a reference loop.
  static std::unique_ptr<BareElementwise> make(const BareElementwiseJob& job);
  const std::string& implementation() const noexcept { return implementation_; }
  void run();

 private:
  BareElementwise() = default;

  std::string implementation_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

dnnl::engine& engine();
dnnl::stream& stream();

std::string onednn_version();

}  // namespace octet::benchmark
