// The elements of a model's tensors, wherever they are stored.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace octet::cli {

struct ModelTensor {
  std::vector<std::int64_t> dims;
  std::unique_ptr<unsigned char[]> data;  ///< never null
};

/// Reads a tensor as Octet takes it: dense, row-major, 4-bit elements two to a byte. `directory` is the model's, for
/// elements in files of their own, which must lie in it or below.
ModelTensor read_tensor(const onnx::TensorProto& tensor, const std::filesystem::path& directory);

}  // namespace octet::cli
