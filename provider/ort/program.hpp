// Operators in their order of execution, over the values of one node of ONNX Runtime: a claimed node, or a fused group.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "provider/claims/patterns.hpp"
#include "provider/core/operator_state.hpp"
#include "provider/ort/graph.hpp"
#include "provider/ort/session.hpp"

namespace octet::ort {

/// What runs a node of ONNX Runtime. Immutable; any number of threads may run it at the same time.
class Computation {
 public:
  virtual ~Computation() = default;
  virtual void run(OrtKernelContext* context) const = 0;
};

/// "QGemm 'fc1': vector product:avx2; onednn: ..."
std::string decision_line(const std::string& label, const Decision& decision);

class Program final : public Computation {
 public:
  /// Builds the operators; constants are in node.inputs[i].constant of the steps. `inputs` and `outputs` name the
  /// values of the ONNX Runtime node in its order ("" where absent). Plans are made at once where `types`, of the
  /// inputs, tell all extents, and for the values of their symbols that the option `warmup` gives.
  Program(std::shared_ptr<Session> session, const std::vector<claims::Step>& steps,
          const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
          const std::vector<SymbolicType>& types);
  ~Program() override;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void run(OrtKernelContext* context) const override;

 private:
  /// Values are numbered: the node's inputs, its outputs, then what lives only inside.
  struct Operation {
    std::unique_ptr<const core::OperatorState> op;
    std::string name;
    std::vector<int> inputs;   ///< kAbsent where absent or held by the operator
    std::vector<int> outputs;  ///< kAbsent where absent
  };

  /// The memory of one run, kept for the next. Views stand where the operators read them: to copy a view just after it
  /// was written costs more than to write it again, as the processor cannot forward such stores to a wider load.
  struct Frame {
    struct Arguments {
      std::vector<TensorView> inputs;  ///< constants in their places
      std::vector<TensorView> outputs;
      std::shared_ptr<const core::PlanEntry> plan;  ///< of the last run; owns the extents of the outputs
    };
    std::vector<Arguments> arguments;             ///< by operation
    std::vector<std::vector<TensorView*>> views;  ///< by value: its places in `arguments`
    std::vector<std::size_t> bytes;               ///< by value, of what the operations write
    std::vector<std::size_t> offsets;             ///< by value, of temporaries in the scratch buffer
  };

  class FrameLease;

  std::unique_ptr<Frame> make_frame() const;
  void warm_up(const std::vector<SymbolicType>& types, const std::map<std::string, std::int64_t>& values) const;
  void read_inputs(OrtKernelContext* context, Frame& frame) const;
  void plan(Frame& frame) const;
  std::size_t place_outputs(OrtKernelContext* context, Frame& frame) const;
  void place_temporaries(std::uint8_t* memory, Frame& frame) const;
  static void set_type(Frame& frame, int value, DataType dtype, const std::vector<std::int64_t>& dims);
  static void set_data(Frame& frame, int value, void* data);
  std::vector<OperatorRecord> records() const;

  std::shared_ptr<Session> session_;
  std::vector<Operation> operations_;
  int num_inputs_ = 0;  ///< of the node
  int num_outputs_ = 0;
  int num_values_ = 0;
  mutable std::atomic<Frame*> last_frame_{nullptr};  ///< the one given back last, so that one thread needs no lock
  mutable std::mutex mutex_;                         ///< guards frames_
  mutable std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace octet::ort
