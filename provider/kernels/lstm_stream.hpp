// The recurrence of some sequences in one direction.
#pragma once

#include "provider/core/parallel.hpp"
#include "provider/core/product.hpp"
#include "provider/kernels/dynamic_quantize.hpp"
#include "provider/kernels/lstm_weights.hpp"

namespace octet::core {

/// The piece of a product that suits what computes it.
struct ProductPiece {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// Packed weights and the sums of their columns; with bfloat16 activations, nothing but `scale` and `bfloat16`.
struct GateWeights {
  const std::int8_t* packed = nullptr;
  const std::int32_t* column_sums = nullptr;
  const float* scale = nullptr;
  const std::int32_t* zero_point = nullptr;
  const std::uint16_t* bfloat16 = nullptr;
};

/// One direction in one run. Pointers to tensors are to this direction's part; null where the tensor is absent.
struct LstmTask {
  const LstmNode* node;
  const LstmDirection* direction;
  LstmShape shape;
  bool bfloat16;                 ///< activations are bfloat16, and there are no 8-bit products
  const Product* input_product;  ///< null where there is no input
  const Product* state_product;
  GateWeights w, r;
  const float* bias;
  const float* peephole;
  const float* x;
  const float* initial_h;
  const float* initial_c;
  float* y;
  std::int64_t y_step;  ///< elements from one step of Y to the next
  float* y_h;
  float* y_c;
  const std::int64_t* lengths;  ///< by sequence
  DynamicParams x_params;       ///< of all X, where node->per_tensor
};

/// Memory that a stream of up to `rows` sequences, worked on by `parts` parts at a time, needs.
struct LstmStreamMemory {
  LstmStreamMemory(const LstmShape& shape, std::int64_t rows, std::uint32_t parts, const ProductPiece& piece,
                   bool bfloat16);
  std::size_t bytes() const noexcept { return bytes_; }

  std::int64_t input_rows;               ///< of a chunk: steps whose inputs are multiplied together
  std::int64_t tile_rows, tile_columns;  ///< of what passes from product to cells at once
  std::int64_t product_columns;
  std::size_t input, input_quantization, gates, state, state_quantization, c, h, tiles;

 private:
  std::size_t bytes_;
};

/// Sequences in the order of falling length, so that those that have a step are the first ones. Work for a Crew: a
/// chunk of X is quantized (or rounded to bfloat16), then multiplied; then its steps follow, each a product with the
/// state and the cells' arithmetic.
class LstmStream {
 public:
  /// `rows` are the sequences' numbers, longest first.
  LstmStream(const LstmTask& task, const std::int64_t* rows, std::int64_t count, const LstmStreamMemory& layout,
             std::uint8_t* memory, std::uint32_t parts);

  std::uint32_t parts() const noexcept { return parts_; }
  void run_part(std::uint32_t part);
  bool advance();
  /// All of it by this thread; for streams of one part.
  void run() {
    do run_part(0);
    while (advance());
  }

 private:
  enum class Phase { quantize, multiply, step };

  /// A row's quantization by the loops' terms.
  struct Quantization {
    float* scale;
    std::int32_t* zero_point;
    std::int32_t* term;
  };

  void begin_chunk();
  void quantize_inputs(std::uint32_t part);
  void multiply_inputs(std::uint32_t part);
  void step(std::uint32_t part);
  void multiply_states(std::int64_t row, std::int64_t rows, Range columns, std::int32_t* tile) const;
  void multiply_rounded_inputs(Range columns) const;
  void add_rounded_states(std::int64_t row, std::int64_t rows, Range columns) const;
  void finish_step();
  void quantize_states(std::int64_t rows);
  void set_quantization(const Quantization& target, std::int64_t row, const DynamicParams& params,
                        const std::uint8_t* values, std::int64_t k, bool with_term) const;
  vector::RowwiseSums sums(const GateWeights& weights, const Quantization& quantization, std::int64_t row,
                           std::int64_t column) const;
  std::int64_t length(std::int64_t row) const { return task_.lengths[rows_[row]]; }
  /// Sequences that have step `step`; not more than `most`.
  std::int64_t active_at(std::int64_t step, std::int64_t most) const;

  const LstmTask& task_;
  const std::int64_t* rows_;
  const LstmStreamMemory& layout_;
  const std::uint32_t parts_;
  std::uint8_t* input_;
  Quantization input_quantization_;
  float* gates_;  ///< of the chunk's inputs
  std::uint8_t* state_;
  Quantization state_quantization_;
  float* c_;
  float* h_;
  std::int32_t* tiles_;

  Phase phase_ = Phase::quantize;
  std::int64_t step_ = 0;
  std::int64_t active_ = 0;      ///< sequences that have step step_
  std::int64_t chunk_end_ = 0;   ///< first step after the chunk
  std::int64_t chunk_rows_ = 0;  ///< sequences of all the chunk's steps
  std::int64_t gates_row_ = 0;   ///< of step step_ in the chunk
  bool state_is_zero_ = true;
};

}  // namespace octet::core
