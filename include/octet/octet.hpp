// Octet: 8-bit ONNX operators on the CPU, called from C++.
//
// One object per node: `octet::Operator` is built once from a node description (operator, attributes, constant inputs),
// packs constant weights, and is then run any number of times with any shapes that the schema allows.
//
//   octet::Node node;
//   node.op_type = "MatMulInteger";  node.domain = "";  node.opset_version = 10;
//   node.inputs = {{octet::DataType::uint8}, {octet::DataType::int8, {{k, n}}, weights}};
//   octet::Operator product(node);
//   product.run({octet::TensorView(a, octet::DataType::uint8, a_dims)},
//               {octet::TensorView(y, octet::DataType::int32, y_dims)});
//
// Conventions that hold everywhere:
// - Tensors are dense, row-major, in host memory, of any alignment. 4-bit elements are packed two to a byte, the first
//   in the low half.
// - Results are exact: integer sums are exact modulo 2^32, and outputs equal the operator's formula (`octet ops`,
//   docs/operators.md) bit for bit, or within the error stated there where it has an exponential. The bits are the same
//   whatever the CPU, the number of threads and the shape (but for Options::accuracy "fast").
// - Nothing is owned that is passed in, except where said: constant inputs are copied or packed by the constructor.
// - Errors are thrown as octet::Error. A call that throws leaves the outputs unspecified and everything else unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <octet/export.h>

namespace octet {

/// Element types; the numbers are those of onnx::TensorProto::DataType.
enum class DataType : std::int32_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
  float6e2m3 = 27,
  float6e3m2 = 28,
};

/// "float", "uint8", ...: the name inside ONNX's "tensor(...)".
OCTET_API const char* data_type_name(DataType type) noexcept;

/// What kind of thing went wrong. The numbers are those of the C ABI.
enum class ErrorCode : std::int32_t {
  ok = 0,
  invalid_argument = 1,  ///< the node, a tensor, an attribute or an option does not fit the operator's definition
  not_implemented = 2,   ///< valid, but no kernel of this version computes it
  out_of_memory = 3,
  internal = 4,  ///< a backend failed where it should not; the text says which
};

/// The one exception type of Octet. The text names operator, node and port, what was given and what was expected:
/// "QGemm 'fc1': input 'b_zero_point' has 3 elements, expected 1 or N=32".
class OCTET_API Error : public std::exception {
 public:
  Error(ErrorCode code, std::string text) : code_(code), text_(std::move(text)) {}
  ErrorCode code() const noexcept { return code_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorCode code_;
  std::string text_;
};

/// A tensor that somebody else owns: element type, extents and data. Neither data nor dims are copied; both must live
/// through the call. An absent optional input or output is a default-constructed view.
struct TensorView {
  void* data = nullptr;  ///< may be null where the tensor has no elements, or is constant and known from construction
  DataType dtype = DataType::undefined;
  const std::int64_t* dims = nullptr;  ///< `rank` extents, outermost first; null for a scalar
  std::int32_t rank = 0;

  TensorView() = default;
  TensorView(const void* data_, DataType dtype_, const std::int64_t* dims_, std::int32_t rank_)
      : data(const_cast<void*>(data_)), dtype(dtype_), dims(dims_), rank(rank_) {}
  /// The extents are not copied: `dims_` must outlive the view.
  TensorView(const void* data_, DataType dtype_, const std::vector<std::int64_t>& dims_)
      : TensorView(data_, dtype_, dims_.data(), static_cast<std::int32_t>(dims_.size())) {}

  bool present() const noexcept { return dtype != DataType::undefined; }
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data);
  }
};

/// What is known of a node's input or output when the operator is built.
struct ValueInfo {
  DataType dtype = DataType::undefined;  ///< undefined: the optional input or output is absent
  /// Extents, -1 where one is not known yet; nothing where not even the rank is known. Required for a constant.
  std::optional<std::vector<std::int64_t>> dims = std::nullopt;
  /// Data of a constant input, or null. Read by the constructor only. A constant input needs no data at run time.
  const void* constant = nullptr;
};

/// An attribute's value: INT, FLOAT, STRING, INTS, FLOATS or STRINGS.
using AttributeValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                                    std::vector<std::string>>;
using Attributes = std::map<std::string, AttributeValue>;

/// One node of an ONNX graph.
struct Node {
  std::string op_type;
  std::string domain = "com.microsoft";  ///< "" or "ai.onnx" for ONNX's own operators
  std::int64_t opset_version = 1;        ///< of `domain`: the newest definition up to this version is meant
  std::string name;                      ///< used in messages only
  Attributes attributes;
  std::vector<ValueInfo> inputs;
  /// Outputs, where something is known or wanted of them (an absent optional output, a declared type). May be empty.
  std::vector<ValueInfo> outputs;
};

/// How an operator is to run. Numbers never depend on threads, nor on the backend where the accuracy is "exact".
struct Options {
  /// Threads that one run may use where the caller lends no parallel_for, 1 to 1024: 1 (the default) starts none, and
  /// none uses more than there are processors.
  std::int32_t threads = 1;
  /// "auto", or one of "onednn", "vector", "eigen" to allow nothing else (an error where that one cannot do it).
  std::string backend = "auto";
  /// "exact", or "fast": allows an operator other arithmetic where its documentation says so.
  std::string accuracy = "exact";
  /// Scales of DynamicQuantizeLSTM's activations: "per_row", one for each row of X and of the state, so that a
  /// sequence's numbers do not depend on the batch; or "per_tensor", one for X and one at each step for all states, as
  /// onnxruntime has.
  std::string lstm_quantization = "per_row";
  /// Lets DynamicQuantizeMatMul quantize each row of A (all but its last axis) by its own range, as
  /// octet/inner_product.hpp defines it, and not the whole tensor by one, as onnxruntime does: a row's numbers then do
  /// not depend on the other rows.
  bool rowwise = false;
};

/// What the caller lends to one run.
struct Call {
  using Task = void (*)(void* argument, std::size_t index);
  /// Runs task(argument, i) for every i in [0, count), in any order, on up to `threads` threads, and returns when all
  /// are done. Null: the operator's own `threads` option applies. Tasks do not throw.
  void (*parallel_for)(void* context, std::size_t count, Task task, void* argument) = nullptr;
  void* context = nullptr;
  std::int32_t threads = 1;
  /// About how long parallel_for takes beyond its tasks. Work is cut only where each part takes twice as long.
  std::int32_t fork_nanoseconds = 4000;
};

/// Which code computes a node for given shapes, and why.
struct Decision {
  std::string backend;               ///< "onednn", "vector", "eigen" or "none" (nothing to compute)
  std::string implementation;        ///< e.g. "brg_matmul:avx512_core_vnni" or "product:avx512_core_vnni"
  std::vector<std::string> reasons;  ///< one line for each candidate that was passed over, and for the choice
};

namespace core {
class OperatorState;
}

/// An operator of Octet's table, ready to run. Immutable after construction: any number of threads may call one object
/// at the same time. Movable, not copyable.
class OCTET_API Operator {
 public:
  /// Checks the node against its definition, and prepares constant inputs.
  explicit Operator(const Node& node, const Options& options = {});
  ~Operator();
  Operator(Operator&&) noexcept;
  Operator& operator=(Operator&&) noexcept;

  /// Element type and extents of each output for inputs of these types and extents (data is not looked at).
  std::vector<ValueInfo> infer(const std::vector<TensorView>& inputs) const;

  /// Computes the outputs. Their dtype and dims must be those that infer() gives; an absent optional output is a
  /// default-constructed view. Outputs must not overlap inputs, but for one that is an input's memory where the
  /// operator's documentation allows it.
  void run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs, const Call& call = {}) const;
  void run(const TensorView* inputs, std::size_t num_inputs, const TensorView* outputs, std::size_t num_outputs,
           const Call& call = {}) const;

  /// The decision for inputs of these types and extents.
  Decision explain(const std::vector<TensorView>& inputs) const;

  /// For the adapters of this library.
  const core::OperatorState& state() const;

 private:
  std::unique_ptr<core::OperatorState> state_;
};

/// Version of this library, "major.minor.patch".
OCTET_API const char* version() noexcept;

/// The instruction set that Octet uses in this process, e.g. "avx512_core_vnni": what the CPU has, capped by the
/// environment variable OCTET_MAX_CPU_ISA (AVX2, AVX2_VNNI, AVX512_CORE, AVX512_CORE_VNNI, AVX512_CORE_AMX; read once).
/// Throws where the CPU lacks AVX2.
OCTET_API const char* cpu_isa();

}  // namespace octet
