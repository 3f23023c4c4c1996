// Element-wise operators, reductions and concatenation: Octet as it chooses, its Eigen fallback, oneDNN, and what the
// memory allows. Second operand, axes and scales of a form: scripts/benchmark/elementwise.py.
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <istream>
#include <memory>
#include <numeric>

#include "scripts/benchmark/bare_onednn.hpp"
#include "scripts/benchmark/native.hpp"

namespace octet::benchmark {
namespace {

using Dims = std::vector<std::int64_t>;

bool is_8bit(DataType type) { return type == DataType::uint8 || type == DataType::int8; }

std::int64_t elements(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

struct Tensor {
  DataType dtype;
  Dims dims;
  std::vector<std::uint8_t> bytes;

  Tensor(DataType type, Dims extents, std::uint32_t seed)
      : dtype(type), dims(std::move(extents)), bytes(random_bytes(elements(dims) * (is_8bit(type) ? 1 : 4), seed)) {}
  TensorView view() const { return {bytes.data(), dtype, dims}; }
};

struct Job {
  std::string op, form;
  DataType integer;
  std::vector<Tensor> x;
  std::unique_ptr<Tensor> y;
  float scale = 0.02F, other_scale = 0.03F;
  std::uint8_t zero_point = 3, y_zero_point = 5;
  Node node;

  explicit Job(std::istream& words) {
    std::string type;
    std::size_t rank = 0;
    words >> op >> type >> form >> rank;
    Dims dims(std::min<std::size_t>(rank, 8));
    for (std::int64_t& dim : dims) words >> dim;
    if (!words) throw Error(ErrorCode::invalid_argument, "octet_bench: an element-wise case needs form and extents");
    integer = type_named(type);
    node.op_type = op;
    node.domain = "com.microsoft";
    if (is_reduction())
      describe_reduction(dims);
    else if (op == "QLinearConcat")
      describe_concat(dims);
    else if (op == "QLinearLeakyRelu" || op == "QLinearSigmoid")
      describe_unary(dims);
    else
      describe_binary(dims);
  }

  bool is_reduction() const { return op == "QLinearReduceMean" || op == "ReduceSumInteger"; }

  std::int64_t bytes_moved() const {
    std::int64_t bytes = static_cast<std::int64_t>(y->bytes.size());
    for (const Tensor& tensor : x) bytes += static_cast<std::int64_t>(tensor.bytes.size());
    return bytes;
  }

 private:
  static ValueInfo constant(DataType type, const void* value) { return {type, Dims{}, value}; }
  void input(const Dims& dims) {
    x.emplace_back(integer, dims, static_cast<std::uint32_t>(x.size()));
    node.inputs.push_back({integer, dims, nullptr});
  }
  void scale_and_zero_point(const float& value, const std::uint8_t& zero) {
    node.inputs.push_back(constant(DataType::float32, &value));
    node.inputs.push_back(constant(integer, &zero));
  }
  void output(DataType type, Dims dims) { y = std::make_unique<Tensor>(type, std::move(dims), 9); }

  void describe_binary(const Dims& dims) {
    const bool exact = op == "MulInteger";
    Dims first = dims, second = dims;
    if (form == "scalar") second = {};
    if (form == "last") second = {dims.back()};
    if (form == "channel") second = {1, dims.at(1), 1, 1};
    if (form == "outer") first = {dims.at(0), 1}, second = {1, dims.at(1)};
    for (const Dims& operand : {first, second}) {
      input(operand);
      if (exact)
        node.inputs.push_back(constant(integer, &zero_point));
      else
        scale_and_zero_point(scale, zero_point);
    }
    if (!exact) scale_and_zero_point(other_scale, y_zero_point);
    output(exact ? DataType::int32 : integer, dims);
  }

  void describe_unary(const Dims& dims) {
    input(dims);
    scale_and_zero_point(scale, zero_point);
    scale_and_zero_point(other_scale, y_zero_point);
    if (op == "QLinearLeakyRelu") node.attributes["alpha"] = 0.1F;
    output(integer, dims);
  }

  void describe_concat(const Dims& dims) {
    const std::size_t axis = std::min<std::size_t>(1, dims.size() - 1);
    node.attributes["axis"] = static_cast<std::int64_t>(axis);
    scale_and_zero_point(scale, y_zero_point);
    const bool equal = form == "equal";
    for (int i = 0; i < 2; ++i) {
      input(dims);
      scale_and_zero_point(equal ? scale : other_scale, equal ? y_zero_point : zero_point);
    }
    Dims joined = dims;
    joined[axis] *= 2;
    output(integer, joined);
  }

  void describe_reduction(const Dims& dims) {
    const auto rank = static_cast<std::int64_t>(dims.size());
    Dims axes(dims.size());
    std::iota(axes.begin(), axes.end(), 0);
    if (form == "last") axes = {rank - 1};
    if (form == "first") axes = {0};
    if (form == "spatial") axes = {2, 3};
    node.attributes["axes"] = axes;
    node.attributes["keepdims"] = std::int64_t{1};
    input(dims);
    if (op == "QLinearReduceMean") {
      scale_and_zero_point(scale, zero_point);
      scale_and_zero_point(other_scale, y_zero_point);
    }
    Dims reduced = dims;
    for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = 1;
    const DataType sums = integer == DataType::int8 ? DataType::int32 : DataType::uint32;
    output(op == "QLinearReduceMean" ? integer : sums, reduced);
  }
};

Contender octet_contender(const Job& job, const std::string& name, const std::string& backend) {
  Options options;
  options.backend = backend;
  const auto op = std::make_shared<Operator>(job.node, options);
  std::vector<TensorView> inputs(job.node.inputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (job.node.inputs[i].constant == nullptr) inputs[i] = job.x[next++].view();
  const std::vector<TensorView> outputs{job.y->view()};
  const Decision decision = op->explain(inputs);
  return {name, decision.backend + " " + decision.implementation,
          [op, inputs, outputs](std::size_t) { op->run(inputs, outputs); }};
}

Contender memcpy_contender(const Job& job) {
  const auto bytes = static_cast<std::size_t>(job.bytes_moved() / 2);
  const auto from = std::make_shared<std::vector<std::uint8_t>>(bytes, std::uint8_t{1});
  const auto to = std::make_shared<std::vector<std::uint8_t>>(bytes);
  return {"memcpy", "", [from, to](std::size_t) {
            std::memcpy(to->data(), from->data(), from->size());
            asm volatile("" : : "r"(to->data()) : "memory");
          }};
}

// The plain vector loops that the reductions are measured by: sums of 8 bytes at a time, four chains of them.
__attribute__((target("avx512bw"))) std::int64_t sum_avx512(const std::uint8_t* x, std::int64_t count) {
  __m512i sums[4] = {};
  std::int64_t i = 0;
  for (; i + 256 <= count; i += 256)
    for (int k = 0; k < 4; ++k)
      sums[k] = _mm512_add_epi64(sums[k], _mm512_sad_epu8(_mm512_loadu_si512(x + i + 64 * k), _mm512_setzero_si512()));
  alignas(64) std::int64_t parts[8];
  _mm512_store_si512(parts, _mm512_add_epi64(_mm512_add_epi64(sums[0], sums[1]), _mm512_add_epi64(sums[2], sums[3])));
  std::int64_t total = std::accumulate(parts, parts + 8, std::int64_t{0});
  for (; i < count; ++i) total += x[i];
  return total;
}

__attribute__((target("avx2"))) std::int64_t sum_avx2(const std::uint8_t* x, std::int64_t count) {
  __m256i sums[4] = {};
  std::int64_t i = 0;
  for (; i + 128 <= count; i += 128)
    for (int k = 0; k < 4; ++k) {
      const auto* at = reinterpret_cast<const __m256i*>(x + i + 32 * k);
      sums[k] = _mm256_add_epi64(sums[k], _mm256_sad_epu8(_mm256_loadu_si256(at), _mm256_setzero_si256()));
    }
  alignas(32) std::int64_t parts[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(parts),
                     _mm256_add_epi64(_mm256_add_epi64(sums[0], sums[1]), _mm256_add_epi64(sums[2], sums[3])));
  std::int64_t total = std::accumulate(parts, parts + 4, std::int64_t{0});
  for (; i < count; ++i) total += x[i];
  return total;
}

Contender sum_contender(const Job& job) {
  const bool is_wide = std::string(cpu_isa()).rfind("avx512", 0) == 0;
  const auto sum = is_wide ? sum_avx512 : sum_avx2;
  return {"plain sum", "", [&job, sum](std::size_t) {
            const std::int64_t total = sum(job.x[0].bytes.data(), static_cast<std::int64_t>(job.x[0].bytes.size()));
            asm volatile("" : : "r"(total));
          }};
}

void add_onednn(const Job& job, std::vector<Contender>& contenders) {
  BareElementwiseJob bare{};
  bare.op = job.op;
  bare.is_signed = job.integer == DataType::int8;
  bare.rescales = job.form == "different";
  bare.y = job.y->view().data;
  bare.y_dims = job.y->dims;
  for (const Tensor& tensor : job.x) {
    bare.x.push_back(tensor.view().data);
    bare.x_dims.push_back(tensor.dims);
  }
  const std::shared_ptr<BareElementwise> made = BareElementwise::make(bare);
  if (made) contenders.push_back({"onednn", made->implementation(), [made](std::size_t) { made->run(); }});
}

}  // namespace

Outcome run_elementwise(std::istream& words, double seconds) {
  const Job job(words);
  Outcome outcome;
  outcome.contenders = {octet_contender(job, "octet", "auto"), octet_contender(job, "eigen", "eigen")};
  add_onednn(job, outcome.contenders);
  outcome.contenders.push_back(job.is_reduction() ? sum_contender(job) : memcpy_contender(job));
  measure(outcome.contenders, 1, seconds);
  return outcome;
}

}  // namespace octet::benchmark
