// The product by oneDNN's matmul primitive: u8 x packed s8 -> s32, no zero points, no scales. One primitive serves
// every pointer and every value; rows come in blocks, so that a handful of primitives serves every M.
#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "primitives/onednn.hpp"
#include "primitives/vector/kernels.hpp"
#include "provider/core/cpu.hpp"
#include "provider/core/product.hpp"
#include "provider/core/scratch.hpp"

namespace octet::core {
namespace {

using onednn::check;

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
    dnnl_memory_desc_t a = nullptr, b = nullptr, acc = nullptr;
    const dnnl_dims_t a_dims = {key.rows, key.k}, b_dims = {key.k, key.columns}, acc_dims = {key.rows, key.columns};
    const dnnl_dims_t a_strides = {key.k, 1}, acc_strides = {key.acc_stride, 1};
    check(dnnl_memory_desc_create_with_strides(&a, 2, a_dims, dnnl_u8, a_strides), "describing A");
    check(dnnl_memory_desc_create_with_tag(&b, 2, b_dims, dnnl_s8, dnnl_BA16a64b4a), "describing packed B");
    check(dnnl_memory_desc_create_with_strides(&acc, 2, acc_dims, dnnl_s32, acc_strides), "describing the sums");
    dnnl_primitive_attr_t attributes = nullptr;
    check(dnnl_primitive_attr_create(&attributes), "creating attributes");
    check(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user),
          "setting the scratchpad mode");
    const dnnl_status_t status =
        dnnl_matmul_primitive_desc_create(&descriptor_, onednn::engine(), a, b, nullptr, acc, attributes);
    dnnl_primitive_attr_destroy(attributes);
    for (dnnl_memory_desc_t desc : {a, b, acc}) dnnl_memory_desc_destroy(desc);
    if (status != dnnl_success) {
      descriptor_ = nullptr;
      return;
    }
    const char* name = nullptr;
    check(dnnl_primitive_desc_query(descriptor_, dnnl_query_impl_info_str, 0, &name), "asking for the implementation");
    implementation_ = name;
    if (usable()) check(dnnl_primitive_create(&primitive_, descriptor_), "creating a matmul");
  }
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;
  ~Primitive() {
    for (Arguments* arguments : free_) {
      for (dnnl_exec_arg_t& argument : arguments->list) dnnl_memory_destroy(argument.memory);
      dnnl_stream_destroy(arguments->stream);
      delete arguments;
    }
    if (primitive_ != nullptr) dnnl_primitive_destroy(primitive_);
    if (descriptor_ != nullptr) dnnl_primitive_desc_destroy(descriptor_);
  }

  /// oneDNN's reference loops create without an error, and are hundreds of times too slow.
  bool usable() const { return !implementation_.empty() && implementation_.rfind("ref", 0) != 0; }
  const std::string& implementation() const noexcept { return implementation_; }
  const PrimitiveKey& key() const noexcept { return key_; }

  void run(const std::uint8_t* a, const std::int8_t* b, std::int32_t* acc) {
    Arguments* arguments = take();
    check(dnnl_memory_set_data_handle(arguments->list[0].memory, const_cast<std::uint8_t*>(a)), "setting A");
    check(dnnl_memory_set_data_handle(arguments->list[1].memory, const_cast<std::int8_t*>(b)), "setting B");
    check(dnnl_memory_set_data_handle(arguments->list[2].memory, acc), "setting the sums");
    const Scratch scratch(arguments->scratch_bytes);
    check(dnnl_memory_set_data_handle(arguments->list[3].memory, scratch.bytes()), "setting the scratchpad");
    {
      const onednn::OneThread one_thread;
      check(dnnl_primitive_execute(primitive_, arguments->stream, 4, arguments->list.data()), "running a matmul");
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(arguments);
  }

 private:
  struct Arguments {
    std::array<dnnl_exec_arg_t, 4> list{};
    dnnl_stream_t stream = nullptr;
    std::size_t scratch_bytes = 0;
  };

  Arguments* take() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        Arguments* arguments = free_.back();
        free_.pop_back();
        return arguments;
      }
    }
    auto arguments = std::make_unique<Arguments>();
    const std::array<std::pair<int, dnnl_query_t>, 4> roles = {{{DNNL_ARG_SRC, dnnl_query_src_md},
                                                                {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                                                                {DNNL_ARG_DST, dnnl_query_dst_md},
                                                                {DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md}}};
    for (std::size_t i = 0; i < roles.size(); ++i) {
      const const_dnnl_memory_desc_t desc = dnnl_primitive_desc_query_md(descriptor_, roles[i].second, 0);
      arguments->list[i].arg = roles[i].first;
      check(dnnl_memory_create(&arguments->list[i].memory, desc, onednn::engine(), DNNL_MEMORY_NONE),
            "creating a memory");
      if (roles[i].first == DNNL_ARG_SCRATCHPAD) arguments->scratch_bytes = dnnl_memory_desc_get_size(desc);
    }
    check(dnnl_stream_create(&arguments->stream, onednn::engine(), dnnl_stream_default_flags), "creating a stream");
    return arguments.release();
  }

  PrimitiveKey key_;
  dnnl_primitive_desc_t descriptor_ = nullptr;
  dnnl_primitive_t primitive_ = nullptr;
  std::string implementation_;
  std::mutex mutex_;
  std::vector<Arguments*> free_;
};

struct KeyHash {
  std::size_t operator()(const PrimitiveKey& key) const noexcept {
    std::size_t hash = 0;
    for (const std::int64_t value : {key.rows, key.columns, key.k, key.acc_stride})
      hash = hash * 1000003 + static_cast<std::size_t>(value);
    return hash;
  }
};

/// Primitives in use anywhere in the process, each once. Never destroyed: see Scratch.
class PrimitiveTable {
 public:
  static PrimitiveTable& instance() {
    static auto* table = new PrimitiveTable();
    return *table;
  }

  std::shared_ptr<Primitive> get(const PrimitiveKey& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::weak_ptr<Primitive>& slot = primitives_[key];
    auto primitive = slot.lock();
    if (primitive == nullptr) {
      primitive = std::make_shared<Primitive>(key);
      slot = primitive;
    }
    return primitive;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<PrimitiveKey, std::weak_ptr<Primitive>, KeyHash> primitives_;
};

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
    auto made = PrimitiveTable::instance().get(key);
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
  auto first = PrimitiveTable::instance().get({kRowStep, columns, request.k, vector::padded_n(columns)});
  if (!first->usable()) return Refusal{"oneDNN offers only '" + first->implementation() + "'"};
  return std::make_unique<OnednnProduct>(request, cached_columns(request.n, request.k), std::move(first));
}

}  // namespace octet::core
