#include "provider/kernels/lstm_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "primitives/vector/kernels.hpp"
#include "provider/core/crew.hpp"
#include "provider/core/scratch.hpp"

namespace octet::core {
namespace {

constexpr double kNanosecondsPerCell = 2;
/// Below this, a step is over before threads that share it have told each other.
constexpr double kLeastSharedStep = 3000;
/// Weights that a core's own cache holds beside everything else: each thread may as well read all of them.
constexpr std::int64_t kOwnCacheBytes = 384 * 1024;
/// With fewer sequences than these for each thread, a product spends its time on reading weights.
constexpr std::int64_t kRowsPerThread = 4;

template <class T>
T* offset(const TensorView& view, std::int64_t elements) {
  return view.present() ? view.as<T>() + elements : nullptr;
}

}  // namespace

/// The sequences' lengths, and their numbers by falling length, dealt out to groups in turn.
struct LstmPlan::Sequences {
  std::int64_t* lengths;
  std::int64_t* rows;
  std::int64_t longest = 0;
  std::int64_t total = 0;

  static std::size_t bytes(std::int64_t batch) { return static_cast<std::size_t>(3 * batch) * sizeof(std::int64_t); }
  static std::int64_t group_size(std::int64_t batch, std::size_t groups, std::size_t group) {
    const auto number = static_cast<std::int64_t>(groups);
    return (batch + number - 1 - static_cast<std::int64_t>(group)) / number;
  }
};

LstmPlan::LstmPlan(const LstmNode& node, const PlanRequest& request, const LstmShape& shape, LstmConstants constants,
                   Decision decision, LstmProducts products)
    : Plan(std::move(decision)),
      node_(node),
      shape_(shape),
      label_(request.label),
      constants_(std::move(constants)),
      products_(std::move(products)) {
  for (std::size_t i = 0; i < request.outputs.size(); ++i) has_output_[i] = request.outputs[i].present();
}

LstmPlan::Sequences LstmPlan::read_lengths(const TensorView* inputs, std::size_t groups, std::uint8_t* memory) const {
  Sequences sequences;
  sequences.lengths = reinterpret_cast<std::int64_t*>(memory);
  sequences.rows = sequences.lengths + shape_.batch;
  const auto* given = offset<const std::int32_t>(inputs[LstmPorts::sequence_lens], 0);
  for (std::int64_t n = 0; n < shape_.batch; ++n) {
    std::int64_t length = shape_.steps;
    if (given) length = given[n];
    if (length < 0 || length > shape_.steps)
      throw Error(ErrorCode::invalid_argument, label_ + ": input 'sequence_lens' has " + std::to_string(length) +
                                                   " at index " + std::to_string(n) +
                                                   ", expected 0 to seq_length=" + std::to_string(shape_.steps));
    sequences.lengths[n] = length;
    sequences.longest = std::max(sequences.longest, length);
    sequences.total += length;
  }
  std::int64_t* sorted = sequences.rows + shape_.batch;
  std::iota(sorted, sorted + shape_.batch, 0);
  // Equal lengths in the order of the batch, which needs no memory beside.
  if (given)
    std::sort(sorted, sorted + shape_.batch, [&](std::int64_t a, std::int64_t b) {
      const std::int64_t length_of_a = sequences.lengths[a], length_of_b = sequences.lengths[b];
      return length_of_a != length_of_b ? length_of_a > length_of_b : a < b;
    });
  std::int64_t* next = sequences.rows;
  for (std::size_t group = 0; group < groups; ++group)
    for (auto i = static_cast<std::int64_t>(group); i < shape_.batch; i += static_cast<std::int64_t>(groups))
      *next++ = sorted[i];
  return sequences;
}

// Zeros where no step writes.
void LstmPlan::clear_outputs(const TensorView* outputs, const Sequences& sequences) const {
  const std::int64_t states = shape_.directions * shape_.batch * shape_.hidden;
  if (sequences.total < shape_.steps * shape_.batch && outputs[LstmPorts::y].present())
    std::memset(outputs[LstmPorts::y].data, 0, static_cast<std::size_t>(shape_.steps * states) * sizeof(float));
  const std::int64_t* end = sequences.lengths + shape_.batch;
  if (std::find(static_cast<const std::int64_t*>(sequences.lengths), end, 0) == end) return;
  for (const auto port : {LstmPorts::y_h, LstmPorts::y_c})
    if (outputs[port].present()) std::memset(outputs[port].data, 0, static_cast<std::size_t>(states) * sizeof(float));
}

std::size_t LstmPlan::weights_bytes() const {
  Layout layout;
  if (!constants_.parameter_memory) layout.add(LstmParameterMemory::bytes(shape_));
  for (std::int64_t d = 0; d < shape_.directions && !products_.bfloat16; ++d) {
    if (!constants_.w) layout.add(GateWeightsMemory(shape_.input, shape_).bytes());
    if (!constants_.r) layout.add(GateWeightsMemory(shape_.hidden, shape_).bytes());
  }
  return layout.total();
}

void LstmPlan::make_tasks(const TensorView* inputs, const TensorView* outputs, const Sequences& sequences,
                          std::uint8_t* memory, LstmTask* tasks) const {
  std::array<LstmParameters, 2> parameters = constants_.parameters;
  if (!constants_.parameter_memory) {
    LstmParameterMemory::fill(inputs, shape_, memory, parameters.data());
    memory += (LstmParameterMemory::bytes(shape_) + 63) / 64 * 64;
  }
  const auto weights = [&](const PackedWeights* constant, const Bfloat16GateWeights* rounded, std::size_t port,
                           std::int64_t k, std::int64_t d) {
    if (rounded) return GateWeights{nullptr, nullptr, nullptr, nullptr, rounded->data(d)};
    if (constant) return GateWeights{constant->data(d), constant->column_sum(d)};
    const GateWeightsMemory packing(k, shape_);
    packing.pack(inputs[port], d, memory);
    const GateWeights result{packing.packed(memory), packing.column_sums(memory)};
    memory += (packing.bytes() + 63) / 64 * 64;
    return result;
  };
  const auto* x = inputs[LstmPorts::x].as<const float>();
  DynamicParams x_params{1, 0};
  if (node_.per_tensor) {
    float min = 0, max = 0;
    vector::kernels().quantize->min_max(x, static_cast<std::size_t>(sequences.longest * shape_.batch * shape_.input),
                                        &min, &max);
    x_params = dynamic_quantize_params(min, max);
  }
  for (std::int64_t d = 0; d < shape_.directions; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t states = d * shape_.batch * shape_.hidden;
    LstmTask& task = tasks[d];
    task = {};
    task.node = &node_;
    task.direction = &node_.directions[at];
    task.shape = shape_;
    task.bfloat16 = products_.bfloat16;
    task.input_product = products_.input.get();
    task.state_product = products_.state.get();
    task.w = weights(constants_.w.get(), constants_.rounded_w.get(), LstmPorts::w, shape_.input, d);
    task.r = weights(constants_.r.get(), constants_.rounded_r.get(), LstmPorts::r, shape_.hidden, d);
    task.w.scale = parameters[at].w_scale;
    task.w.zero_point = parameters[at].w_zero_point;
    task.r.scale = parameters[at].r_scale;
    task.r.zero_point = parameters[at].r_zero_point;
    task.bias = parameters[at].bias;
    task.peephole = parameters[at].peephole;
    task.x = x;
    task.initial_h = offset<const float>(inputs[LstmPorts::initial_h], states);
    task.initial_c = offset<const float>(inputs[LstmPorts::initial_c], states);
    task.y = offset<float>(outputs[LstmPorts::y], states);
    task.y_step = shape_.directions * shape_.batch * shape_.hidden;
    task.y_h = offset<float>(outputs[LstmPorts::y_h], states);
    task.y_c = offset<float>(outputs[LstmPorts::y_c], states);
    task.lengths = sequences.lengths;
    task.x_params = x_params;
  }
}

LstmPlan::Cut LstmPlan::cut(const Call& call) const {
  const auto rows = static_cast<double>(shape_.batch);
  const double products = static_cast<double>(shape_.columns()) / products_.multiplications_per_nanosecond;
  const double step = rows * (products * static_cast<double>(shape_.hidden) +
                              kNanosecondsPerCell * static_cast<double>(shape_.units()));
  const double input = rows * products * static_cast<double>(shape_.input);
  const double whole = static_cast<double>(shape_.directions * shape_.steps) * (step + input);
  const std::size_t threads = parts_for(call, whole);
  const auto directions = static_cast<std::size_t>(shape_.directions);
  if (threads <= directions) return {1, 1};
  const std::size_t each = threads / directions;
  const bool many_rows = shape_.batch >= kRowsPerThread * static_cast<std::int64_t>(each);
  const bool small_weights = shape_.hidden * shape_.columns() <= kOwnCacheBytes;
  if (!node_.per_tensor && (many_rows || small_weights))
    if (const auto groups = std::min(each, static_cast<std::size_t>(shape_.batch)); groups > 1) return {groups, 1};
  if (step < kLeastSharedStep) return {1, 1};
  const auto blocks = static_cast<std::size_t>(shape_.columns() / vector::kColumnBlock);
  return {1, static_cast<std::uint32_t>(std::min({each, blocks, std::size_t{Crew<LstmStream>::kMostParts}}))};
}

void LstmPlan::run(const Call& call, const TensorView* inputs, const TensorView* given_outputs) const {
  std::array<TensorView, LstmPorts::kOutputs> outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (has_output_[i]) outputs[i] = given_outputs[i];
  if (shape_.batch == 0 || shape_.hidden == 0) return;
  const Cut cut = this->cut(call);
  const Scratch lengths(Sequences::bytes(shape_.batch));
  const Sequences sequences = read_lengths(inputs, cut.groups, lengths.bytes());
  clear_outputs(outputs.data(), sequences);
  if (sequences.longest == 0) return;

  const std::size_t streams = static_cast<std::size_t>(shape_.directions) * cut.groups;
  const LstmStreamMemory stream_memory(shape_, Sequences::group_size(shape_.batch, cut.groups, 0), cut.crew,
                                       products_.piece, products_.bfloat16);
  Layout layout;
  const std::size_t weights_at = layout.add(weights_bytes());
  const std::size_t streams_at = layout.add(streams * stream_memory.bytes());
  const Scratch memory(layout.total());
  LstmTask tasks[2];
  make_tasks(inputs, outputs.data(), sequences, memory.bytes() + weights_at, tasks);
  const auto stream = [&](std::size_t i) {
    const std::size_t direction = i / cut.groups, group = i % cut.groups;
    const std::int64_t* rows = sequences.rows;
    for (std::size_t before = 0; before < group; ++before)
      rows += Sequences::group_size(shape_.batch, cut.groups, before);
    return LstmStream(tasks[direction], rows, Sequences::group_size(shape_.batch, cut.groups, group), stream_memory,
                      memory.bytes() + streams_at + i * stream_memory.bytes(), cut.crew);
  };
  if (cut.crew == 1) return parallel_for(call, streams, [&](std::size_t i) { stream(i).run(); });

  struct Shared {
    explicit Shared(const LstmStream& given) : stream(given) {}
    LstmStream stream;
    Crew<LstmStream> crew{stream, stream.parts()};
  };
  std::array<std::optional<Shared>, 2> shared;
  for (std::size_t i = 0; i < streams; ++i) shared[i].emplace(stream(i));
  parallel_for(call, streams * cut.crew,
               [&](std::size_t i) { shared[i / cut.crew]->crew.join(static_cast<std::uint32_t>(i % cut.crew)); });
}

}  // namespace octet::core
