#include "provider/c_api/tensor.hpp"

#include "provider/c_api/error.hpp"

namespace octet::c_api {
namespace {

constexpr std::int32_t kMaxRank = 64;

}  // namespace

DataType checked_type(const std::string& port, std::int32_t dtype) {
  const auto type = static_cast<DataType>(dtype);
  if (core::bit_width(type) == 0)
    refuse(port + " has the element type " + std::to_string(dtype) + ", which is none that a tensor of Octet can have");
  return type;
}

Dims checked_dims(const std::string& port, const std::int64_t* dims, std::int32_t rank, std::int64_t least) {
  if (rank < 0 || rank > kMaxRank)
    refuse(port + " has rank " + std::to_string(rank) + ", expected 0 to " + std::to_string(kMaxRank));
  if (rank == 0) return {};
  if (dims == nullptr) refuse(port + " has rank " + std::to_string(rank) + ", but its 'dims' is null");
  for (std::int32_t d = 0; d < rank; ++d)
    if (dims[d] < least) refuse(port + " has the extent " + std::to_string(dims[d]) + " at axis " + std::to_string(d));
  return Dims(dims, dims + rank);
}

void check_buffer(const std::string& port, const void* data, std::uint64_t size_bytes, std::uint64_t needed) {
  if (needed == 0) return;
  if (data == nullptr) refuse(port + " has no data");
  if (size_bytes < needed)
    refuse(port + " has a buffer of " + std::to_string(size_bytes) + " bytes, expected at least " +
           std::to_string(needed));
}

Bytes copy_of(const void* data, std::uint64_t size_bytes) {
  const auto* first = static_cast<const unsigned char*>(data);
  return size_bytes == 0 ? Bytes() : Bytes(first, first + size_bytes);
}

std::vector<TensorView> views(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.view());
  return result;
}

}  // namespace octet::c_api
