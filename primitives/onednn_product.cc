// The product by oneDNN's matmul primitive: u8 x packed s8 -> s32, no zero points, no scales. One primitive serves
// every pointer and every value; rows come in blocks, so that a handful of primitives serves every M.
#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "primitives/onednn.hpp"
#include "primitives/vector/kernels.hpp"
#include "provider/core/cpu.hpp"
#include "provider/core/product.hpp"
#include "provider/core/scratch.hpp"
#include "provider/core/weak_table.hpp"

namespace octet::core {
namespace {

using onednn::check;
using onednn::create;
using onednn::Handle;

struct PrimitiveKey {
  std::int64_t rows, columns, k, acc_stride;
  bool operator==(const PrimitiveKey& other) const noexcept {
    return rows == other.rows && columns == other.columns && k == other.k && acc_stride == other.acc_stride;
  }
};

/// One created primitive with a free list of argument sets, so that a run creates nothing.
class Primitive {
 public:
  explicit Primitive(const PrimitiveKey& key) : key_(key) {
    const onednn::OneThread one_thread;
    const dnnl_dims_t a_dims = {key.rows, key.k}, b_dims = {key.k, key.columns}, acc_dims = {key.rows, key.columns};
    const dnnl_dims_t a_strides = {key.k, 1}, acc_strides = {key.acc_stride, 1};
    const auto a = create("describing A", dnnl_memory_desc_create_with_strides, 2, a_dims, dnnl_u8, a_strides);
    const auto b = create("describing packed B", dnnl_memory_desc_create_with_tag, 2, b_dims, dnnl_s8, dnnl_BA16a64b4a);
    const auto acc =
        create("describing the sums", dnnl_memory_desc_create_with_strides, 2, acc_dims, dnnl_s32, acc_strides);
    const auto attributes = create("creating attributes", dnnl_primitive_attr_create);
    check(dnnl_primitive_attr_set_scratchpad_mode(attributes.get(), dnnl_scratchpad_mode_user),
          "setting the scratchpad mode");
    dnnl_primitive_desc_t descriptor = nullptr;
    if (dnnl_matmul_primitive_desc_create(&descriptor, onednn::engine(), a.get(), b.get(), nullptr, acc.get(),
                                          attributes.get()) != dnnl_success)
      return;
    descriptor_.reset(descriptor);
    const char* name = nullptr;
    check(dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &name), "asking for the implementation");
    implementation_ = name;
    if (usable()) primitive_ = create("creating a matmul", dnnl_primitive_create, descriptor);
  }

  /// oneDNN's reference loops create without an error, and are hundreds of times too slow.
  bool usable() const { return !implementation_.empty() && implementation_.rfind("ref", 0) != 0; }
  const std::string& implementation() const noexcept { return implementation_; }
  const PrimitiveKey& key() const noexcept { return key_; }

  void run(const std::uint8_t* a, const std::int8_t* b, std::int32_t* acc) {
    Lease arguments(*this);
    const Scratch scratch(arguments->scratch_bytes);
    arguments->set(0, const_cast<std::uint8_t*>(a), "setting A");
    arguments->set(1, const_cast<std::int8_t*>(b), "setting B");
    arguments->set(2, acc, "setting the sums");
    arguments->set(3, scratch.bytes(), "setting the scratchpad");
    const onednn::OneThread one_thread;
    check(dnnl_primitive_execute(primitive_.get(), arguments->stream.get(), 4, arguments->list.data()),
          "running a matmul");
  }

 private:
  struct Arguments {
    std::array<Handle<dnnl_memory>, 4> memories;
    std::array<dnnl_exec_arg_t, 4> list{};  ///< of the memories
    Handle<dnnl_stream> stream;
    std::size_t scratch_bytes = 0;

    void set(std::size_t i, void* data, const char* what) const {
      check(dnnl_memory_set_data_handle(memories[i].get(), data), what);
    }
  };

  /// Arguments for the time of one run.
  class Lease {
   public:
    explicit Lease(Primitive& primitive) : primitive_(primitive), arguments_(primitive.take()) {}
    ~Lease() {
      const std::lock_guard<std::mutex> lock(primitive_.mutex_);
      primitive_.free_.push_back(std::move(arguments_));  // take() has made room
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Arguments* operator->() const noexcept { return arguments_.get(); }

   private:
    Primitive& primitive_;
    std::unique_ptr<Arguments> arguments_;
  };

  std::unique_ptr<Arguments> take() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Arguments> arguments = std::move(free_.back());
        free_.pop_back();
        return arguments;
      }
    }
    auto arguments = make_arguments();
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.reserve(made_ + 1);
    ++made_;
    return arguments;
  }

  std::unique_ptr<Arguments> make_arguments() const {
    auto arguments = std::make_unique<Arguments>();
    const std::array<std::pair<int, dnnl_query_t>, 4> roles = {{{DNNL_ARG_SRC, dnnl_query_src_md},
                                                                {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                                                                {DNNL_ARG_DST, dnnl_query_dst_md},
                                                                {DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md}}};
    for (std::size_t i = 0; i < roles.size(); ++i) {
      const const_dnnl_memory_desc_t desc = dnnl_primitive_desc_query_md(descriptor_.get(), roles[i].second, 0);
      arguments->memories[i] =
          create("creating a memory", dnnl_memory_create, desc, onednn::engine(), static_cast<void*>(DNNL_MEMORY_NONE));
      arguments->list[i] = {roles[i].first, arguments->memories[i].get()};
      if (roles[i].first == DNNL_ARG_SCRATCHPAD) arguments->scratch_bytes = dnnl_memory_desc_get_size(desc);
    }
    arguments->stream =
        create("creating a stream", dnnl_stream_create, onednn::engine(), unsigned{dnnl_stream_default_flags});
    return arguments;
  }

  PrimitiveKey key_;
  Handle<dnnl_primitive_desc> descriptor_;
  Handle<dnnl_primitive> primitive_;
  std::string implementation_;
  std::mutex mutex_;  ///< guards what follows
  std::vector<std::unique_ptr<Arguments>> free_;
  std::size_t made_ = 0;  ///< sets of arguments, free or not: room for all of them is in free_
};

struct KeyHash {
  std::size_t operator()(const PrimitiveKey& key) const noexcept {
    std::size_t hash = 0;
    for (const std::int64_t value : {key.rows, key.columns, key.k, key.acc_stride})
      hash = hash * 1000003 + static_cast<std::size_t>(value);
    return hash;
  }
};

/// The primitive for a key, each once in the process.
std::shared_ptr<Primitive> primitive_for(const PrimitiveKey& key) {
  static auto* table = new WeakTable<PrimitiveKey, Primitive, KeyHash>();  // never destroyed: see Scratch
  return table->get(key, [](const Primitive&) { return true; }, [&] { return std::make_shared<Primitive>(key); });
}

// Rows that a primitive is made for come in multiples of 16, AMX's tile height.
constexpr std::int64_t kRowStep = 16;
constexpr std::int64_t kRowBlock = 64;
// Up to here our own loop beats a block of 16 rows that is mostly empty.
constexpr std::int64_t kFewRows = 8;

class OnednnProduct final : public Product {
 public:
  OnednnProduct(const ProductRequest& request, std::int64_t column_block, std::shared_ptr<Primitive> first)
      : Product(first->implementation(), kRowBlock, column_block, cpu_isa_level() == Isa::avx512_core_amx ? 800 : 150),
        k_(request.k) {
    primitives_.push_back({first->key(), std::move(first)});
  }

  void run(std::int64_t rows, std::int64_t columns, const std::uint8_t* a, const std::int8_t* b,
           const std::int32_t* start, std::int32_t* acc, std::int64_t acc_stride) const override {
    const std::int64_t tail = rows % kRowStep;
    const std::int64_t whole = rows - tail;
    if (whole > 0) primitive({whole, columns, k_, acc_stride})->run(a, b, acc);
    if (tail > 0) run_tail(tail, columns, a + whole * k_, b, acc + whole * acc_stride, acc_stride);
    if (start == nullptr) return;
    vector::EpilogueTile begun{};
    begun.rows = rows;
    begun.columns = columns;
    begun.acc = acc;
    begun.acc_stride = acc_stride;
    begun.y = acc;
    begun.y_stride = acc_stride;
    begun.column_term = start;
    vector::kernels().matmul.epilogue_s32(begun);
  }

 private:
  void run_tail(std::int64_t rows, std::int64_t columns, const std::uint8_t* a, const std::int8_t* b, std::int32_t* acc,
                std::int64_t acc_stride) const {
    if (rows < kFewRows)
      vector::kernels().matmul.product({rows, columns, k_, a, k_, b, acc, acc_stride, nullptr, 0, {}});
    else
      run_padded(rows, columns, a, b, acc, acc_stride);
  }

  void run_padded(std::int64_t rows, std::int64_t columns, const std::uint8_t* a, const std::int8_t* b,
                  std::int32_t* acc, std::int64_t acc_stride) const {
    const std::int64_t stride = vector::padded_n(columns);
    Layout layout;
    const std::size_t a_at = layout.add(static_cast<std::size_t>(kRowStep * k_));
    const std::size_t acc_at = layout.add(static_cast<std::size_t>(kRowStep * stride) * sizeof *acc);
    const Scratch scratch(layout.total());
    std::uint8_t* a_rows = scratch.bytes() + a_at;
    std::memcpy(a_rows, a, static_cast<std::size_t>(rows * k_));
    std::memset(a_rows + rows * k_, 0, static_cast<std::size_t>((kRowStep - rows) * k_));
    auto* sums = reinterpret_cast<std::int32_t*>(scratch.bytes() + acc_at);
    primitive({kRowStep, columns, k_, stride})->run(a_rows, b, sums);
    for (std::int64_t m = 0; m < rows; ++m) std::copy_n(sums + m * stride, columns, acc + m * acc_stride);
  }

  std::shared_ptr<Primitive> primitive(const PrimitiveKey& key) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [known, made] : primitives_)
      if (known == key) return made;
    auto made = primitive_for(key);
    if (!made->usable())
      throw Error(ErrorCode::internal,
                  "oneDNN offers only '" + made->implementation() + "' for a part of this product");
    primitives_.emplace_back(key, made);
    return made;
  }

  std::int64_t k_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<PrimitiveKey, std::shared_ptr<Primitive>>> primitives_;
};

}  // namespace

Offer<Product> offer_onednn_product(const ProductRequest& request) {
  if (!has_vnni(cpu_isa_level()))
    return Refusal{"oneDNN's u8 x s8 products saturate on " + std::string(isa_name(cpu_isa_level()))};
  if (cpu_isa_level() == Isa::avx512_core_amx && request.m < kFewRows)
    return Refusal{"fewer than " + std::to_string(kFewRows) + " rows leave AMX's tiles empty"};
  const std::int64_t columns = std::min(request.n, cached_columns(request.n, request.k));
  auto first = primitive_for({kRowStep, columns, request.k, vector::padded_n(columns)});
  if (!first->usable()) return Refusal{"oneDNN offers only '" + first->implementation() + "'"};
  return std::make_unique<OnednnProduct>(request, cached_columns(request.n, request.k), std::move(first));
}

}  // namespace octet::core
