// The engine of the dynamically quantized inner product (octet/inner_product.hpp has the mathematics).
//
// Rows of A are quantized first, each read from memory once. Then the output is cut into tiles that stay in the cache:
// for a block of columns, whose weights are packed already or are quantized now, the sums of some rows and their
// finish. Where K is so long that int32 could not hold a sum, K is cut into pieces, whose sums are added in int64.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <octet/inner_product.hpp>

#include "provider/core/aligned.hpp"
#include "provider/core/parallel.hpp"
#include "provider/core/product.hpp"
#include "provider/kernels/packed_weights.hpp"
#include "provider/kernels/product_grid.hpp"
#include "provider/kernels/quantized_columns.hpp"

namespace octet::core {

struct InnerProductSpec {
  std::int64_t m, n, k;
  InnerProductOptions options;
};
bool operator==(const InnerProductSpec& left, const InnerProductSpec& right);

class InnerProductState {
 public:
  /// Throws Error(invalid_argument) where the numbers do not fit each other.
  explicit InnerProductState(const InnerProductSpec& spec);

  const InnerProductSpec& spec() const noexcept { return spec_; }
  const Decision& decision() const noexcept { return decision_; }
  /// For messages: "m=4 n=8 k=16"
  const std::string& label() const noexcept { return label_; }
  bool has_parameters() const noexcept { return has_parameters_; }

  /// Everything is copied; a null bias means zeros. Throws, with nothing changed, where a pointer is missing.
  void set_parameters(const void* weight, const float* scale, const float* bias, const float* parameters);

  std::size_t held_bytes() const noexcept;
  /// Bytes of workspace, of any alignment, for a run of up to `rows` rows on `threads` threads.
  std::size_t workspace_bytes(std::int64_t rows, int threads) const;

  /// Throws where parameters or pointers are missing.
  void check_forward(std::int64_t rows, const void* a, const void* b, const void* c) const;
  /// Throws as check_forward does. At most spec().m rows; the workspace is that of rows and
  /// call.threads, or null: then it is taken from the free list.
  void forward(std::int64_t rows, const void* a, const void* b, void* workspace, void* c, const Call& call) const;

 private:
  struct Run;
  struct Layouts;
  struct Parts;

  [[noreturn]] void fail(const std::string& text) const;
  void check() const;
  void choose_products();
  std::vector<float> padded_copy(const float* values, std::int64_t count) const;
  void quantize_weight(const void* weight, const float* scale, const QuantizedColumns& columns) const;
  ProductGrid cut(std::int64_t rows, const Call& call) const;
  void quantize_rows(const Run& run, Range rows, float* widened) const;
  void run_part(const Run& run, Range rows, Range columns, std::uint8_t* memory) const;
  void multiply(const Run& run, Range rows, const QuantizedColumns& weights, Range columns, std::int32_t* acc,
                std::int64_t* totals) const;
  void finish(const Run& run, Range rows, const QuantizedColumns& weights, Range columns, std::int64_t first,
              const std::int32_t* acc) const;

  InnerProductSpec spec_;
  std::string label_;
  Decision decision_;
  DepthPieces pieces_;
  std::vector<std::unique_ptr<Product>> products_;   ///< of whole pieces, and of the last one
  std::int64_t row_block_ = 64, column_block_ = 64;  ///< of a tile

  bool has_parameters_ = false;
  AlignedArray<std::uint8_t> weights_memory_;
  HeldBytes weights_bytes_;
  std::vector<float> bias_;        ///< n; empty where there is none
  std::vector<float> parameters_;  ///< of the activation
};

/// An inner product with the life cycle of DynamicQuantizedInnerProduct and of the C functions: options before
/// parameters, and an internal workspace for runs that bring none. For one thread at a time, except for runs that bring
/// theirs.
class InnerProductContext {
 public:
  explicit InnerProductContext(const InnerProductSpec& spec) : state_(spec) {}

  const InnerProductSpec& spec() const noexcept { return state_.spec(); }
  /// "trans_b" (0 or 1) or "threads". Throws for others, and once parameters are set.
  void set_option(const std::string& key, std::int64_t value);
  void set_parameters(const void* weight, const float* scale, const float* bias, const float* parameters) {
    state_.set_parameters(weight, scale, bias, parameters);
  }
  std::size_t internal_bytes() const noexcept { return state_.held_bytes() + workspace_.size(); }
  std::size_t external_bytes() const { return state_.workspace_bytes(spec().m, threads_of(own_threads())); }
  /// Valid until the next call.
  const char* info();
  void forward(std::int64_t rows, const void* a, const void* b, void* workspace, void* c);

 private:
  Call own_threads() const noexcept { return with_own_threads({}, spec().options.threads); }

  InnerProductState state_;
  std::vector<std::uint8_t> workspace_;
  std::string info_;
};

/// How many parameters an activation has for n columns.
std::int64_t parameter_count(InnerProductActivation activation, std::int64_t n);

/// What the greatest magnitude of a column of float B becomes.
inline float levels_of(const InnerProductOptions& options) { return options.avoid_overflow ? 63.0F : 127.0F; }

constexpr std::int64_t element_bytes(DataType type) {
  return type == DataType::float32 ? 4 : type == DataType::bfloat16 ? 2 : 1;
}

}  // namespace octet::core
