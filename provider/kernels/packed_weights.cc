#include "provider/kernels/packed_weights.hpp"

#include <atomic>
#include <cstring>
#include <functional>
#include <string_view>

#include "primitives/vector/kernels.hpp"
#include "provider/kernels/shared_weights.hpp"

namespace octet::core {
namespace {

std::atomic<std::size_t> bytes_of_all{0};

}  // namespace

HeldBytes::HeldBytes(std::size_t bytes) noexcept : bytes_(bytes) {
  bytes_of_all.fetch_add(bytes_, std::memory_order_relaxed);
}

HeldBytes::~HeldBytes() { bytes_of_all.fetch_sub(bytes_, std::memory_order_relaxed); }

std::size_t HeldBytes::total() noexcept { return bytes_of_all.load(std::memory_order_relaxed); }

PackedWeights::PackedWeights(const TensorView& b, std::int64_t matrices, std::int64_t k, std::int64_t n,
                             MatrixStrides strides)
    : matrices_(matrices),
      k_(k),
      n_(n),
      held_(static_cast<std::size_t>(matrices * vector::padded_k(k) * vector::padded_n(n))),
      packed_(aligned_array<std::int8_t>(held_.bytes())),
      column_sums_(static_cast<std::size_t>(matrices * vector::padded_n(n))) {
  const std::uint8_t flip = b.dtype == DataType::uint8 ? 0x80 : 0;
  for (std::int64_t i = 0; i < matrices; ++i)
    vector::kernels().matmul.pack(b.as<const std::uint8_t>() + i * k * n, strides.row, strides.column, k, n, flip,
                                  const_cast<std::int8_t*>(data(i)), const_cast<std::int32_t*>(column_sum(i)));
  hash_ = std::hash<std::string_view>()({reinterpret_cast<const char*>(packed_.get()), held_.bytes()});
}

const std::int8_t* PackedWeights::data(std::int64_t matrix) const noexcept {
  return packed_.get() + matrix * vector::padded_k(k_) * vector::padded_n(n_);
}

const std::int32_t* PackedWeights::column_sum(std::int64_t matrix) const noexcept {
  return column_sums_.data() + matrix * vector::padded_n(n_);
}

bool PackedWeights::operator==(const PackedWeights& other) const noexcept {
  return matrices_ == other.matrices_ && k_ == other.k_ && n_ == other.n_ &&
         std::memcmp(packed_.get(), other.packed_.get(), held_.bytes()) == 0;
}

std::shared_ptr<const PackedWeights> pack_weights(const TensorView& b, std::int64_t matrices, std::int64_t k,
                                                  std::int64_t n, MatrixStrides strides) {
  return shared(std::make_shared<const PackedWeights>(b, matrices, k, n, strides));
}

}  // namespace octet::core
