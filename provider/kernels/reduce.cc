// The reduce family: ReduceSumInteger, QLinearReduceMean. Formulas: provider/ops/reduce.cc.
#include <cmath>

#include "provider/core/scratch.hpp"
#include "provider/kernels/elementwise.hpp"
#include "provider/kernels/kernels.hpp"
#include "provider/kernels/reduce_walk.hpp"

namespace octet::core {
namespace {

enum Input : std::size_t { kData, kDataScale, kDataZeroPoint, kReducedScale, kReducedZeroPoint };

// The sums of a block stay in the first-level cache until they are means.
constexpr std::int64_t kBlock = 4096;
constexpr double kNanosecondsPerElement = 0.03;

/// Which dimensions are reduced: those of `axes`, or all where it is empty.
std::vector<bool> reduced_dimensions(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<bool> reduced(rank, axes.empty());
  for (const std::int64_t axis : axes)
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
  return reduced;
}

/// Elements that one result is made from.
std::int64_t count_of(const std::vector<std::int64_t>& dims, const std::vector<bool>& reduced) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (reduced[d]) count *= dims[d];
  return count;
}

/// Where sums go: they are the results, or become means.
struct Results {
  std::int32_t* sums = nullptr;  ///< null: means are wanted
  std::uint8_t* means = nullptr;
  vector::MeanParameters parameters{};
};

class ReducePlan final : public Plan {
 public:
  ReducePlan(Decision decision, ReduceLoops loops, const PlanRequest& request, const std::vector<bool>& reduced,
             bool is_mean)
      : Plan(std::move(decision)),
        loops_(std::move(loops)),
        is_mean_(is_mean),
        is_signed_(signed_index(request.inputs[kData].dtype)),
        elements_(request.inputs[kData].elements()),
        results_(request.outputs[0].elements()),
        count_(count_of(request.inputs[kData].dims, reduced)),
        walk_(request.inputs[kData].dims, reduced),
        block_steps_(std::max<std::int64_t>(1, kBlock / walk_.kept().sum_stride)) {}

  void run(const Call& call, const TensorView* inputs, const TensorView* outputs) const override {
    const auto* x = inputs[kData].as<const std::uint8_t>();
    Results results;
    if (!is_mean_) {
      results.sums = outputs[0].as<std::int32_t>();
      if (elements_ == 0)
        std::fill_n(results.sums, results_, 0);
      else
        reduce<std::int32_t>(call, x, results);
      return;
    }
    results.means = outputs[0].as<std::uint8_t>();
    results.parameters.shift = count_ * zero_point_of(inputs[kDataZeroPoint]);
    results.parameters.scale = static_cast<double>(scale_of(inputs[kDataScale]));
    results.parameters.divisor = static_cast<double>(count_) * static_cast<double>(scale_of(inputs[kReducedScale]));
    results.parameters.zero_point = zero_point_of(inputs[kReducedZeroPoint]);
    if (count_ <= vector::kExactCount)
      reduce<std::int32_t>(call, x, results);
    else
      reduce<std::int64_t>(call, x, results);
  }

 private:
  /// With sums of type Total.
  template <class Total>
  void reduce(const Call& call, const std::uint8_t* x, const Results& results) const {
    const std::size_t parts = parts_for(call, static_cast<double>(elements_) * kNanosecondsPerElement);
    // Parts that share results have sums of their own: worth it where these are few beside the elements.
    const auto sharing =
        static_cast<std::size_t>(std::min({static_cast<std::int64_t>(parts), count_ / 64, walk_.reduced().extent}));
    if (sharing > static_cast<std::size_t>(walk_.kept().extent))
      reduce_shared<Total>(call, sharing, x, results);
    else
      reduce_blocks<Total>(call, parts, x, results);
  }

  /// Each part has results of its own, and takes them in blocks.
  template <class Total>
  void reduce_blocks(const Call& call, std::size_t parts, const std::uint8_t* x, const Results& results) const {
    const ReduceWalk::Loop& kept = walk_.kept();
    std::int64_t steps = block_steps_;
    if (parts > 1) {
      const auto wanted = static_cast<std::int64_t>(parts);
      steps = std::min(steps, (kept.extent + wanted - 1) / wanted);
      if (kept.x_stride == 1) steps = (steps + 63) / 64 * 64;  // whole registers of columns
      parts = std::min(parts, static_cast<std::size_t>((kept.extent + steps - 1) / steps));
    }
    parallel_for(call, parts, [&](std::size_t i) {
      const Range range = split(kept.extent, steps, parts, i);
      const std::int64_t most = std::min(steps, range.end - range.begin) * kept.sum_stride;
      const Scratch memory(results.sums ? 0 : room_for<Total>(most));
      for (std::int64_t begin = range.begin; begin < range.end; begin += steps) {
        const Range block{begin, std::min(begin + steps, range.end)};
        const std::int64_t first = begin * kept.sum_stride;
        if (results.sums != nullptr) {
          sum(block, {0, walk_.reduced().extent}, x, results.sums + first, nullptr);
        } else {
          auto* sums = memory.as<Total>();
          const std::int64_t count = (block.end - block.begin) * kept.sum_stride;
          sum(block, {0, walk_.reduced().extent}, x, sums, reinterpret_cast<std::int32_t*>(sums + count));
          finish(results, first, count, sums);
        }
      }
    });
  }

  /// Each part sums some of the elements of every result.
  template <class Total>
  void reduce_shared(const Call& call, std::size_t parts, const std::uint8_t* x, const Results& results) const {
    const std::size_t room = (room_for<Total>(results_) + 63) / 64 * 64;
    const Scratch memory(room * parts);
    const auto sums_of = [&](std::size_t i) { return reinterpret_cast<Total*>(memory.bytes() + i * room); };
    parallel_for(call, parts, [&](std::size_t i) {
      sum({0, walk_.kept().extent}, split(walk_.reduced().extent, 1, parts, i), x, sums_of(i),
          reinterpret_cast<std::int32_t*>(sums_of(i) + results_));
    });
    for (std::size_t i = 1; i < parts; ++i)
      for (std::int64_t k = 0; k < results_; ++k) sums_of(0)[k] = sum_of(sums_of(0)[k], sums_of(i)[k]);
    finish(results, 0, results_, sums_of(0));
  }

  static std::int32_t sum_of(std::int32_t a, std::int32_t b) noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
  static std::int64_t sum_of(std::int64_t a, std::int64_t b) noexcept { return a + b; }

  template <class Total>
  static std::size_t room_for(std::int64_t count) noexcept {
    const std::size_t room = sizeof(Total) == sizeof(std::int64_t) ? sizeof(std::int32_t) : 0;
    return static_cast<std::size_t>(count) * (sizeof(Total) + room);
  }

  void sum(Range kept, Range reduced, const std::uint8_t* x, std::int32_t* sums, std::int32_t*) const {
    walk_.sum(loops_.loops, is_signed_, kept, reduced, x, sums);
  }
  void sum(Range kept, Range reduced, const std::uint8_t* x, std::int64_t* sums, std::int32_t* room) const {
    walk_.sum(loops_.loops, is_signed_, kept, reduced, x, sums, room);
  }

  void finish(const Results& results, std::int64_t first, std::int64_t count, const std::int32_t* sums) const {
    if (results.sums != nullptr)
      std::copy_n(sums, count, results.sums + first);
    else
      loops_.loops.mean[is_signed_](sums, static_cast<std::size_t>(count), results.parameters, results.means + first);
  }
  /// Means of so many elements are few.
  void finish(const Results& results, std::int64_t first, std::int64_t count, const std::int64_t* sums) const {
    const vector::MeanParameters& mean = results.parameters;
    const double lowest = is_signed_ != 0 ? -128 : 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(static_cast<double>(sums[i] - mean.shift) * mean.scale / mean.divisor);
      const double level = std::isnan(value) ? lowest : std::nearbyint(static_cast<double>(value)) + mean.zero_point;
      results.means[first + i] =
          static_cast<std::uint8_t>(static_cast<std::int32_t>(std::clamp(level, lowest, lowest + 255)));
    }
  }

  const ReduceLoops loops_;
  const bool is_mean_;
  const std::size_t is_signed_;
  const std::int64_t elements_;
  const std::int64_t results_;
  const std::int64_t count_;
  const ReduceWalk walk_;
  const std::int64_t block_steps_;  ///< of the outermost kept loop, whose sums are a block
};

class ReduceKernel final : public Kernel {
 public:
  explicit ReduceKernel(const NodeContext& node)
      : is_mean_(node.op.name == "QLinearReduceMean"), axes_(node.attribute<std::vector<std::int64_t>>("axes")) {}

  std::unique_ptr<const Plan> plan(const PlanRequest& request) const override {
    Choice<ReduceLoops> choice = dispatch<ReduceLoops>(
        request.options, request.label,
        {{"onednn", offer_onednn_reduce}, {"vector", offer_vector_reduce}, {"eigen", offer_eigen_reduce}});
    choice.decision.implementation = choice.chosen->implementation;
    const auto reduced = reduced_dimensions(axes_, request.inputs[kData].dims.size());
    return std::make_unique<ReducePlan>(std::move(choice.decision), *choice.chosen, request, reduced, is_mean_);
  }

 private:
  bool is_mean_;
  std::vector<std::int64_t> axes_;
};

}  // namespace

std::unique_ptr<const Kernel> make_reduce_kernel(const NodeContext& node) {
  return std::make_unique<ReduceKernel>(node);
}

}  // namespace octet::core
