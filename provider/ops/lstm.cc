// The long short-term memory with 8-bit weights.
#include <algorithm>
#include <cctype>
#include <limits>

#include "provider/core/infer.hpp"
#include "provider/ops/lstm.hpp"
#include "provider/ops/ops.hpp"

namespace octet::core {
namespace {

using PO = PortOption;

using Port = LstmPorts;

Dim number_of_directions(const InferContext& context) {
  const std::string& direction = *context.attribute<std::string>("direction");
  if (direction == "bidirectional") return 2;
  if (direction != "forward" && direction != "reverse")
    context.fail("attribute 'direction' is '" + direction + "', expected forward, reverse or bidirectional");
  return 1;
}

/// Dimension d of input i, where it is known to have that rank.
Dim extent(const InferContext& context, std::size_t i, std::size_t rank, std::size_t d) {
  const Shape* shape = context.input_shape(i);
  return shape && shape->size() == rank ? (*shape)[d] : Dim();
}

Dim times(std::int64_t factor, const Dim& dim) { return dim.known() ? Dim(factor * dim.value) : Dim(); }

Dim hidden_size(const InferContext& context) {
  if (const auto* given = context.attribute<std::int64_t>("hidden_size")) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (*given < 1 || *given > kMost)
      context.fail("attribute 'hidden_size' is " + std::to_string(*given) + ", expected 1 to " + std::to_string(kMost));
    return *given;
  }
  Dim hidden = either(extent(context, Port::r, 3, 1), extent(context, Port::initial_h, 3, 2));
  for (const std::size_t i : {Port::r, Port::w}) {
    const Dim gates = extent(context, i, 3, 2);
    if (!hidden.known() && gates.known() && gates.value % 4 == 0) hidden = gates.value / 4;
  }
  return hidden;
}

void check_activations(const InferContext& context, const Dim& directions) {
  const auto* names = context.attribute<std::vector<std::string>>("activations");
  if (names == nullptr) return;
  const auto expected = static_cast<std::size_t>(3 * directions.value);
  if (names->size() != expected)
    context.fail("attribute 'activations' has " + std::to_string(names->size()) + " entries, expected " +
                 std::to_string(expected));
  for (const std::string& name : *names)
    if (!find_lstm_activation(name))
      context.fail("attribute 'activations' names '" + name + "', which is no activation function");
}

/// One element for each direction, or for each direction and gate column.
void check_parameter(const InferContext& context, std::size_t i, const Dim& directions, const Dim& gates) {
  const Shape* given = context.input_shape(i);
  if (given == nullptr) return;
  const bool fits = (given->size() == 1 || given->size() == 2) && !differ((*given)[0], directions) &&
                    (given->size() == 1 || !differ((*given)[1], gates));
  if (!fits)
    context.fail_input(i, "has shape " + to_string(*given) +
                              ", expected [num_directions]=" + to_string(Shape{directions}) +
                              " or [num_directions,4*hidden_size]=" + to_string(Shape{directions, gates}));
}

void infer_lstm(InferContext& context) {
  const Dim directions = number_of_directions(context);
  check_activations(context, directions);
  const Dim hidden = hidden_size(context);
  const Dim sequence = extent(context, Port::x, 3, 0);
  const Dim input = either(extent(context, Port::x, 3, 2), extent(context, Port::w, 3, 1));
  Dim batch = either(extent(context, Port::x, 3, 1), extent(context, Port::sequence_lens, 1, 0));
  batch = either(batch, either(extent(context, Port::initial_h, 3, 1), extent(context, Port::initial_c, 3, 1)));

  const Dim gates = times(4, hidden);
  require_shape(context, Port::x, {sequence, batch, input}, "[seq_length,batch_size,input_size]");
  require_shape(context, Port::w, {directions, input, gates}, "[num_directions,input_size,4*hidden_size]");
  require_shape(context, Port::r, {directions, hidden, gates}, "[num_directions,hidden_size,4*hidden_size]");
  require_shape(context, Port::b, {directions, times(8, hidden)}, "[num_directions,8*hidden_size]");
  require_shape(context, Port::sequence_lens, {batch}, "[batch_size]");
  const Shape state{directions, batch, hidden};
  require_shape(context, Port::initial_h, state, "[num_directions,batch_size,hidden_size]");
  require_shape(context, Port::initial_c, state, "[num_directions,batch_size,hidden_size]");
  require_shape(context, Port::p, {directions, times(3, hidden)}, "[num_directions,3*hidden_size]");
  for (const std::size_t i : {Port::w_scale, Port::w_zero_point, Port::r_scale, Port::r_zero_point})
    check_parameter(context, i, directions, gates);

  context.set_output_shape(0, {sequence, directions, batch, hidden});
  context.set_output_shape(1, state);
  context.set_output_shape(2, state);
}

const char* const kDoc =
    R"(A layer of long short-term memory with 8-bit weights and quantization of the activations at run time. The
gates stand in the order i, o, f, c along the last dimension of W and R. For each direction, each step t of a sequence
and its row x of X, every operation rounded to float32:

    qx, sx, zx = DynamicQuantizeLinear(x)
    qh, sh, zh = DynamicQuantizeLinear(H[t-1])
    gates = f32(sum of (qx - zx) * (W - W_zero_point)) * f32(sx * W_scale) + f32(Wb + Rb)
          + f32(sum of (qh - zh) * (R - R_zero_point)) * f32(sh * R_scale)
    i = f(clip(gates_i + P_i * C[t-1]))
    f = f(clip(gates_f + P_f * C[t-1]))          (input_forget: 1 - i)
    c = g(clip(gates_c))
    C[t] = f * C[t-1] + i * c
    o = f(clip(gates_o + P_o * C[t]))
    H[t] = o * h(C[t])

The integer sums are exact. Sigmoid and Tanh are within 2.6 units in the last place (Sigmoid of less than -87 stays at
1.6e-38), the same bits everywhere. Each row is quantized by its own range, so that a sequence's numbers depend on nothing
but the sequence: not on its neighbours in the batch, its padding, or threads. The option lstm_quantization=per_tensor
quantizes as onnxruntime does on one thread: X once over its first max(sequence_lens) steps, and at each step the states of
all sequences together, where one that is over counts as 0.

The option accuracy=fast rounds x and H[t-1] to bfloat16 instead, where the CPU has AVX512_BF16, the backend vector is
allowed, the weights and their zero points are constant, and lstm_quantization is per_row; elsewhere it changes nothing:

    gates = f32(Wb + Rb) + sum of bf16(x) * (W - W_zero_point) * W_scale
          + sum of bf16(H[t-1]) * (R - R_zero_point) * R_scale

with sums in float32, in the order of k, the second of each pair first, subnormal numbers taken as 0, the scale after the
sum. A sequence's numbers still depend on nothing but the sequence.

Y holds 0 for steps past a sequence's length, and a sequence of
length 0 gives 0 in Y, Y_h and Y_c.)";

std::vector<PortDef> lstm_inputs() {
  return {
      {"X", "T", "The input sequences, [seq_length,batch_size,input_size]."},
      {"W", "T2", "Weights of the input, [num_directions,input_size,4*hidden_size]."},
      {"R", "T2", "Weights of the state, [num_directions,hidden_size,4*hidden_size]."},
      {"B", "T", "Biases Wb and Rb of the gates, [num_directions,8*hidden_size]. Absent: 0.", PO::optional},
      {"sequence_lens", "T1", "Length of each sequence, [batch_size]. Absent: seq_length.", PO::optional},
      {"initial_h", "T", "First state, [num_directions,batch_size,hidden_size]. Absent: 0.", PO::optional},
      {"initial_c", "T", "First cell state, [num_directions,batch_size,hidden_size]. Absent: 0.", PO::optional},
      {"P", "T", "Weights of the peepholes i, o, f, [num_directions,3*hidden_size]. Absent: 0.", PO::optional},
      {"W_scale", "T", "Scale of W, [num_directions] or [num_directions,4*hidden_size]."},
      {"W_zero_point", "T2", "Zero point of W, [num_directions] or [num_directions,4*hidden_size]."},
      {"R_scale", "T", "Scale of R, [num_directions] or [num_directions,4*hidden_size]."},
      {"R_zero_point", "T2", "Zero point of R, [num_directions] or [num_directions,4*hidden_size]."},
  };
}

std::vector<AttributeDef> lstm_attributes() {
  return {
      {"direction", AttributeType::string, "forward, reverse, or bidirectional for both.", false,
       std::string("forward")},
      {"hidden_size", AttributeType::integer, "Number of cells. Absent: taken from R."},
      {"activation_alpha", AttributeType::reals,
       "First parameters of the activation functions that have one, in their order. Where they end, those of ONNX's "
       "operators: LeakyRelu 0.01, HardSigmoid 0.2, others 1."},
      {"activation_beta", AttributeType::reals,
       "Second parameters of the activation functions that have one, in their order. Where they end: HardSigmoid 0.5, "
       "ScaledTanh 1, Affine 0."},
      {"clip", AttributeType::real,
       "The arguments of f, g and h for the gates are clamped to [-clip, clip]. Absent: they are not."},
      {"activations", AttributeType::strings,
       "The functions f, g and h for each direction, in any letter case. Absent: Sigmoid, Tanh, Tanh."},
      {"input_forget", AttributeType::integer, "1: the forget gate is 1 - i.", false, std::int64_t{0}},
  };
}

}  // namespace

std::optional<std::size_t> find_lstm_activation(std::string_view name) noexcept {
  const auto* const found = std::find_if(kLstmActivations.begin(), kLstmActivations.end(), [&](std::string_view known) {
    return std::equal(name.begin(), name.end(), known.begin(), known.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
  });
  if (found == kLstmActivations.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kLstmActivations.begin());
}

void add_lstm_ops(std::vector<OpDef>& ops) {
  OpDef op;
  op.domain = kMicrosoftDomain;
  op.name = "DynamicQuantizeLSTM";
  op.doc = kDoc;
  op.attributes = lstm_attributes();
  op.inputs = lstm_inputs();
  op.outputs = {
      {"Y", "T", "The states of all steps, [seq_length,num_directions,batch_size,hidden_size].", PO::optional},
      {"Y_h", "T", "The last states, [num_directions,batch_size,hidden_size].", PO::optional},
      {"Y_c", "T", "The last cell states, [num_directions,batch_size,hidden_size].", PO::optional}};
  op.type_constraints = {{"T", {DataType::float32}, "Type of inputs, outputs and scales."},
                         {"T1", {DataType::int32}, "Type of sequence_lens."},
                         {"T2", {DataType::uint8, DataType::int8}, "Type of the weights and their zero points."}};
  op.family = Family::lstm;
  op.infer = infer_lstm;
  ops.push_back(std::move(op));
}

}  // namespace octet::core
