// DynamicQuantizeLSTM, and what its time goes into: the products, the passes over the gates, and the rest, which is the
// quantization of rows, the outputs and the call.
#include <algorithm>
#include <cmath>
#include <istream>
#include <memory>

#include "primitives/vector/kernels.hpp"
#include "provider/core/registry.hpp"
#include "provider/kernels/choose_product.hpp"
#include "provider/kernels/lstm_plan.hpp"
#include "scripts/benchmark/native.hpp"

namespace octet::benchmark {
namespace {

using core::LstmPorts;
using core::LstmShape;

/// A node with one direction, s8 weights of one scale each, and their zero points, which are 0.
struct Job {
  LstmShape shape{};
  std::vector<std::uint8_t> w, r;
  float scale = 0;
  std::int8_t zero_point = 0;
  std::vector<float> x, y;
  std::vector<std::int64_t> x_dims, y_dims, w_dims, r_dims, one{1};
  Node node;

  explicit Job(std::istream& words) {
    words >> shape.steps >> shape.batch >> shape.input >> shape.hidden;
    if (!words || shape.steps < 1 || shape.batch < 1 || shape.input < 1 || shape.hidden < 1)
      throw Error(ErrorCode::invalid_argument, "octet_bench: lstm needs steps, batch, input and hidden");
    w = random_bytes(shape.input * 4 * shape.hidden, 1);
    r = random_bytes(shape.hidden * 4 * shape.hidden, 2);
    scale = 0.6F / 127 / std::sqrt(static_cast<float>(shape.hidden));
    x = random_floats(shape.steps * shape.batch * shape.input, 3);
    y.resize(static_cast<std::size_t>(shape.steps * shape.batch * shape.hidden));
    x_dims = {shape.steps, shape.batch, shape.input};
    y_dims = {shape.steps, 1, shape.batch, shape.hidden};
    w_dims = {1, shape.input, 4 * shape.hidden};
    r_dims = {1, shape.hidden, 4 * shape.hidden};
    node.op_type = "DynamicQuantizeLSTM";
    node.attributes = {{"hidden_size", shape.hidden}};
    for (const TensorView& input : inputs())
      node.inputs.push_back({input.dtype, std::vector<std::int64_t>(input.dims, input.dims + input.rank), input.data});
    node.inputs[LstmPorts::x] = {DataType::float32};
    node.outputs = {{DataType::float32}};
  }

  std::vector<TensorView> inputs() const {
    std::vector<TensorView> views(LstmPorts::kInputs);
    views[LstmPorts::x] = {x.data(), DataType::float32, x_dims};
    views[LstmPorts::w] = {w.data(), DataType::int8, w_dims};
    views[LstmPorts::r] = {r.data(), DataType::int8, r_dims};
    views[LstmPorts::w_scale] = views[LstmPorts::r_scale] = {&scale, DataType::float32, one};
    views[LstmPorts::w_zero_point] = views[LstmPorts::r_zero_point] = {&zero_point, DataType::int8, one};
    return views;
  }
  std::vector<TensorView> outputs() {
    std::vector<TensorView> views(LstmPorts::kOutputs);
    views[LstmPorts::y] = {y.data(), DataType::float32, y_dims};
    return views;
  }
};

/// Takes another product's tiles, and leaves the sums as they are.
class NoProduct final : public core::Product {
 public:
  explicit NoProduct(const core::Product& other)
      : Product(other.implementation(), other.row_block(), other.column_block(),
                other.multiplications_per_nanosecond()) {}
  void run(std::int64_t, std::int64_t, const std::uint8_t*, const std::int8_t*, const std::int32_t*, std::int32_t*,
           std::int64_t) const override {}
};

/// The node's plan, with given products.
class Planned {
 public:
  Planned(Job& job, core::LstmProducts products) : inputs_(job.inputs()), outputs_(job.outputs()) {
    const Options options;
    const std::string label = "octet_bench";
    const core::OpDef& op = *core::find_op(job.node.domain, job.node.op_type, job.node.opset_version);
    const LstmShape& shape = job.shape;
    core::LstmConstants constants;
    constants.w = core::pack_gate_weights(inputs_[LstmPorts::w], shape.input, shape.hidden);
    constants.r = core::pack_gate_weights(inputs_[LstmPorts::r], shape.hidden, shape.hidden);
    auto memory = core::aligned_array<std::uint8_t>(core::LstmParameterMemory::bytes(shape));
    core::LstmParameterMemory::fill(inputs_.data(), shape, memory.get(), constants.parameters.data());
    constants.parameter_memory = std::move(memory);
    const std::vector<core::TensorInfo> inputs{{DataType::float32, job.x_dims}}, y{{DataType::float32, job.y_dims}};
    plan_ = std::make_unique<core::LstmPlan>(core::LstmNode({op, job.node, options, label}),
                                             core::PlanRequest{inputs, y, options, label}, shape, std::move(constants),
                                             Decision{}, std::move(products));
  }
  void run() const { plan_->run(Call{}, inputs_.data(), outputs_.data()); }

 private:
  std::vector<TensorView> inputs_, outputs_;
  std::unique_ptr<core::LstmPlan> plan_;
};

core::LstmProducts products_of_nothing(const LstmShape& shape) {
  const auto product = [&](std::int64_t rows, std::int64_t k) {
    const auto choice = core::choose_product({}, "octet_bench", {rows, shape.columns(), k});
    return std::make_unique<NoProduct>(*choice.chosen);
  };
  core::LstmProducts products;
  products.input = product(shape.batch * shape.steps, shape.input);
  products.state = product(shape.batch, shape.hidden);
  products.piece = {products.state->row_block(), products.state->column_block()};
  products.multiplications_per_nanosecond = products.state->multiplications_per_nanosecond();
  return products;
}

/// The passes alone: sums of the inputs of a chunk of steps to gates, then for each step sums, gates and cells to
/// states.
class GatePasses {
 public:
  GatePasses(const LstmShape& shape, const core::LstmProducts& products)
      : shape_(shape),
        layout_(shape, shape.batch, 1, products.piece, false),
        chunk_steps_(std::min(shape.steps, layout_.input_rows / shape.batch)),
        gates_(static_cast<std::size_t>(layout_.input_rows * shape.columns())),
        tile_(static_cast<std::size_t>(layout_.tile_rows * layout_.tile_columns), 100),
        row_scale_(static_cast<std::size_t>(layout_.input_rows), 0.01F),
        row_zero_point_(row_scale_.size(), 128),
        column_scale_(static_cast<std::size_t>(shape.columns()), 0.01F),
        column_sum_(column_scale_.size(), 100),
        c_(static_cast<std::size_t>(shape.batch * shape.units())),
        h_(c_.size()) {}

  void run() {
    for (std::int64_t step = 0; step < shape_.steps; ++step) {
      if (step % chunk_steps_ == 0) finish_inputs(std::min(chunk_steps_, shape_.steps - step) * shape_.batch);
      const float* gates = gates_.data() + step % chunk_steps_ * shape_.batch * shape_.columns();
      for (std::int64_t n = 0; n < shape_.columns(); n += layout_.tile_columns)
        for (std::int64_t m = 0; m < shape_.batch; m += layout_.tile_rows) step_cells(gates, m, n);
    }
  }

 private:
  vector::RowwiseSums sums(std::int64_t rows, std::int64_t columns, const std::int32_t* acc,
                           std::int64_t stride) const {
    return {rows,
            columns,
            acc,
            stride,
            row_scale_.data(),
            row_zero_point_.data(),
            nullptr,
            column_scale_.data(),
            column_sum_.data(),
            nullptr};
  }
  void finish_inputs(std::int64_t rows) {
    // What an earlier pass has left serves as sums.
    vector::RowwiseTile tile{};
    tile.sums = sums(rows, shape_.columns(), reinterpret_cast<const std::int32_t*>(gates_.data()), shape_.columns());
    tile.bias = column_scale_.data();
    tile.y = gates_.data();
    tile.y_stride = shape_.columns();
    vector::kernels().rowwise->finish(tile);
  }
  void step_cells(const float* gates, std::int64_t m, std::int64_t n) {
    vector::CellStep cells{};
    cells.sums = sums(std::min(layout_.tile_rows, shape_.batch - m),
                      std::min(layout_.tile_columns, shape_.columns() - n), tile_.data(), layout_.tile_columns);
    cells.inputs = gates + m * shape_.columns() + n;
    cells.inputs_stride = shape_.columns();
    cells.c = c_.data() + m * shape_.units() + n / vector::kGates;
    cells.h = h_.data() + m * shape_.units() + n / vector::kGates;
    cells.state_stride = shape_.units();
    cells.g = cells.h_function = {vector::Activation::tanh};
    cells.clip = INFINITY;
    vector::kernels().lstm->cell_step(cells);
  }

  LstmShape shape_;
  core::LstmStreamMemory layout_;
  std::int64_t chunk_steps_;
  std::vector<float> gates_;
  std::vector<std::int32_t> tile_;
  std::vector<float> row_scale_;
  std::vector<std::int32_t> row_zero_point_;
  std::vector<float> column_scale_;
  std::vector<std::int32_t> column_sum_;
  std::vector<float> c_, h_;
};

}  // namespace

Outcome run_lstm(std::istream& words, double seconds) {
  Job job(words);
  const std::vector<TensorView> inputs = job.inputs(), outputs = job.outputs();
  const Operator octet(job.node);
  GatePasses gates(job.shape, products_of_nothing(job.shape));
  const Planned without(job, products_of_nothing(job.shape));
  Outcome outcome;
  outcome.contenders.push_back({"octet", "octet::Operator", [&](std::size_t) { octet.run(inputs, outputs); }});
  outcome.contenders.push_back({"without products", "", [&](std::size_t) { without.run(); }});
  outcome.contenders.push_back({"gates", "", [&](std::size_t) { gates.run(); }});
  measure(outcome.contenders, 1, seconds);
  return outcome;
}

}  // namespace octet::benchmark
