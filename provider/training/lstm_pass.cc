#include "provider/training/lstm_pass.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "primitives/vector/kernels.hpp"

namespace octet::core {
namespace {

/// Rows whose inputs are multiplied together: many enough for a product at full speed, few enough that their gates are
/// in a cache still when their steps come.
constexpr std::int64_t kChunkRows = 512;

/// With fewer rows in all steps, packing R costs more than it saves.
constexpr std::int64_t kLeastPackedRows = 12;
/// Up to so many multiplications and floats of a packed operand, what oneDNN's GEMM does around a product takes longer.
constexpr std::int64_t kMostSmallProduct = 16384, kMostSmallOperand = 4096;
/// Up to so many sequences, a step's products are about reading R.
constexpr std::int64_t kMostSingleRows = 1;
/// From here on it pays to transpose W before the product, which would else do it a piece at a time for a few rows
/// each.
constexpr std::int64_t kLeastTransposedRows = 16;

void copy(const float* from, std::int64_t count, float* to) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof *to);  // else there may be no memory
}

void copy_or_clear(const float* from, std::int64_t count, float* to) {
  if (from)
    copy(from, count, to);
  else
    std::fill_n(to, count, 0.0F);
}

}  // namespace

void LstmSequences::assign(std::int64_t seq_length, const std::vector<std::int64_t>& lengths_of_batch) {
  steps = seq_length;
  batch = static_cast<std::int64_t>(lengths_of_batch.size());
  const auto is_longer = [&](std::int64_t a, std::int64_t b) {
    return lengths_of_batch[static_cast<std::size_t>(a)] > lengths_of_batch[static_cast<std::size_t>(b)];
  };
  order.resize(lengths_of_batch.size());
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(order.begin(), order.end(), is_longer)) std::stable_sort(order.begin(), order.end(), is_longer);
  lengths.clear();
  for (const std::int64_t place : order) lengths.push_back(lengths_of_batch[static_cast<std::size_t>(place)]);
  starts.assign(1, 0);
  std::int64_t count = batch;
  for (std::int64_t t = 0; t < seq_length; ++t) {
    while (count > 0 && length(count - 1) <= t) --count;
    if (count == 0) break;
    starts.push_back(starts.back() + count);
  }
}

LstmPass::LstmPass(const LstmNode& node, std::size_t direction, std::int64_t input, std::int64_t hidden)
    : direction_(direction), reverse_(node.directions[direction].reverse), input_(input), hidden_(hidden), cell_{} {
  cell_.units = hidden;
  cell_.f = node.directions[direction].f;
  cell_.g = node.directions[direction].g;
  cell_.h = node.directions[direction].h;
  cell_.clip = node.clip;
  cell_.input_forget = node.input_forget;
}

std::size_t LstmPass::stored_bytes() const noexcept {
  return x_.bytes() + gates_.bytes() + h_before_.bytes() + c_.bytes() + activated_c_.bytes();
}

void LstmPass::release() noexcept {
  for (Floats* floats : {&x_, &gates_, &h_before_, &c_, &activated_c_, &first_c_, &w_, &r_, &packed_r_,
                         &packed_r_transposed_, &w_transposed_, &a_, &packed_b_, &tile_, &row_, &dh_, &dc_, &dx_})
    floats->release();
  r_integers_.release();
}

void LstmPass::prepare_weights(const TrainedWeights& w, const TrainedWeights& r, const LstmPassInputs& inputs) {
  const vector::WeightKernels& kernels = *vector::kernels().weights;
  w_.reserve(input_ * columns());
  w_saturates_ = kernels.fake_quantize(w.matrix(direction()), w_.data());
  r_matrix_ = r.matrix(direction());
  bias_.assign(static_cast<std::size_t>(columns()), 0);
  for (std::size_t n = 0; inputs.b && n < bias_.size(); ++n) bias_[n] = inputs.b[n] + inputs.b[bias_.size() + n];
  if (inputs.p) peephole_.assign(inputs.p, inputs.p + 3 * hidden_);
  cell_.bias = bias_.data();
  cell_.peephole = inputs.p ? peephole_.data() : nullptr;
}

void LstmPass::prepare_recurrence() {
  if (form_ != Recurrence::none) return;
  const vector::WeightKernels& kernels = *vector::kernels().weights;
  form_ = sequences_->batch <= kMostSingleRows    ? Recurrence::integers
          : sequences_->rows() < kLeastPackedRows ? Recurrence::plain
                                                  : Recurrence::packed;
  if (form_ == Recurrence::integers) {
    r_integers_.reserve(vector::packed_words(hidden_, columns()));
    r_saturates_ = kernels.pack(r_matrix_, r_integers_.data());
    return;
  }
  r_.reserve(hidden_ * columns());
  r_saturates_ = kernels.fake_quantize(r_matrix_, r_.data());
  if (form_ == Recurrence::plain) return;
  packed_r_.reserve(vector::packed_floats(hidden_, columns()));
  vector::kernels().floats->pack(r_.data(), false, hidden_, columns(), packed_r_.data());
}

void LstmPass::multiply(std::int64_t m, std::int64_t n, std::int64_t k, Operand a, const Operand& b, float* y) {
  const std::int64_t operand = vector::packed_floats(k, n);
  if (m * n * k > kMostSmallProduct || operand > kMostSmallOperand) return float_product(m, n, k, a, b, y);
  const vector::FloatKernels& floats = *vector::kernels().floats;
  if (a.transposed == Transposed::yes) {
    a_.reserve(m * k);
    floats.transpose(a.data, k, m, a_.data());
    a = {a_.data()};
  }
  packed_b_.reserve(operand);
  floats.pack(b.data, b.transposed == Transposed::yes, k, n, packed_b_.data());
  floats.product(m, n, k, a.data, packed_b_.data(), y);
}

void LstmPass::multiply_states(std::int64_t rows, const float* states, float* y) const {
  switch (form_) {
    case Recurrence::none:
      return;
    case Recurrence::integers:
      for (std::int64_t i = 0; i < rows; ++i)
        vector::kernels().weights->product(r_matrix_, r_integers_.data(), states + i * hidden_, y + i * columns());
      return;
    case Recurrence::packed:
      vector::kernels().floats->product(rows, columns(), hidden_, states, packed_r_.data(), y);
      return;
    case Recurrence::plain:
      float_product(rows, columns(), hidden_, {states}, {r_.data()}, y);
  }
}

void LstmPass::multiply_back(std::int64_t t) {
  const std::int64_t rows = sequences_->active(t);
  const float* dgates = gates_.data() + sequences_->first(t) * columns();
  switch (form_) {
    case Recurrence::none:
      return;
    case Recurrence::integers:
      for (std::int64_t i = 0; i < rows; ++i)
        vector::kernels().weights->transposed_product(r_matrix_, r_integers_.data(), dgates + i * columns(),
                                                      tile_.data(), dh_.data() + i * hidden_);
      return;
    case Recurrence::packed:
      vector::kernels().floats->product(rows, hidden_, columns(), dgates, packed_r_transposed_.data(), dh_.data());
      return;
    case Recurrence::plain:
      float_product(rows, hidden_, columns(), {dgates}, {r_.data(), Transposed::yes}, dh_.data());
  }
}

void LstmPass::prepare_rows(const LstmPassInputs& inputs, bool store) {
  const std::int64_t batch = sequences_->batch;
  const std::int64_t chunk = store ? sequences_->rows() : std::min(sequences_->rows(), std::max(kChunkRows, batch));
  const std::int64_t rows = store ? sequences_->rows() : sequences_->active(0);
  x_.reserve(chunk * input_);
  gates_.reserve(chunk * columns());
  h_before_.reserve(rows * hidden_);
  c_.reserve(rows * hidden_);
  activated_c_.reserve((store ? rows : 1) * hidden_);
  first_c_.reserve(batch * hidden_);
  tile_.reserve(std::max(batch * columns(), vector::block_columns(columns())));
  row_.reserve(hidden_);
  for (std::int64_t i = 0; i < sequences_->active(0); ++i) {
    const std::int64_t at = sequences_->place(i) * hidden_;
    copy_or_clear(inputs.initial_h ? inputs.initial_h + at : nullptr, hidden_, h_before_.data() + i * hidden_);
    copy_or_clear(inputs.initial_c ? inputs.initial_c + at : nullptr, hidden_, first_c_.data() + i * hidden_);
  }
  state_is_zero_ = inputs.initial_h == nullptr;
}

std::int64_t LstmPass::chunk_end(std::int64_t begin) const noexcept {
  std::int64_t end = begin + 1;
  while (end < sequences_->longest() && sequences_->first(end + 1) - sequences_->first(begin) <= kChunkRows) ++end;
  return end;
}

void LstmPass::gather_inputs(const float* x, std::int64_t begin, std::int64_t end, float* rows) const {
  for (std::int64_t t = begin; t < end; ++t)
    for (std::int64_t i = 0; i < sequences_->active(t); ++i, rows += input_)
      copy(x + x_row(t, i) * input_, input_, rows);
}

void LstmPass::forward(const LstmSequences& sequences, const TrainedWeights& w, const TrainedWeights& r,
                       const LstmPassInputs& inputs, const LstmPassOutputs& outputs, bool store) {
  sequences_ = &sequences;
  form_ = Recurrence::none;
  w_saturates_ = r_saturates_ = false;
  if (sequences.rows() == 0) return;
  prepare_weights(w, r, inputs);
  prepare_rows(inputs, store);
  if (sequences.longest() > 1 || !state_is_zero_) prepare_recurrence();
  for (std::int64_t begin = 0, end = 0; begin < sequences.longest(); begin = end) {
    end = chunk_end(begin);
    const std::int64_t first = sequences.first(begin);
    float* x = x_.data() + (store ? first * input_ : 0);
    float* gates = gates_.data() + (store ? first * columns() : 0);
    gather_inputs(inputs.x, begin, end, x);
    multiply(sequences.first(end) - first, columns(), input_, {x}, {w_.data()}, gates);
    for (std::int64_t t = begin; t < end; ++t)
      step(t, gates + (sequences.first(t) - first) * columns(), outputs, store);
  }
}

// Where nothing is stored, the states and cells of a step take the place of those before it.
void LstmPass::step(std::int64_t t, float* gates, const LstmPassOutputs& outputs, bool store) {
  const std::int64_t active = sequences_->active(t), next = sequences_->active(t + 1);
  const auto at = [&](const Floats& floats, std::int64_t step, std::int64_t i) {
    return floats.data() + ((store ? sequences_->first(step) : 0) + i) * hidden_;
  };
  const bool multiply = t > 0 || !state_is_zero_;
  if (multiply) multiply_states(active, at(h_before_, t, 0), tile_.data());
  for (std::int64_t i = 0; i < active; ++i) {
    vector::CellForward cell{};
    cell.gates = gates + i * columns();
    cell.state = multiply ? tile_.data() + i * columns() : nullptr;
    cell.c_before = t == 0 ? first_c_.data() + i * hidden_ : at(c_, t - 1, i);
    cell.c = at(c_, t, i);
    cell.activated_c = store ? at(activated_c_, t, i) : activated_c_.data();
    cell.h = i < next ? at(h_before_, t + 1, i) : row_.data();
    vector::kernels().lstm_training->forward(cell_, cell);
    const std::int64_t place = sequences_->place(i) * hidden_;
    if (outputs.y) copy(cell.h, hidden_, outputs.y + time(t, i) * outputs.y_step + place);
    if (i < next) continue;
    if (outputs.y_h) copy(cell.h, hidden_, outputs.y_h + place);
    if (outputs.y_c) copy(cell.c, hidden_, outputs.y_c + place);
  }
}

void LstmPass::backward(const LstmSequences& sequences, const TrainedWeights& w, const TrainedWeights& r,
                        const LstmPassOutputs& outputs, const LstmPassGradients& gradients) {
  sequences_ = &sequences;
  dbias_.assign(static_cast<std::size_t>(columns()), 0);
  dpeephole_.assign(static_cast<std::size_t>(3 * hidden_), 0);
  if (sequences.longest() > 1 || gradients.initial_h) prepare_recurrence();
  if (form_ == Recurrence::packed) {
    packed_r_transposed_.reserve(vector::packed_floats(columns(), hidden_));
    vector::kernels().floats->pack(r_.data(), true, columns(), hidden_, packed_r_transposed_.data());
  }
  dh_.reserve(sequences.batch * hidden_);
  dc_.reserve(sequences.batch * hidden_);
  for (std::int64_t t = sequences.longest() - 1; t >= 0; --t) {
    if (t + 1 < sequences.longest()) multiply_back(t + 1);
    step_back(t, outputs);
  }
  finish_states(gradients);
  finish_weights(w, r, gradients);
  if (gradients.x) finish_inputs(gradients);
}

void LstmPass::step_back(std::int64_t t, const LstmPassOutputs& outputs) {
  const std::int64_t active = sequences_->active(t), next = sequences_->active(t + 1);
  for (std::int64_t i = 0; i < active; ++i) {
    const std::int64_t row = sequences_->first(t) + i, place = sequences_->place(i) * hidden_;
    vector::CellBackward cell{};
    cell.gates = gates_.data() + row * columns();
    cell.c_before = (t == 0 ? first_c_.data() : c_.data() + sequences_->first(t - 1) * hidden_) + i * hidden_;
    cell.c = c_.data() + row * hidden_;
    cell.activated_c = activated_c_.data() + row * hidden_;
    cell.dc = dc_.data() + i * hidden_;
    if (i < next) {
      cell.dh = dh_.data() + i * hidden_;
    } else {
      cell.dh = outputs.y_h ? outputs.y_h + place : nullptr;
      copy_or_clear(outputs.y_c ? outputs.y_c + place : nullptr, hidden_, cell.dc);
    }
    cell.dy = outputs.y ? outputs.y + time(t, i) * outputs.y_step + place : nullptr;
    cell.dbias = dbias_.data();
    cell.dpeephole = dpeephole_.data();
    vector::kernels().lstm_training->backward(cell_, cell);
  }
}

void LstmPass::finish_states(const LstmPassGradients& gradients) {
  const std::int64_t active = sequences_->active(0);
  if (gradients.initial_h && active > 0) multiply_back(0);
  for (std::int64_t i = 0; i < sequences_->batch; ++i) {
    const std::int64_t place = sequences_->place(i) * hidden_;
    const auto write = [&](const Floats& states, float* target) {
      if (target) copy_or_clear(i < active ? states.data() + i * hidden_ : nullptr, hidden_, target + place);
    };
    write(dh_, gradients.initial_h);
    write(dc_, gradients.initial_c);
  }
}

void LstmPass::finish_weights(const TrainedWeights& w, const TrainedWeights& r, const LstmPassGradients& gradients) {
  const auto product = [&](std::int64_t k, const Floats& operand, std::int64_t first, float* gradient) {
    if (gradient)
      multiply(k, columns(), sequences_->rows() - first, {operand.data() + first * k, Transposed::yes},
               {gates_.data() + first * columns()}, gradient);
  };
  product(input_, x_, 0, gradients.w);
  product(hidden_, h_before_, state_is_zero_ ? sequences_->active(0) : 0, gradients.r);  // zeros add nothing
  const vector::WeightKernels& kernels = *vector::kernels().weights;
  if (gradients.w && w_saturates_) kernels.straight_through(w.matrix(direction()), gradients.w);
  if (gradients.r && r_saturates_) kernels.straight_through(r.matrix(direction()), gradients.r);
  if (gradients.b)
    for (std::int64_t half = 0; half < 2; ++half) copy(dbias_.data(), columns(), gradients.b + half * columns());
  if (gradients.p) copy(dpeephole_.data(), 3 * hidden_, gradients.p);
}

void LstmPass::finish_inputs(const LstmPassGradients& gradients) {
  Operand w_transposed{w_.data(), Transposed::yes};
  if (sequences_->rows() >= kLeastTransposedRows) {
    w_transposed_.reserve(input_ * columns());
    vector::kernels().floats->transpose(w_.data(), input_, columns(), w_transposed_.data());
    w_transposed = {w_transposed_.data()};
  }
  for (std::int64_t begin = 0, end = 0; begin < sequences_->longest(); begin = end) {
    end = chunk_end(begin);
    const std::int64_t first = sequences_->first(begin);
    const std::int64_t rows = sequences_->first(end) - first;
    dx_.reserve(rows * input_);
    multiply(rows, input_, columns(), {gates_.data() + first * columns()}, w_transposed, dx_.data());
    const float* row = dx_.data();
    for (std::int64_t t = begin; t < end; ++t)
      for (std::int64_t i = 0; i < sequences_->active(t); ++i, row += input_) {
        float* target = gradients.x + x_row(t, i) * input_;
        for (std::int64_t j = 0; j < input_; ++j)
          target[j] = gradients.add_x ? target[j] + gradients.lda_coeff * row[j] : gradients.lda_coeff * row[j];
      }
  }
}

}  // namespace octet::core
