// The elements of a model's tensors, wherever they are stored.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace octet::onnx_side {

/// Where the elements of a tensor with external data lie: in a file in the model's folder or below.
struct Place {
  std::filesystem::path location;
  std::uint64_t offset = 0;

  /// Throws Error where the tensor names no such file.
  explicit Place(const onnx::TensorProto& tensor);
  /// The file at that place; a failed stream where it is no ordinary file (reading a pipe could last for ever).
  std::ifstream open(const std::filesystem::path& folder) const;
};

/// Bytes of a tensor's elements, 4-bit ones packed; throws Error where they cannot lie in memory.
std::uint64_t byte_count(const onnx::TensorProto& tensor);

struct TensorData {
  std::vector<std::int64_t> dims;
  std::unique_ptr<unsigned char[]> data;  ///< never null
};

/// Reads a tensor as Octet takes it: dense, row-major, 4-bit elements two to a byte. `directory` is the model's, for
/// external data. Throws Error.
TensorData read_tensor(const onnx::TensorProto& tensor, const std::filesystem::path& directory);

/// The numbers that a Constant node stands for, whichever of its attributes has them, as a tensor of its output's name;
/// nothing where it is another node, or stands for strings or a sparse tensor.
std::optional<onnx::TensorProto> constant_of(const onnx::NodeProto& node);

/// Reads external data of a few bytes, where it can be read, into the initializers, and gives what they were before, by
/// index.
std::vector<std::pair<int, onnx::TensorProto>> load_small_tensors(onnx::GraphProto& graph,
                                                                  const std::filesystem::path& directory);

}  // namespace octet::onnx_side
