// Compiled for the machine at hand: what Eigen offers depends on it.
#include "scripts/benchmark/eigen_lstm.hpp"

#include <Eigen/Dense>

namespace octet::benchmark {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::Matrix<float, 1, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const Matrix>;
using Map = Eigen::Map<Matrix>;

void fake_quantize(const ConstMap& weights, const Row& scale, Matrix& result) {
  result.resize(weights.rows(), weights.cols());
  for (std::int64_t i = 0; i < weights.rows(); ++i)
    result.row(i) = (weights.row(i).array() / scale.array()).rint().max(-128.0F).min(127.0F) * scale.array();
}

}  // namespace

struct EigenLstm::Memory {
  LstmShape shape;
  ConstMap float_w, float_r;
  Row w_scale, r_scale, bias;
  Matrix w, r;
  Matrix gates;  // activations i, o, f, c; then their derivatives
  Matrix c, activated_c, h_before;
  Matrix dh, dc, zeros;

  Memory(const LstmShape& given, const float* w_data, const float* w_scales, const float* r_data, const float* r_scales,
         const float* b)
      : shape(given),
        float_w(w_data, given.input, 4 * given.hidden),
        float_r(r_data, given.hidden, 4 * given.hidden),
        w_scale(Eigen::Map<const Row>(w_scales, 4 * given.hidden)),
        r_scale(Eigen::Map<const Row>(r_scales, 4 * given.hidden)),
        bias(Eigen::Map<const Row>(b, 4 * given.hidden) +
             Eigen::Map<const Row>(b + 4 * given.hidden, 4 * given.hidden)),
        gates(given.steps * given.batch, 4 * given.hidden),
        c(given.steps * given.batch, given.hidden),
        activated_c(given.steps * given.batch, given.hidden),
        h_before(Matrix::Zero(given.steps * given.batch, given.hidden)),
        dh(given.batch, given.hidden),
        dc(given.batch, given.hidden),
        zeros(Matrix::Zero(given.batch, given.hidden)) {}
};

EigenLstm::EigenLstm(const LstmShape& shape, const float* w, const float* w_scale, const float* r, const float* r_scale,
                     const float* b)
    : memory_(std::make_unique<Memory>(shape, w, w_scale, r, r_scale, b)) {}
EigenLstm::~EigenLstm() = default;

void EigenLstm::forward(const float* x, float* y_data) {
  Memory& m = *memory_;
  const auto [steps, batch, input, hidden] = m.shape;
  fake_quantize(m.float_w, m.w_scale, m.w);
  fake_quantize(m.float_r, m.r_scale, m.r);
  Map y(y_data, steps * batch, hidden);
  m.gates.noalias() = ConstMap(x, steps * batch, input) * m.w;
  for (std::int64_t t = 0; t < steps; ++t) {
    auto gates = m.gates.middleRows(t * batch, batch);
    gates.rowwise() += m.bias;
    if (t > 0) {
      m.h_before.middleRows(t * batch, batch) = y.middleRows((t - 1) * batch, batch);
      gates.noalias() += m.h_before.middleRows(t * batch, batch) * m.r;
    }
    gates.leftCols(3 * hidden) = gates.leftCols(3 * hidden).array().logistic();
    gates.rightCols(hidden) = gates.rightCols(hidden).array().tanh();
    auto c = m.c.middleRows(t * batch, batch);
    c = gates.leftCols(hidden).array() * gates.rightCols(hidden).array();
    if (t > 0)
      c.array() += gates.middleCols(2 * hidden, hidden).array() * m.c.middleRows((t - 1) * batch, batch).array();
    m.activated_c.middleRows(t * batch, batch) = c.array().tanh();
    y.middleRows(t * batch, batch) =
        gates.middleCols(hidden, hidden).array() * m.activated_c.middleRows(t * batch, batch).array();
  }
}

void EigenLstm::backward(const float* x, const float* dy_data, float* dx, float* dw, float* dr, float* db) {
  Memory& m = *memory_;
  const auto [steps, batch, input, hidden] = m.shape;
  const ConstMap dy(dy_data, steps * batch, hidden);
  m.dh.setZero();
  m.dc.setZero();
  for (std::int64_t t = steps - 1; t >= 0; --t) {
    auto gates = m.gates.middleRows(t * batch, batch).array();
    auto i = gates.leftCols(hidden), o = gates.middleCols(hidden, hidden), f = gates.middleCols(2 * hidden, hidden),
         g = gates.rightCols(hidden);
    const auto activated_c = m.activated_c.middleRows(t * batch, batch).array();
    const auto before = t > 0 ? Eigen::Map<const Matrix>(m.c.data() + (t - 1) * batch * hidden, batch, hidden).array()
                              : Eigen::Map<const Matrix>(m.zeros.data(), batch, hidden).array();
    m.dh += dy.middleRows(t * batch, batch);
    m.dc.array() += m.dh.array() * o * (1 - activated_c.square());
    o = m.dh.array() * activated_c * o * (1 - o);
    m.dh = m.dc.array() * f;  // for the next dc
    f = m.dc.array() * before * f * (1 - f);
    const Matrix kept = i;
    i = m.dc.array() * g * i * (1 - i);
    g = m.dc.array() * kept.array() * (1 - g.square());
    m.dc.swap(m.dh);
    if (t > 0) m.dh.noalias() = m.gates.middleRows(t * batch, batch) * m.r.transpose();
  }
  Map(dx, steps * batch, input).noalias() = m.gates * m.w.transpose();
  Map(dw, input, 4 * hidden).noalias() = ConstMap(x, steps * batch, input).transpose() * m.gates;
  Map(dr, hidden, 4 * hidden).noalias() = m.h_before.transpose() * m.gates;
  Eigen::Map<Row> first(db, 4 * hidden), second(db + 4 * hidden, 4 * hidden);
  first = m.gates.colwise().sum();
  second = first;
}

}  // namespace octet::benchmark
