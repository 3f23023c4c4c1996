// One direction of an LSTM in training, forward and back.
#pragma once

#include <memory>
#include <vector>

#include "primitives/vector/lstm_training_kernels.hpp"
#include "provider/core/float_product.hpp"
#include "provider/kernels/lstm_node.hpp"
#include "provider/training/trained_weights.hpp"

namespace octet::core {

/// The sequences of a pass in the order of falling length, so that those that have a step are the first ones. Rows of
/// all steps stand one after the other: that of sequence number i in step t is row first(t) + i.
struct LstmSequences {
  std::int64_t steps = 0;  ///< seq_length
  std::int64_t batch = 0;
  std::vector<std::int64_t> order;    ///< places in the batch
  std::vector<std::int64_t> lengths;  ///< by number
  std::vector<std::int64_t> starts;   ///< rows before each step, one more than there are steps that a sequence has

  /// Lengths by place in the batch. Keeps its memory.
  void assign(std::int64_t seq_length, const std::vector<std::int64_t>& lengths_of_batch);

  std::int64_t longest() const noexcept { return static_cast<std::int64_t>(starts.size()) - 1; }
  std::int64_t first(std::int64_t t) const noexcept { return starts[static_cast<std::size_t>(t)]; }
  std::int64_t rows() const noexcept { return starts.back(); }
  /// Sequences that have step t; 0 past the longest.
  std::int64_t active(std::int64_t t) const noexcept { return t < longest() ? first(t + 1) - first(t) : 0; }
  std::int64_t length(std::int64_t i) const noexcept { return lengths[static_cast<std::size_t>(i)]; }
  std::int64_t place(std::int64_t i) const noexcept { return order[static_cast<std::size_t>(i)]; }
};

/// Memory that grows and is never filled.
template <class T>
class Memory {
 public:
  void reserve(std::int64_t count) {
    if (count <= size_) return;
    release();
    data_.reset(new T[static_cast<std::size_t>(count)]);
    size_ = count;
  }
  void release() noexcept { *this = Memory(); }
  T* data() const noexcept { return data_.get(); }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(size_) * sizeof(T); }

 private:
  std::unique_ptr<T[]> data_;
  std::int64_t size_ = 0;
};
using Floats = Memory<float>;

/// Pointers to one direction's part of the tensors of a pass, or null.
struct LstmPassInputs {
  const float* x;
  const float* initial_h;
  const float* initial_c;
  const float* b;  ///< [8 * hidden]
  const float* p;  ///< [3 * hidden]
};
struct LstmPassOutputs {
  float* y;
  std::int64_t y_step;  ///< elements from one step of Y to the next
  float* y_h;
  float* y_c;
};
struct LstmPassGradients {
  float* x;
  bool add_x;  ///< to what x holds
  float lda_coeff;
  float* initial_h;
  float* initial_c;
  float* w;
  float* r;
  float* b;
  float* p;
};

class LstmPass {
 public:
  LstmPass(const LstmNode& node, std::size_t direction, std::int64_t input, std::int64_t hidden);

  /// `store`: keep what backward() needs. Outputs where no step writes are left alone.
  void forward(const LstmSequences& sequences, const TrainedWeights& w, const TrainedWeights& r,
               const LstmPassInputs& inputs, const LstmPassOutputs& outputs, bool store);
  /// After a forward pass that stored, once. Everything that is given is written; x only where no step is padding.
  void backward(const LstmSequences& sequences, const TrainedWeights& w, const TrainedWeights& r,
                const LstmPassOutputs& outputs, const LstmPassGradients& gradients);

  std::size_t stored_bytes() const noexcept;
  void release() noexcept;

 private:
  void prepare_weights(const TrainedWeights& w, const TrainedWeights& r, const LstmPassInputs& inputs);
  /// Quantizes R where that is not done yet: a single step from a state of 0 does not need it.
  void prepare_recurrence();
  void prepare_rows(const LstmPassInputs& inputs, bool store);
  void gather_inputs(const float* x, std::int64_t begin, std::int64_t end, float* rows) const;
  void step(std::int64_t t, float* gates, const LstmPassOutputs& outputs, bool store);
  void step_back(std::int64_t t, const LstmPassOutputs& outputs);
  void finish_states(const LstmPassGradients& gradients);
  void finish_weights(const TrainedWeights& w, const TrainedWeights& r, const LstmPassGradients& gradients);
  void finish_inputs(const LstmPassGradients& gradients);
  /// y[m, n] = a[m, k] * b[k, n]
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, Operand a, const Operand& b, float* y);
  /// y[rows, 4 * hidden] = states * R
  void multiply_states(std::int64_t rows, const float* states, float* y) const;
  /// The product of the derivatives of step t's gates with the transpose of R, into dh_.
  void multiply_back(std::int64_t t);
  /// The step after the last one of a chunk.
  std::int64_t chunk_end(std::int64_t begin) const noexcept;
  /// Where X has the row that sequence number i reads in step t.
  std::int64_t x_row(std::int64_t t, std::int64_t i) const noexcept {
    return time(t, i) * sequences_->batch + sequences_->place(i);
  }
  std::int64_t time(std::int64_t t, std::int64_t i) const noexcept {
    return reverse_ ? sequences_->length(i) - 1 - t : t;
  }
  std::int64_t columns() const noexcept { return vector::kGates * hidden_; }
  std::int64_t direction() const noexcept { return static_cast<std::int64_t>(direction_); }

  std::size_t direction_;
  bool reverse_;
  std::int64_t input_, hidden_;
  const LstmSequences* sequences_ = nullptr;  ///< of the pass that runs
  vector::LstmCell cell_;

  std::vector<float> bias_, peephole_;  ///< [4 * hidden], [3 * hidden]
  std::vector<float> dbias_, dpeephole_;
  /// The form in which a step's products read R: as what the quantized weights stand for, as that packed, or as
  /// integers; none before prepare_recurrence().
  enum class Recurrence { none, plain, packed, integers };
  Recurrence form_ = Recurrence::none;
  vector::WeightMatrix r_matrix_{};
  Floats w_, r_;  ///< what the quantized weights stand for
  bool w_saturates_ = false, r_saturates_ = false;
  Floats packed_r_, packed_r_transposed_, w_transposed_;
  Memory<std::uint32_t> r_integers_;
  bool state_is_zero_ = false;  ///< at the first step

  // With a row for each step of each sequence where a pass stores, else with one for each sequence and, of x and gates,
  // for each row of a chunk. h_before_ has the states that steps begin with.
  Floats x_, gates_, h_before_, c_, activated_c_;
  Floats first_c_;                                   ///< [batch,hidden]
  Floats a_, packed_b_, tile_, row_, dh_, dc_, dx_;  ///< temporaries
};

}  // namespace octet::core
