#include "provider/training/trained_lstm.hpp"

#include <algorithm>
#include <cmath>

#include "provider/core/infer.hpp"
#include "provider/core/operator_state.hpp"
#include "provider/core/registry.hpp"
#include "provider/ops/lstm_weights.hpp"
#include "provider/ops/ops.hpp"

namespace octet::core {
namespace {

using training::LstmDefinition;

std::string text(const TensorView& tensor) {
  return to_string(Shape(tensor.dims, tensor.dims + std::max(tensor.rank, 0)));
}

/// -1 where memory cannot hold so many floats.
std::int64_t elements(std::initializer_list<std::int64_t> dims) {
  const auto bytes = byte_count(DataType::float32, dims.begin(), dims.size());
  return bytes ? static_cast<std::int64_t>(*bytes / sizeof(float)) : -1;
}

bool is_bidirectional(const LstmDefinition& definition) {
  const auto* direction = find_attribute<std::string>(definition.attributes, "direction");
  return direction != nullptr && *direction == "bidirectional";
}

/// The node that the definition says, without data.
Node node_of(const LstmDefinition& definition) {
  const std::int64_t directions = is_bidirectional(definition) ? 2 : 1, gates = 4 * definition.hidden_size;
  const DataType type = definition.quantization.type;
  const ValueInfo states{DataType::float32, {{directions, -1, definition.hidden_size}}};
  const ValueInfo scale{DataType::float32, {{directions}}}, zero_point{type, {{directions}}};
  const ValueInfo b{DataType::float32, {{directions, 2 * gates}}};
  const ValueInfo p{DataType::float32, {{directions, 3 * definition.hidden_size}}};
  Node node;
  node.op_type = "DynamicQuantizeLSTM";
  node.name = definition.name;
  node.attributes = definition.attributes;
  node.inputs = {{DataType::float32, {{-1, -1, definition.input_size}}},
                 {type, {{directions, definition.input_size, gates}}},
                 {type, {{directions, definition.hidden_size, gates}}},
                 b,
                 {DataType::int32, {{-1}}},
                 states,
                 states,
                 p,
                 scale,
                 zero_point,
                 scale,
                 zero_point};
  return node;
}

/// Throws unless the definition is that of a node which can run, and has as many numbers as it should.
void check_definition(const std::string& label, const LstmDefinition& definition) {
  const auto fail = [&](const std::string& what) { throw Error(ErrorCode::invalid_argument, label + ": " + what); };
  constexpr std::int64_t kMost = std::int64_t{1} << 28;
  for (const auto& [name, size] :
       {std::pair{"input_size", definition.input_size}, {"hidden_size", definition.hidden_size}})
    if (size < 0 || size > kMost)
      fail(std::string(name) + " is " + std::to_string(size) + ", expected 0 to " + std::to_string(kMost));
  const OperatorState checked(node_of(definition), {});
  const std::int64_t directions = is_bidirectional(definition) ? 2 : 1, gates = 4 * definition.hidden_size;
  const auto check = [&](const char* name, const std::vector<float>& values, std::initializer_list<std::int64_t> dims,
                         bool optional) {
    if (optional && values.empty()) return;
    if (static_cast<std::int64_t>(values.size()) != elements(dims))
      fail(std::string("'") + name + "' has " + std::to_string(values.size()) + " elements, expected " +
           to_string(Shape(dims.begin(), dims.end())));
  };
  check("W", definition.w, {directions, definition.input_size, gates}, false);
  check("R", definition.r, {directions, definition.hidden_size, gates}, false);
  check("B", definition.b, {directions, 2 * gates}, true);
  check("P", definition.p, {directions, 3 * definition.hidden_size}, true);
  if (!std::isfinite(definition.lda_coeff))
    fail("lda_coeff is " + std::to_string(definition.lda_coeff) + ", expected a finite number");
}

std::string label_of(const LstmDefinition& definition) {
  return node_label(*find_op(kMicrosoftDomain, "DynamicQuantizeLSTM", 1), definition.name);
}

LstmNode parsed(const LstmDefinition& definition) {
  check_quantization(definition.quantization);
  check_definition(label_of(definition), definition);
  const Node node = node_of(definition);
  const Options options;
  return LstmNode(NodeContext{*find_op(kMicrosoftDomain, node.op_type, 1), node, options, label_of(definition)});
}

template <class T>
T* part(const TensorView& tensor, std::int64_t direction, std::int64_t elements_of_direction) {
  return tensor.present() ? tensor.as<T>() + direction * elements_of_direction : nullptr;
}

void clear(const TensorView& tensor, std::int64_t count) {
  if (tensor.present()) std::fill_n(tensor.as<float>(), count, 0.0F);
}

}  // namespace

TrainedLstm::TrainedLstm(LstmDefinition definition)
    : label_(label_of(definition)),
      node_(parsed(definition)),
      input_(definition.input_size),
      hidden_(definition.hidden_size),
      w_(label_ + ": W", {directions(), input_, 4 * hidden_}, std::move(definition.w), definition.quantization,
         std::move(definition.w_scale), std::move(definition.w_zero_point)),
      r_(label_ + ": R", {directions(), hidden_, 4 * hidden_}, std::move(definition.r), definition.quantization,
         std::move(definition.r_scale), std::move(definition.r_zero_point)),
      b_(std::move(definition.b)),
      p_(std::move(definition.p)),
      b_dims_{directions(), 8 * hidden_},
      p_dims_{directions(), 3 * hidden_},
      training_(definition.training),
      lda_coeff_(definition.lda_coeff) {
  for (std::size_t d = 0; d < node_.directions.size(); ++d) passes_.emplace_back(node_, d, input_, hidden_);
}

void TrainedLstm::fail(const std::string& what) const {
  throw Error(ErrorCode::invalid_argument, label_ + ": " + what);
}

void TrainedLstm::calibrate() {
  w_.check_weights();
  r_.check_weights();
  w_.calibrate();
  r_.calibrate();
}

void TrainedLstm::set_training(bool training) noexcept {
  training_ = training;
  if (training) return;
  stored_ = false;
  for (LstmPass& pass : passes_) pass.release();
}

std::size_t TrainedLstm::stored_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const LstmPass& pass : passes_) bytes += pass.stored_bytes();
  return training_ ? bytes : 0;
}

void TrainedLstm::check(const Tensor& tensor, std::initializer_list<std::int64_t> dims, const char* meaning) const {
  const TensorView& view = tensor.view;
  if (!view.present()) return;
  const auto fail_with = [&](const std::string& what) {
    fail(std::string(tensor.kind) + " '" + tensor.name + "' " + what);
  };
  if (view.dtype != DataType::float32)
    fail_with(std::string("has type ") + data_type_name(view.dtype) + ", expected float");
  if (view.rank < 0 || (view.rank > 0 && view.dims == nullptr)) fail_with("has no extents");
  if (!std::equal(dims.begin(), dims.end(), view.dims, view.dims + view.rank))
    fail_with("has shape " + text(view) + ", expected " + meaning + "=" + to_string(Shape(dims.begin(), dims.end())));
  if (view.data == nullptr && elements(dims) > 0) fail_with("has no data");
}

void TrainedLstm::check_states(const Tensor& tensor, std::int64_t batch) const {
  check(tensor, {directions(), batch, hidden_}, "[num_directions,batch_size,hidden_size]");
}

void TrainedLstm::check_x(const TensorView& x) const {
  if (!x.present()) fail("input 'X' is missing");
  const std::int64_t steps = x.rank == 3 && x.dims ? x.dims[0] : 0, batch = x.rank == 3 && x.dims ? x.dims[1] : 0;
  check({"input", "X", x}, {std::max<std::int64_t>(steps, 0), std::max<std::int64_t>(batch, 0), input_},
        "[seq_length,batch_size,input_size]");
  // Everything that a pass makes has fewer elements than this.
  if (elements({2, std::max<std::int64_t>(steps, 1), std::max<std::int64_t>(batch, 1), input_ + 64 * (hidden_ + 1)}) <
      0)
    fail("input 'X' has shape " + text(x) + ", which is more than memory can hold");
}

void TrainedLstm::read_sequences(const training::LstmInputs& inputs) {
  const std::int64_t steps = inputs.x.dims[0], batch = inputs.x.dims[1];
  lengths_.assign(static_cast<std::size_t>(batch), steps);
  const TensorView& given = inputs.sequence_lens;
  if (given.present()) {
    if (given.dtype != DataType::int32)
      fail(std::string("input 'sequence_lens' has type ") + data_type_name(given.dtype) + ", expected int32");
    if (given.rank != 1 || given.dims == nullptr || given.dims[0] != batch)
      fail("input 'sequence_lens' has " + (given.dims ? "shape " + text(given) : std::string("no extents")) +
           ", expected [batch_size]=[" + std::to_string(batch) + "]");
    if (given.data == nullptr && batch > 0) fail("input 'sequence_lens' has no data");
    for (std::size_t n = 0; n < lengths_.size(); ++n) {
      lengths_[n] = given.as<const std::int32_t>()[n];
      if (lengths_[n] < 0 || lengths_[n] > steps)
        fail("input 'sequence_lens' has " + std::to_string(lengths_[n]) + " at index " + std::to_string(n) +
             ", expected 0 to seq_length=" + std::to_string(steps));
    }
  }
  sequences_.assign(steps, lengths_);
}

void TrainedLstm::check_outputs(const char* kind, const training::LstmOutputs& outputs, std::int64_t steps,
                                std::int64_t batch) const {
  check({kind, "Y", outputs.y}, {steps, directions(), batch, hidden_},
        "[seq_length,num_directions,batch_size,hidden_size]");
  check_states({kind, "Y_h", outputs.y_h}, batch);
  check_states({kind, "Y_c", outputs.y_c}, batch);
}

/// Zeros where no step writes.
void TrainedLstm::clear_padding(const training::LstmOutputs& outputs, const LstmSequences& sequences) const {
  const std::int64_t states = directions() * sequences.batch * hidden_;
  if (sequences.rows() < sequences.steps * sequences.batch) clear(outputs.y, sequences.steps * states);
  if (sequences.active(0) == sequences.batch) return;
  clear(outputs.y_h, states);
  clear(outputs.y_c, states);
}

LstmPassOutputs TrainedLstm::pass_outputs(const training::LstmOutputs& outputs, std::int64_t direction,
                                          std::int64_t batch) const {
  const std::int64_t states = batch * hidden_;
  return {part<float>(outputs.y, direction, states), directions() * states, part<float>(outputs.y_h, direction, states),
          part<float>(outputs.y_c, direction, states)};
}

void TrainedLstm::forward(const training::LstmInputs& inputs, const training::LstmOutputs& outputs) {
  check_x(inputs.x);
  const std::int64_t batch = inputs.x.dims[1];
  check_states({"input", "initial_h", inputs.initial_h}, batch);
  check_states({"input", "initial_c", inputs.initial_c}, batch);
  check_outputs("output", outputs, inputs.x.dims[0], batch);
  stored_ = false;
  read_sequences(inputs);
  clear_padding(outputs, sequences_);
  for (std::int64_t d = 0; d < directions(); ++d) {
    const std::int64_t states = batch * hidden_;
    const LstmPassInputs pass_inputs{part<const float>(inputs.x, 0, 0), part<const float>(inputs.initial_h, d, states),
                                     part<const float>(inputs.initial_c, d, states),
                                     part<const float>(b(), d, 8 * hidden_), part<const float>(p(), d, 3 * hidden_)};
    passes_[static_cast<std::size_t>(d)].forward(sequences_, w_, r_, pass_inputs, pass_outputs(outputs, d, batch),
                                                 training_);
  }
  stored_ = training_;
}

void TrainedLstm::check_gradients(const training::LstmGradients& gradients) const {
  const std::int64_t batch = sequences_.batch, columns = 4 * hidden_;
  const char* const kind = "gradient of";
  check({kind, "X", gradients.x}, {sequences_.steps, batch, input_}, "[seq_length,batch_size,input_size]");
  check_states({kind, "initial_h", gradients.initial_h}, batch);
  check_states({kind, "initial_c", gradients.initial_c}, batch);
  check({kind, "W", gradients.w}, {directions(), input_, columns}, "[num_directions,input_size,4*hidden_size]");
  check({kind, "R", gradients.r}, {directions(), hidden_, columns}, "[num_directions,hidden_size,4*hidden_size]");
  if (gradients.b.present() && b_.empty()) fail("gradient of 'B' is asked for, but the layer has no B");
  check({kind, "B", gradients.b}, {directions(), 2 * columns}, "[num_directions,8*hidden_size]");
  if (gradients.p.present() && p_.empty()) fail("gradient of 'P' is asked for, but the layer has no P");
  check({kind, "P", gradients.p}, {directions(), 3 * hidden_}, "[num_directions,3*hidden_size]");
}

void TrainedLstm::backward(const training::LstmOutputs& outputs, const training::LstmGradients& gradients) {
  if (!training_) fail("there is no backward pass outside training mode");
  if (!stored_) fail("a backward pass needs a forward pass of its own before it");
  const std::int64_t batch = sequences_.batch, states = batch * hidden_;
  check_outputs("gradient of", outputs, sequences_.steps, batch);
  check_gradients(gradients);
  stored_ = false;
  if (sequences_.rows() < sequences_.steps * batch) clear(gradients.x, sequences_.steps * batch * input_);
  for (std::int64_t d = 0; d < directions(); ++d) {
    const LstmPassGradients pass{part<float>(gradients.x, 0, 0),
                                 d > 0,
                                 lda_coeff_,
                                 part<float>(gradients.initial_h, d, states),
                                 part<float>(gradients.initial_c, d, states),
                                 part<float>(gradients.w, d, input_ * 4 * hidden_),
                                 part<float>(gradients.r, d, hidden_ * 4 * hidden_),
                                 part<float>(gradients.b, d, 8 * hidden_),
                                 part<float>(gradients.p, d, 3 * hidden_)};
    passes_[static_cast<std::size_t>(d)].backward(sequences_, w_, r_, pass_outputs(outputs, d, batch), pass);
  }
}

}  // namespace octet::core
