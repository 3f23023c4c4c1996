// Builds ONNX models of Octet's operators, node by node.
//
//   octet::GraphBuilder graph;
//   const auto x = graph.add_input("x", octet::DataType::uint8, {"batch", k});
//   const auto w = graph.add_constant({weights, octet::DataType::int8, {k, n}}, "w");
//   const auto y = graph.add_node({"MatMulInteger", "", "fc1", {{"A", x}, {"B", w}}});
//   graph.add_output(y[0], "y");
//   graph.save("model.onnx");
//
// - Nodes: every operator of the table (`octet ops`), in every version. Inputs have the names of the definition;
//   optional inputs and attributes that are not given are left out, which stands for the definition's defaults.
// - Types and shapes are inferred as each node is added, by the definition that runs it. Whatever is wrong is an
//   octet::Error (invalid_argument) of the call that made it, and leaves the graph as it was.
// - Names: a name that is given must be new, one that is empty is made up. Values and nodes have names of their own.
// - Versions: the import of each domain is added with its first node, and the model gets the lowest IR version that can
//   hold it: that of the release which brought its ONNX opset, or more where types of elements or node metadata need
//   it.
// - Values are made before they are used, so that nodes stand in topological order and no cycle can come about.
//
// What is written passes onnx::checker and strict shape inference (check()), as long as a loaded model did. onnxruntime
// has schemas of its own: docs/schema-differences.md lists where they ask for more, such as zero points.
//
// This header belongs to the static target Octet::onnx (Linux, x86-64), which uses the program's own onnx library.
// Loading a model and check() call register_schemas() once (octet/onnx.hpp, also for threads). Otherwise a builder is
// used by one thread at a time, and different builders have nothing in common.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <octet/lstm_weights.hpp>
#include <octet/octet.hpp>

namespace octet {

/// A value of one graph: a handle, without meaning to any other graph. Default-constructed: absent.
class GraphValue {
 public:
  GraphValue() = default;
  explicit GraphValue(std::uint64_t number) noexcept : number_(number) {}
  bool present() const noexcept { return number_ != 0; }
  /// What stands for the value in flat C; 0 where absent.
  std::uint64_t number() const noexcept { return number_; }

 private:
  std::uint64_t number_ = 0;
};

/// An extent of a value: a number, a symbol such as "batch", or (default-constructed) unknown.
struct GraphDim {
  std::int64_t value = -1;  ///< -1 where not known
  std::string symbol;

  GraphDim() = default;
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  GraphDim(Integer extent) : value(static_cast<std::int64_t>(extent)) {}  // NOLINT(google-explicit-constructor)
  GraphDim(std::string name) : symbol(std::move(name)) {}                 // NOLINT(google-explicit-constructor)
  GraphDim(const char* name) : symbol(name) {}                            // NOLINT(google-explicit-constructor)
};

/// What is known of a value.
struct GraphValueInfo {
  std::string name;
  DataType dtype = DataType::undefined;                      ///< undefined where not known
  std::optional<std::vector<GraphDim>> dims = std::nullopt;  ///< nothing where the rank is not known
};

/// An input of a node: the name of a port of the operator's definition, and the value, or the values of a variadic one.
struct GraphInput {
  std::string port;
  std::vector<GraphValue> values;

  GraphInput(std::string port_name, GraphValue value) : port(std::move(port_name)), values{value} {}
  GraphInput(std::string port_name, std::vector<GraphValue> members)
      : port(std::move(port_name)), values(std::move(members)) {}
};

/// A node to add.
struct GraphNode {
  std::string op_type;
  std::string domain = "com.microsoft";  ///< "" or "ai.onnx" for ONNX's own operators
  // NOLINTBEGIN(readability-redundant-member-init): g++ warns of lists that leave out what has none
  std::string name = {};                ///< empty: made up from op_type
  std::vector<GraphInput> inputs = {};  ///< in any order; an absent value is the same as no entry
  Attributes attributes = {};
  std::map<std::string, std::string> metadata = {
      // NOLINTEND(readability-redundant-member-init)
  };  ///< NodeProto.metadata_props
};

/// The inputs of DynamicQuantizeLSTM, with the shapes of the operator's documentation (docs/operators.md). B,
/// sequence_lens, initial_h, initial_c and P may be absent.
struct DynamicQuantizeLstmInputs {
  GraphValue X, W, R, B, sequence_lens, initial_h, initial_c, P, W_scale, W_zero_point, R_scale, R_zero_point;
};

/// The parameters of a layer, with a toolkit's defaults.
struct DynamicQuantizeLstmParameters {
  std::vector<float> activation_alpha;   ///< in the order of the functions; empty: the functions' own
  std::vector<float> activation_beta;    ///< as above
  std::vector<std::string> activations;  ///< f, g, h for each direction; empty: Sigmoid, Tanh, Tanh
  float clip = 0;                        ///< bound of the arguments of activation functions; 0: none
  std::string direction = "forward";     ///< forward, reverse or bidirectional
  std::int64_t hidden_size = 0;          ///< number of cells; 0: that of R, whose shape must tell it
  bool input_forget = false;             ///< couples the input and forget gates
  bool training = true;                  ///< the training layer keeps what a backward pass needs
  float lda_coeff = 1;                   ///< factor of the derivative of X in a backward pass
};

struct DynamicQuantizeLstmOutputs {
  GraphValue Y, Y_h, Y_c;
};

/// Keys of NodeProto.metadata_props that DynamicQuantizeLSTM nodes carry for the training layer. Inference ignores
/// them. Training is "1" or "0"; the coefficient is decimal text that gives back the same float.
inline constexpr const char* kTrainingKey = "octet.training";
inline constexpr const char* kLdaCoeffKey = "octet.lda_coeff";

namespace onnx_side {
struct GraphState;
}

class GraphBuilder {
 public:
  /// ONNX's opset of a new model: the newest that onnxruntime 1.24 reads with its IR version, 10.
  static constexpr std::int64_t kDefaultOpset = 21;
  /// From which size on constants go to a file of their own.
  static constexpr std::uint64_t kExternalDataThreshold = std::uint64_t{1} << 20;

  /// Starts an empty model that imports this opset of ai.onnx.
  explicit GraphBuilder(std::int64_t opset_version = kDefaultOpset);
  /// Goes on from a serialized ModelProto (at most 2^31-1 bytes). `directory` is where its external data lies, empty
  /// for the current one. Data in files is not read before save(), so that it may be of any size.
  static GraphBuilder from_model(const void* model, std::size_t size, const std::string& directory = {});
  static GraphBuilder from_file(const std::string& path);
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;

  /// An input of the graph. Its rank must be known: ONNX's checker demands it.
  GraphValue add_input(const std::string& name, DataType dtype, const std::vector<GraphDim>& dims);
  /// A constant (initializer); the data is copied. Strings are not supported.
  GraphValue add_constant(const TensorView& tensor, const std::string& name = {});
  /// A node. Gives all outputs of the definition in its order; optional ones that nothing uses are left out when the
  /// model is written. They are called "<node>/<port>".
  ///
  /// DynamicQuantizeLSTM: hidden_size is written also where it is not given, and clip 0 is not: onnxruntime refuses a
  /// node without the one or with the other.
  std::vector<GraphValue> add_node(const GraphNode& node);
  DynamicQuantizeLstmOutputs add_dynamic_quantize_lstm(const DynamicQuantizeLstmInputs& inputs,
                                                       const DynamicQuantizeLstmParameters& parameters = {},
                                                       const std::string& name = {});
  /// Adds W or R, its scale and its zero point (quantize_lstm_weights, lstm_weights.hpp) as the constants "<name>",
  /// "<name>_scale" and "<name>_zero_point": the three values in this order.
  std::vector<GraphValue> add_constants(const QuantizedLstmTensor& weight, const std::string& name);

  /// Makes a value an output of the graph, called `name` where one is given. An input, a constant, a value that is an
  /// output already, or one of a loaded model that has another name, goes through an Identity node.
  void add_output(GraphValue value, const std::string& name = {});
  /// The value is an output no longer; an error where it is none.
  void remove_output(GraphValue value);

  /// The value of a name: of this builder, or of the main graph of a loaded model.
  GraphValue value(const std::string& name) const;
  GraphValueInfo info(GraphValue value) const;
  std::vector<GraphValue> inputs() const;   ///< of the graph, in its order
  std::vector<GraphValue> outputs() const;  ///< as above

  /// Runs ONNX's checker with full shape inference over the model; throws Error with its text.
  void check() const;
  /// The model as a serialized ModelProto with all constants inside, but for external data of a loaded model, which
  /// stays where it is. An error where that takes more than 2^31-1 bytes: save() it then.
  std::string serialize() const;
  /// Writes the model to a file, and constants of at least `external_data_threshold` bytes to "<path>.data". External
  /// data of a loaded model is copied there too, but stays where it is when that is a file of the same folder (other
  /// than "<path>.data" itself). Files are replaced when all is written.
  void save(const std::string& path, std::uint64_t external_data_threshold = kExternalDataThreshold) const;

 private:
  explicit GraphBuilder(std::unique_ptr<onnx_side::GraphState> state);
  std::unique_ptr<onnx_side::GraphState> state_;
};

}  // namespace octet
