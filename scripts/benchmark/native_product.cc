// The matmul family against oneDNN's matmul primitive.
#include <algorithm>
#include <cmath>
#include <istream>
#include <memory>

#include "scripts/benchmark/bare_onednn.hpp"
#include "scripts/benchmark/native.hpp"

namespace octet::benchmark {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::int64_t bytes_of(DataType type) { return type == DataType::uint8 || type == DataType::int8 ? 1 : 4; }

/// The operands of one case. s8 weights are symmetric with a scale for each column; u8 weights have one scale and a
/// zero point, as quantizers make them.
struct Job {
  std::string op;
  DataType a_type, b_type, y_type;
  bool constant;
  std::int64_t m, k, n;

  bool dynamic;     ///< A is float
  bool asymmetric;  ///< B has a zero point
  std::vector<float> a_floats;
  Bytes a;
  std::vector<Bytes> b;  ///< one for each copy
  std::uint8_t a_zero_point, b_zero_point, y_zero_point;
  float a_scale = 0.021F, y_scale;
  std::vector<float> b_scale, bias;
  std::vector<std::int32_t> c;
  Bytes zeros;

  explicit Job(std::istream& words) {
    std::string a_name, b_name, y_name, weights;
    std::uint32_t copies = 0;
    words >> op >> a_name >> b_name >> y_name >> weights >> m >> k >> n >> copies;
    if (!words || m < 1 || k < 1 || n < 1 || copies < 1)
      throw Error(ErrorCode::invalid_argument, "octet_bench: a product needs types, weights, m, k, n and copies");
    a_type = type_named(a_name);
    b_type = type_named(b_name);
    y_type = type_named(y_name);
    constant = weights == "constant";
    dynamic = a_type == DataType::float32;
    asymmetric = b_type == DataType::uint8;
    fill(copies);
  }

  void fill(std::uint32_t copies) {
    if (dynamic)
      a_floats = random_floats(m * k, 1);
    else
      a = random_bytes(m * k, 1);
    for (std::uint32_t i = 0; i < copies; ++i) b.push_back(random_bytes(k * n, 2 + i));
    a_zero_point = a_type == DataType::int8 ? 0xF0 : 113;
    b_zero_point = 130;
    y_zero_point = y_type == DataType::int8 ? 3 : 131;
    y_scale = a_scale * 0.01F * 60.0F * std::sqrt(static_cast<float>(k));
    b_scale = random_floats(asymmetric ? 1 : n, 3);
    for (float& scale : b_scale) scale = 0.01F + 0.002F * scale;
    bias = random_floats(n, 4);
    for (const float value : bias) c.push_back(static_cast<std::int32_t>(value * 1e4F));
    zeros.assign(b_scale.size(), 0);
  }
};

ValueInfo one(DataType type, const void* value) { return {type, std::vector<std::int64_t>{}, value}; }

template <class T>
ValueInfo row(DataType type, const std::vector<T>& values) {
  if (values.size() == 1) return one(type, values.data());
  return {type, std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())}, values.data()};
}

Node describe(const Job& job, const Bytes& weights) {
  const bool onnx = job.op == "MatMulInteger" || job.op == "QLinearMatMul";
  Node node;
  node.op_type = job.op;
  node.domain = onnx ? "" : "com.microsoft";
  node.opset_version = onnx ? 21 : 1;
  const ValueInfo a{job.a_type, std::vector<std::int64_t>{job.m, job.k}, nullptr};
  const ValueInfo b{job.b_type, std::vector<std::int64_t>{job.k, job.n}, job.constant ? weights.data() : nullptr};
  const ValueInfo a_scale = one(DataType::float32, &job.a_scale);
  const ValueInfo a_zero_point = one(job.a_type, &job.a_zero_point);
  const ValueInfo b_scale = row(DataType::float32, job.b_scale);
  const ValueInfo b_zero_point = job.asymmetric ? one(job.b_type, &job.b_zero_point) : ValueInfo();
  const ValueInfo required_b_zero_point = job.asymmetric ? b_zero_point : row(job.b_type, job.zeros);
  const ValueInfo bias = row(DataType::float32, job.bias);
  const ValueInfo y_scale = one(DataType::float32, &job.y_scale);
  const ValueInfo y_zero_point = one(job.y_type, &job.y_zero_point);
  if (job.op == "MatMulInteger") {
    node.inputs = {a, b, a_zero_point, b_zero_point};
  } else if (job.op == "MatMulIntegerToFloat") {
    node.inputs = {a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias};
  } else if (job.op == "DynamicQuantizeMatMul") {
    node.inputs = {a, b, b_scale, b_zero_point, bias};
  } else if (job.op == "QLinearMatMul") {
    node.inputs = {a, a_scale, a_zero_point, b, b_scale, required_b_zero_point, y_scale, y_zero_point};
  } else if (job.op == "QGemm") {
    node.inputs = {a, a_scale, a_zero_point, b, b_scale, required_b_zero_point, row(DataType::int32, job.c)};
    if (job.y_type != DataType::float32) node.inputs.insert(node.inputs.end(), {y_scale, y_zero_point});
  } else {
    throw Error(ErrorCode::invalid_argument, "octet_bench: no product '" + job.op + "'");
  }
  return node;
}

/// Octet's operators for a job, one for each copy of the weights, and the views that a run takes.
class OctetProduct {
 public:
  explicit OctetProduct(const Job& job)
      : a_dims_{job.m, job.k},
        b_dims_{job.k, job.n},
        y_dims_{job.m, job.n},
        y_(static_cast<std::size_t>(job.m * job.n * bytes_of(job.y_type))),
        outputs_{TensorView(y_.data(), job.y_type, y_dims_)} {
    const std::size_t b_port = job.op == "QLinearMatMul" || job.op == "QGemm" ? 3 : 1;
    for (const Bytes& weights : job.b) {
      const Node node = describe(job, weights);
      operators_.emplace_back(node);
      std::vector<TensorView> inputs(node.inputs.size());
      const void* a = job.dynamic ? static_cast<const void*>(job.a_floats.data()) : job.a.data();
      inputs[0] = TensorView(a, job.a_type, a_dims_);
      if (!job.constant) inputs[b_port] = TensorView(weights.data(), job.b_type, b_dims_);
      inputs_.push_back(std::move(inputs));
    }
  }

  void run(std::size_t copy) const { operators_[copy].run(inputs_[copy], outputs_); }
  std::string implementation() const {
    const Decision decision = operators_[0].explain(inputs_[0]);
    return decision.backend + " " + decision.implementation;
  }
  const Bytes& y() const noexcept { return y_; }

 private:
  const std::vector<std::int64_t> a_dims_, b_dims_, y_dims_;
  std::vector<std::vector<TensorView>> inputs_;
  std::vector<Operator> operators_;
  Bytes y_;
  std::vector<TensorView> outputs_;
};

/// The whole job by oneDNN's primitives: A's quantization, where it is part of it, and the product with its scales,
/// zero points and bias. QGemm's int32 addend is constant, so it is given as a bias in real units.
class OnednnProduct {
 public:
  /// Null where oneDNN has nothing but a reference loop.
  static std::shared_ptr<OnednnProduct> make(const Job& job, WeightsLayout layout) {
    std::shared_ptr<OnednnProduct> product(new OnednnProduct(job));
    product->matmul_ = BareProduct::make(product->describe(job), layout);
    return product->matmul_ ? product : nullptr;
  }

  void run(std::size_t copy) {
    if (quantize_) {
      const MinMax range = min_max(job_.a_floats.data(), job_.m * job_.k);
      a_scale_ = (range.max - range.min) / 255.0F;
      a_zero_point_ = static_cast<std::int32_t>(std::nearbyint(-range.min / a_scale_));
      quantize_->run();
    }
    matmul_->run(copy);
  }
  const std::string& implementation() const { return matmul_->implementation(); }
  const Bytes& y() const noexcept { return y_; }

 private:
  explicit OnednnProduct(const Job& job)
      : job_(job), y_(static_cast<std::size_t>(job.m * job.n * bytes_of(job.y_type))), a_scale_(job.a_scale) {
    a_zero_point_ = job.a_type == DataType::int8 ? static_cast<std::int8_t>(job.a_zero_point) : job.a_zero_point;
    y_zero_point_ = job.y_type == DataType::int8 ? static_cast<std::int8_t>(job.y_zero_point) : job.y_zero_point;
    const bool quantized = job.op == "QGemm";
    for (std::size_t i = 0; i < job.bias.size(); ++i)
      bias_.push_back(quantized ? static_cast<float>(job.c[i]) * (job.a_scale * job.b_scale[i]) : job.bias[i]);
    if (!job.dynamic) return;
    quantized_a_.resize(job.a_floats.size());
    quantize_ =
        std::make_unique<BareReorder>(job.m, job.k, dnnl::memory::data_type::f32, dnnl::memory::data_type::u8, false,
                                      job.a_floats.data(), quantized_a_.data(), &a_scale_, &a_zero_point_);
  }

  BareProductJob describe(const Job& job) {
    const auto type = [](DataType wanted) {
      return wanted == DataType::int8 ? dnnl::memory::data_type::s8 : dnnl::memory::data_type::u8;
    };
    const bool integer = job.y_type == DataType::int32;
    const bool requantizes = bytes_of(job.y_type) == 1;
    BareProductJob bare{};
    bare.m = job.m;
    bare.k = job.k;
    bare.n = job.n;
    bare.a_type = type(job.a_type);
    bare.y_type = requantizes ? type(job.y_type)
                  : integer   ? dnnl::memory::data_type::s32
                              : dnnl::memory::data_type::f32;
    bare.a = job.dynamic ? quantized_a_.data() : const_cast<std::uint8_t*>(job.a.data());
    for (const Bytes& weights : job.b) bare.b.push_back(const_cast<std::uint8_t*>(weights.data()));
    bare.y = y_.data();
    bare.a_zero_point = &a_zero_point_;
    if (!integer) {
      bare.a_scale = &a_scale_;
      bare.b_scale = const_cast<float*>(job.b_scale.data());
      bare.bias = job.op == "QLinearMatMul" ? nullptr : bias_.data();
    }
    if (requantizes) {
      bare.y_scale = const_cast<float*>(&job.y_scale);
      bare.y_zero_point = &y_zero_point_;
    }
    return bare;
  }

  const Job& job_;
  Bytes y_, quantized_a_;
  float a_scale_;
  std::int32_t a_zero_point_, y_zero_point_;
  std::vector<float> bias_;
  std::unique_ptr<BareReorder> quantize_;
  std::unique_ptr<BareProduct> matmul_;
};

template <class T>
std::int64_t count_differing(const Bytes& left, const Bytes& right, double absolute, double relative) {
  const auto* x = reinterpret_cast<const T*>(left.data());
  const auto* y = reinterpret_cast<const T*>(right.data());
  std::int64_t count = 0;
  for (std::size_t i = 0; i < left.size() / sizeof(T); ++i) {
    const double a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
    count += std::fabs(a - b) > absolute + relative * std::fabs(b);
  }
  return count;
}

/// int32 must be equal; 8 bits may differ where a rounding went the other way, floats in their last bits. (oneDNN
/// rounds scales in another order, and quantizes by a reciprocal: a step more or less of A moves a sum by up to 255
/// steps of B.)
std::int64_t count_differing(const Job& job, const Bytes& left, const Bytes& right) {
  switch (job.y_type) {
    case DataType::uint8:
      return count_differing<std::uint8_t>(left, right, 1, 0);
    case DataType::int8:
      return count_differing<std::int8_t>(left, right, 1, 0);
    case DataType::int32:
      return count_differing<std::int32_t>(left, right, 0, 0);
    default:
      return count_differing<float>(left, right, job.dynamic ? 0.1 : 1e-3, 1e-5);
  }
}

}  // namespace

Outcome run_product(std::istream& words, double seconds) {
  const Job job(words);
  const OctetProduct octet(job);
  Outcome outcome;
  outcome.contenders.push_back({"octet", octet.implementation(), [&](std::size_t copy) { octet.run(copy); }});
  std::shared_ptr<OnednnProduct> first;
  const auto add = [&](const char* name, WeightsLayout layout) {
    const auto bare = OnednnProduct::make(job, layout);
    if (bare == nullptr) return;
    if (first == nullptr) first = bare;
    outcome.contenders.push_back({name, bare->implementation(), [bare](std::size_t copy) { bare->run(copy); }});
  };
  // oneDNN has only reference loops for u8 weights.
  if (job.b_type == DataType::int8 && job.constant) {
    add("onednn any", WeightsLayout::chosen);
    add("onednn packed", WeightsLayout::packed);
  } else if (job.b_type == DataType::int8) {
    add("onednn plain", WeightsLayout::plain);
  }
  measure(outcome.contenders, job.b.size(), seconds);
  if (first) {
    octet.run(0);
    first->run(0);
    outcome.differing = count_differing(job, octet.y(), first->y());
  }
  return outcome;
}

}  // namespace octet::benchmark
