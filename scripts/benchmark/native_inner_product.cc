// The dynamically quantized inner product against what it is made of, and against oneDNN's float products.
#include <omp.h>

#include <cstring>
#include <istream>
#include <memory>
#include <new>

#include <octet/inner_product.hpp>

#include "scripts/benchmark/bare_onednn.hpp"
#include "scripts/benchmark/native.hpp"

namespace octet::benchmark {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Type = dnnl::memory::data_type;

/// Matrices begin with a cache line, as those of frameworks do.
template <class T>
struct LineAllocator {
  static constexpr std::align_val_t kLine{64};
  using value_type = T;
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  bool operator==(const LineAllocator&) const { return true; }
  bool operator!=(const LineAllocator&) const { return false; }
};
using Floats = std::vector<float, LineAllocator<float>>;
using Halves = std::vector<std::uint16_t, LineAllocator<std::uint16_t>>;

Floats random_matrix(std::int64_t rows, std::int64_t columns, std::uint32_t seed) {
  const std::vector<float> values = random_floats(rows * columns, seed);
  return {values.begin(), values.end()};
}

/// The upper halves of floats: good enough as bfloat16 of random numbers.
Halves halves_of(const Floats& values) {
  Halves halves(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, &values[i], sizeof bits);
    halves[i] = static_cast<std::uint16_t>(bits >> 16);
  }
  return halves;
}

/// A, C and, where it comes with the run, B are of one type.
struct Job {
  DataType type;
  bool constant;
  std::int64_t m, k, n;
  int threads;
  Floats a, b;
  std::vector<float> bias;
  Halves a_halves, b_halves;
  Bytes a_bytes, b_bytes;

  explicit Job(std::istream& words) {
    std::string type_name, weights;
    words >> type_name >> weights >> m >> k >> n >> threads;
    if (!words || m < 1 || k < 1 || n < 1 || threads < 1)
      throw Error(ErrorCode::invalid_argument, "octet_bench: an inner product needs type, weights, m, k, n, threads");
    type = type_name == "bfloat16" ? DataType::bfloat16 : DataType::float32;
    constant = weights == "constant";
    a = random_matrix(m, k, 1);
    b = random_matrix(k, n, 2);
    bias = random_floats(n, 3);
    a_halves = halves_of(a);
    b_halves = halves_of(b);
    a_bytes = random_bytes(m * k, 4);
    b_bytes = random_bytes(k * n, 5);
  }
  std::size_t element() const { return type == DataType::float32 ? 4 : 2; }
  std::size_t c_bytes() const { return static_cast<std::size_t>(m * n) * element(); }
  ConstElements view(const Floats& floats, const Halves& halves) const {
    return type == DataType::float32 ? ConstElements(floats) : ConstElements(halves);
  }
};

Contender octet_contender(const Job& job, const char* name, bool constant) {
  InnerProductOptions options;
  options.a_type = options.c_type = job.type;
  options.b_type = constant ? DataType::float32 : job.type;
  options.constant_b = constant;
  options.bias = true;
  options.threads = job.threads;
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  const ConstElements weight = constant ? ConstElements(job.b) : ConstElements();
  const auto product = std::make_shared<const InnerProduct>(size(job.m), size(job.n), size(job.k), options,
                                                            InnerProductParameters{weight, {}, job.bias, {}});
  const auto c = std::make_shared<Floats>(size(job.m * job.n));
  const Decision decision = product->decision();
  return {name, decision.backend + " " + decision.implementation, [=, &job](std::size_t) {
            auto* halves = reinterpret_cast<std::uint16_t*>(c->data());
            const Elements y = job.type == DataType::float32 ? Elements(*c) : Elements(halves, c->size());
            product->forward(job.view(job.a, job.a_halves), constant ? ConstElements() : job.view(job.b, job.b_halves),
                             y);
          }};
}

/// The int32 product alone by octet::Operator, for CPUs where it is faster than oneDNN's.
Contender octet_sums(const Job& job) {
  struct State {
    std::vector<std::int64_t> a_dims, b_dims, y_dims;
    std::vector<std::int32_t> y;
    std::unique_ptr<Operator> product;
  };
  const auto state = std::make_shared<State>();
  state->a_dims = {job.m, job.k};
  state->b_dims = {job.k, job.n};
  state->y_dims = {job.m, job.n};
  state->y.resize(static_cast<std::size_t>(job.m * job.n));
  Node node;
  node.op_type = "MatMulInteger";
  node.domain = "";
  node.opset_version = 10;
  node.inputs = {{DataType::uint8}, {DataType::int8, state->b_dims, job.b_bytes.data()}};
  Options options;
  options.threads = job.threads;
  state->product = std::make_unique<Operator>(node, options);
  return {"product octet", "octet::Operator", [=, &job](std::size_t) {
            state->product->run({TensorView(job.a_bytes.data(), DataType::uint8, state->a_dims)},
                                {TensorView(state->y.data(), DataType::int32, state->y_dims)});
          }};
}

/// oneDNN's product of operands of these types; nothing where it has none but a reference loop.
void add_onednn(const Job& job, const char* name, bool constant, Type a_type, Type b_type, Type y_type, const void* a,
                const void* b, std::vector<Contender>& contenders) {
  const auto y = std::make_shared<Bytes>(static_cast<std::size_t>(job.m * job.n) * 4);
  BareProductJob bare{};
  bare.m = job.m;
  bare.k = job.k;
  bare.n = job.n;
  bare.a_type = a_type;
  bare.b_type = b_type;
  bare.y_type = y_type;
  bare.a = const_cast<void*>(a);
  bare.b = {const_cast<void*>(b)};
  bare.y = y->data();
  const std::shared_ptr<BareProduct> product =
      BareProduct::make(bare, constant ? WeightsLayout::chosen : WeightsLayout::plain);
  if (product == nullptr) return;
  contenders.push_back({name, product->implementation(), [product, y](std::size_t copy) { product->run(copy); }});
}

/// Copies half as many bytes as the operator reads and writes beyond its product: A and C where B is constant; where it
/// is not, and the parts are counted from the constant case on, B and its 8-bit form.
Contender copy(const Job& job) {
  const std::size_t bytes =
      job.constant ? job.a.size() * job.element() + job.c_bytes() : job.b.size() * (job.element() + 1);
  const auto from = std::make_shared<Bytes>(bytes / 2), to = std::make_shared<Bytes>(bytes / 2);
  return {"memcpy", "memcpy", [=, threads = job.threads](std::size_t) {
            constexpr std::size_t kWorthThreads = 256 * 1024;
            const std::size_t size = from->size(), parts = size < kWorthThreads ? 1 : static_cast<std::size_t>(threads);
#pragma omp parallel for schedule(static) if (parts > 1)
            for (std::size_t i = 0; i < parts; ++i) {
              const std::size_t begin = size * i / parts;
              std::memcpy(to->data() + begin, from->data() + begin, size * (i + 1) / parts - begin);
            }
          }};
}

}  // namespace

Outcome run_inner_product(std::istream& words, double seconds) {
  const Job job(words);
  omp_set_num_threads(job.threads);
  Outcome outcome;
  std::vector<Contender>& contenders = outcome.contenders;
  contenders.push_back(octet_contender(job, "octet", job.constant));
  if (job.constant) {
    contenders.push_back(octet_sums(job));
    add_onednn(job, "product onednn", true, Type::u8, Type::s8, Type::s32, job.a_bytes.data(), job.b_bytes.data(),
               contenders);
  } else {
    contenders.push_back(octet_contender(job, "constant", true));
  }
  contenders.push_back(copy(job));
  add_onednn(job, "onednn f32", job.constant, Type::f32, Type::f32, Type::f32, job.a.data(), job.b.data(), contenders);
  add_onednn(job, "onednn bf16", job.constant, Type::bf16, Type::bf16, Type::bf16, job.a_halves.data(),
             job.b_halves.data(), contenders);
  measure(contenders, 1, seconds, job.threads);
  omp_set_num_threads(1);
  return outcome;
}

}  // namespace octet::benchmark
