// A training step of an LSTM as a program writes it with Eigen: the contender of octet::training::Lstm.
#pragma once

#include <cstdint>
#include <memory>

namespace octet::benchmark {

struct LstmShape {
  std::int64_t steps, batch, input, hidden;
};

/// Sigmoid, Tanh, Tanh, one direction, all sequences of one length, first states 0, symmetric s8 weights with a scale
/// for each column. Row-major tensors as the node has them. What a pass needs is allocated once.
class EigenLstm {
 public:
  /// w [input,4*hidden], r [hidden,4*hidden], b [8*hidden], scales [4*hidden]
  EigenLstm(const LstmShape& shape, const float* w, const float* w_scale, const float* r, const float* r_scale,
            const float* b);
  ~EigenLstm();
  EigenLstm(const EigenLstm&) = delete;
  EigenLstm& operator=(const EigenLstm&) = delete;

  /// With the weights as the quantizer makes them. x [steps,batch,input], y [steps,batch,hidden]
  void forward(const float* x, float* y);
  /// The derivatives of what forward() was given and of w, r and b. dw [input,4*hidden], dr [hidden,4*hidden], db
  /// [8*hidden]
  void backward(const float* x, const float* dy, float* dx, float* dw, float* dr, float* db);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace octet::benchmark
