// A reduction as a few loops: the dimensions of the data in row-major order, neighbours of one kind joined.
#pragma once

#include <cstdint>
#include <vector>

#include "provider/core/elementwise_loops.hpp"
#include "provider/core/parallel.hpp"

namespace octet::core {

class ReduceWalk {
 public:
  struct Loop {
    std::int64_t extent;
    bool is_kept;
    std::int64_t x_stride;
    std::int64_t sum_stride;  ///< 0 where reduced
  };

  /// Dimensions of data that is not empty, and which of them are reduced.
  ReduceWalk(const std::vector<std::int64_t>& dims, const std::vector<bool>& reduced);

  /// The outermost kept loop: the sums of a range of it follow one another. Of extent 1 where all is reduced.
  const Loop& kept() const noexcept { return loops_[kept_]; }
  /// The longest reduced loop, where the elements of a sum can be cut. Of extent 1 where nothing is reduced.
  const Loop& reduced() const noexcept { return loops_[reduced_]; }

  /// sums = those of ranges of kept() and reduced(), the first one at sums[0].
  void sum(const vector::ReduceKernels& loops, std::size_t is_signed, Range kept, Range reduced, const std::uint8_t* x,
           std::int32_t* sums) const;
  /// The same, exact. `room` holds as many sums.
  void sum(const vector::ReduceKernels& loops, std::size_t is_signed, Range kept, Range reduced, const std::uint8_t* x,
           std::int64_t* sums, std::int32_t* room) const;

 private:
  /// function(x, rows, stride, n, sums offset, first) for each innermost block of data.
  /// `first`: the block is the first one of its sums.
  template <class Function>
  void walk(std::size_t level, Range kept, Range reduced, const std::uint8_t* x, std::int64_t offset, bool first,
            const Function& function) const;
  Range range_of(std::size_t level, Range kept, Range reduced) const noexcept;

  std::vector<Loop> loops_;  ///< kept and reduced ones alternate; at least two
  std::size_t kept_;
  std::size_t reduced_;
  bool sums_rows_;  ///< the innermost loop is a reduced one
};

}  // namespace octet::core
