// Tensors that come from a C caller: each number is checked before anything is computed with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/octet.hpp>

#include "provider/core/infer.hpp"

namespace octet::c_api {

using Dims = std::vector<std::int64_t>;
using Bytes = std::vector<unsigned char>;

/// A node has no more inputs or outputs than this.
inline constexpr std::uint64_t kMaxPorts = 65536;

// `port` is "QGemm 'fc1': input 'A'", with which the texts of errors begin.

DataType checked_type(const std::string& port, std::int32_t dtype);

/// Copies the extents, each of which must be at least `least`.
Dims checked_dims(const std::string& port, const std::int64_t* dims, std::int32_t rank, std::int64_t least);

/// Refuses a buffer that is smaller than needed, or null where bytes are needed.
void check_buffer(const std::string& port, const void* data, std::uint64_t size_bytes, std::uint64_t needed);

Bytes copy_of(const void* data, std::uint64_t size_bytes);

/// Element `index` of a list that grows up to it.
template <class T>
T& grown(std::vector<T>& list, std::uint64_t index) {
  if (list.size() <= index) list.resize(index + 1);
  return list[index];
}

/// One tensor of a call; absent where the type is undefined.
struct Tensor {
  DataType type = DataType::undefined;
  Dims dims;
  void* data = nullptr;
  Bytes own;  ///< where the call itself keeps the data

  TensorView view() const { return type == DataType::undefined ? TensorView() : TensorView(data, type, dims); }
};

std::vector<TensorView> views(const std::vector<Tensor>& tensors);

}  // namespace octet::c_api
