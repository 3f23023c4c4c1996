// A function of bytes (provider/claims/byte_functions.hpp) as a table, which the operators themselves fill when the
// session is made.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "provider/core/elementwise_loops.hpp"
#include "provider/core/operator_state.hpp"
#include "provider/ort/program.hpp"

namespace octet::ort {

class ByteFunction final : public Computation {
 public:
  /// The parameters mean the same as Program's.
  ByteFunction(std::shared_ptr<Session> session, const std::vector<claims::Step>& steps,
               const std::vector<std::string>& inputs);
  ~ByteFunction() override;

  void run(OrtKernelContext* context) const override;

 private:
  struct Operation {
    std::unique_ptr<const core::OperatorState> op;
    std::string name;
    Decision decision;
  };

  void fill_table(const std::vector<claims::Step>& steps, const std::string& x);

  std::shared_ptr<Session> session_;
  std::vector<Operation> operations_;
  std::size_t input_ = 0;
  std::unique_ptr<const core::UnaryLoops> loops_;
  std::array<std::uint8_t, vector::kTableSize> table_{};
  mutable std::atomic<std::uint64_t> runs_{0};
};

}  // namespace octet::ort
