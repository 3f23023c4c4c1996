// The quantize family against oneDNN's reorder, and against a memcpy that moves as many bytes.
#include <cmath>
#include <cstring>
#include <istream>
#include <memory>

#include "scripts/benchmark/bare_onednn.hpp"
#include "scripts/benchmark/native.hpp"

namespace octet::benchmark {
namespace {

struct Job {
  std::string op;
  DataType integer;
  bool per_column;
  std::int64_t rows, columns;

  std::vector<float> floats, scale;
  std::vector<std::uint8_t> bytes, zero_point;
  float dynamic_scale = 0;
  std::uint8_t dynamic_zero_point = 0;

  explicit Job(std::istream& words) {
    std::string type, granularity;
    words >> op >> type >> granularity >> rows >> columns;
    if (!words || rows < 1 || columns < 1)
      throw Error(ErrorCode::invalid_argument, "octet_bench: a quantization needs type, granularity, rows and columns");
    integer = type_named(type);
    per_column = granularity == "axis";
    floats = random_floats(rows * columns, 1);
    bytes = random_bytes(rows * columns, 2);
    scale = random_floats(per_column ? columns : 1, 3);
    for (float& value : scale) value = 0.01F + 0.002F * value;
    zero_point = random_bytes(per_column ? columns : 1, 4);
  }

  bool quantizes() const { return op != "DequantizeLinear"; }
  bool dynamic() const { return op == "DynamicQuantizeLinear"; }
};

Node describe(const Job& job) {
  const std::vector<std::int64_t> parameters =
      job.per_column ? std::vector<std::int64_t>{job.columns} : std::vector<std::int64_t>{};
  Node node;
  node.op_type = job.op;
  node.domain = "";
  node.opset_version = 21;
  const DataType x = job.quantizes() ? DataType::float32 : job.integer;
  node.inputs = {{x, std::vector<std::int64_t>{job.rows, job.columns}, nullptr}};
  if (job.dynamic()) return node;
  node.attributes["axis"] = std::int64_t{1};
  node.inputs.push_back({DataType::float32, parameters, job.scale.data()});
  node.inputs.push_back({job.integer, parameters, job.zero_point.data()});
  return node;
}

Contender octet_contender(Job& job) {
  const std::vector<std::int64_t> dims{job.rows, job.columns};
  const auto op = std::make_shared<Operator>(describe(job));
  const auto extents = std::make_shared<std::vector<std::int64_t>>(dims);
  const TensorView in_float(job.floats.data(), DataType::float32, *extents);
  const TensorView in_bytes(job.bytes.data(), job.integer, *extents);
  std::vector<TensorView> inputs{job.quantizes() ? in_float : in_bytes};
  std::vector<TensorView> outputs{job.quantizes() ? in_bytes : in_float};
  if (job.dynamic()) {
    outputs.emplace_back(&job.dynamic_scale, DataType::float32, nullptr, 0);
    outputs.emplace_back(&job.dynamic_zero_point, DataType::uint8, nullptr, 0);
  } else {
    inputs.resize(3);
  }
  const Decision decision = op->explain(inputs);
  return {"octet", decision.backend + " " + decision.implementation,
          [op, extents, inputs, outputs](std::size_t) { op->run(inputs, outputs); }};
}

/// The conversion by a reorder; before it, where the range is not known, a pass over x.
Contender onednn_contender(Job& job) {
  struct State {
    std::vector<float> scale;
    std::vector<std::int32_t> zero_point;
    std::unique_ptr<BareReorder> reorder;
  };
  const auto state = std::make_shared<State>();
  state->scale = job.scale;
  const bool is_signed = job.integer == DataType::int8;
  for (const std::uint8_t byte : job.zero_point)
    state->zero_point.push_back(is_signed ? static_cast<std::int8_t>(byte) : byte);
  const auto f32 = dnnl::memory::data_type::f32;
  const auto integer = is_signed ? dnnl::memory::data_type::s8 : dnnl::memory::data_type::u8;
  const bool quantizes = job.quantizes();
  const void* x = quantizes ? static_cast<const void*>(job.floats.data()) : job.bytes.data();
  void* y = quantizes ? static_cast<void*>(job.bytes.data()) : job.floats.data();
  state->reorder =
      std::make_unique<BareReorder>(job.rows, job.columns, quantizes ? f32 : integer, quantizes ? integer : f32,
                                    job.per_column, x, y, state->scale.data(), state->zero_point.data());
  const std::string implementation = state->reorder->implementation();
  if (!job.dynamic()) return {"onednn reorder", implementation, [state](std::size_t) { state->reorder->run(); }};
  return {"onednn reorder", implementation, [state, &job](std::size_t) {
            const MinMax range = min_max(job.floats.data(), job.rows * job.columns);
            state->scale[0] = (range.max - range.min) / 255.0F;
            state->zero_point[0] = static_cast<std::int32_t>(std::nearbyint(-range.min / state->scale[0]));
            state->reorder->run();
          }};
}

/// n floats and n bytes move, and the floats once more where their range is looked for first: half as many are copied.
Contender memcpy_contender(const Job& job) {
  const auto bytes = static_cast<std::size_t>(job.rows * job.columns * (job.dynamic() ? 9 : 5) / 2);
  const auto from = std::make_shared<std::vector<std::uint8_t>>(bytes, std::uint8_t{1});
  const auto to = std::make_shared<std::vector<std::uint8_t>>(bytes);
  return {"memcpy", "", [from, to](std::size_t) {
            std::memcpy(to->data(), from->data(), from->size());
            asm volatile("" : : "r"(to->data()) : "memory");
          }};
}

}  // namespace

Outcome run_quantize(std::istream& words, double seconds) {
  Job job(words);
  Outcome outcome;
  outcome.contenders = {octet_contender(job), onednn_contender(job), memcpy_contender(job)};
  measure(outcome.contenders, 1, seconds);
  return outcome;
}

}  // namespace octet::benchmark
