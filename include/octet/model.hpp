// Runs ONNX models of Octet's operators, without onnxruntime.
//
//   const octet::Model model = octet::Model::from_file("model.onnx");
//   const std::vector<octet::ModelTensor> outputs = model.run({octet::TensorView(x, octet::DataType::float32, dims)});
//
// What runs: every operator of the table (`octet ops`) in the version that the model imports, and ONNX's Cast, Concat,
// Constant, Gather, Identity, Reshape, Shape, Slice, Squeeze, Transpose and Unsqueeze around them. A model with
// anything else is refused when it is loaded, by an error (not_implemented) that names every such node. Numbers are
// those of the operators' documentation, the same ones that the ONNX Runtime plugin gives.
//
// Belongs to the static target Octet::onnx, which uses the program's own onnx library; flat C is in octet/graph.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <octet/graph_builder.hpp>
#include <octet/octet.hpp>

namespace octet {

namespace onnx_side {
struct ModelState;
}

/// A tensor that owns its elements: dense, row-major, 4-bit elements two to a byte.
struct ModelTensor {
  DataType dtype = DataType::undefined;
  std::vector<std::int64_t> dims;
  std::vector<unsigned char> data;

  TensorView view() const { return {data.data(), dtype, dims}; }
  template <class T>
  const T* as() const noexcept {
    return reinterpret_cast<const T*>(data.data());
  }
};

/// A loaded model. Immutable: any number of threads may run one object at the same time. Movable, not copyable.
class Model {
 public:
  /// Loads a serialized ModelProto, whose external data lies in `directory` (empty: the current one). It is read, with
  /// all constants, during the call; operators are made with these options. Throws Error.
  static Model from_bytes(const void* model, std::size_t size, const std::string& directory = {},
                          const Options& options = {});
  static Model from_file(const std::string& path, const Options& options = {});
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  /// Names, types and extents as the model declares them, in its order.
  const std::vector<GraphValueInfo>& inputs() const;
  const std::vector<GraphValueInfo>& outputs() const;

  /// Computes all outputs. `inputs` are in the order of inputs(); they must have the declared types and extents, those
  /// of one symbol the same. An input that has an initializer may be absent.
  std::vector<ModelTensor> run(const std::vector<TensorView>& inputs, const Call& call = {}) const;

  /// Bytes that the model holds for values between its nodes, of all runs that went on at the same time. A value's
  /// memory serves others after its last use, and later runs, so that runs of the same extents take none anew.
  std::size_t memory() const;

 private:
  explicit Model(std::unique_ptr<onnx_side::ModelState> state);
  std::unique_ptr<onnx_side::ModelState> state_;
};

}  // namespace octet
