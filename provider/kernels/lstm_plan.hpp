// How a DynamicQuantizeLSTM runs for one set of shapes.
#pragma once

#include <array>
#include <memory>

#include "provider/core/parallel.hpp"
#include "provider/kernels/lstm_stream.hpp"

namespace octet::core {

/// What an LSTM keeps of constant inputs; null where they come with each run.
struct LstmConstants {
  std::shared_ptr<const PackedWeights> w, r;
  std::shared_ptr<const Bfloat16GateWeights> rounded_w, rounded_r;  ///< in their place, with accuracy=fast
  std::shared_ptr<const std::uint8_t[]> parameter_memory;
  std::array<LstmParameters, 2> parameters;
};

/// What multiplies.
struct LstmProducts {
  bool bfloat16 = false;                  ///< our own loop, with bfloat16 activations
  std::unique_ptr<Product> input, state;  ///< of 8 bits; null with bfloat16, or where there is nothing to multiply
  ProductPiece piece;                     ///< of the state
  double multiplications_per_nanosecond = 1;
};

class LstmPlan final : public Plan {
 public:
  LstmPlan(const LstmNode& node, const PlanRequest& request, const LstmShape& shape, LstmConstants constants,
           Decision decision, LstmProducts products);

  void run(const Call& call, const TensorView* inputs, const TensorView* outputs) const override;

 private:
  /// How the work is cut: groups of sequences that need nothing of each other, for each direction, and threads that
  /// share each such stream's steps.
  struct Cut {
    std::size_t groups;
    std::uint32_t crew;
  };
  struct Sequences;

  Cut cut(const Call& call) const;
  Sequences read_lengths(const TensorView* inputs, std::size_t groups, std::uint8_t* memory) const;
  void clear_outputs(const TensorView* outputs, const Sequences& sequences) const;
  void make_tasks(const TensorView* inputs, const TensorView* outputs, const Sequences& sequences, std::uint8_t* memory,
                  LstmTask* tasks) const;
  std::size_t weights_bytes() const;

  LstmNode node_;
  LstmShape shape_;
  std::string label_;
  std::array<bool, LstmPorts::kOutputs> has_output_{};
  LstmConstants constants_;
  LstmProducts products_;
};

}  // namespace octet::core
