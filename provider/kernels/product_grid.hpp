// How the output of a product is cut into parts for threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "primitives/vector/matmul_kernels.hpp"
#include "provider/core/cpu.hpp"
#include "provider/kernels/packed_weights.hpp"

namespace octet::core {

struct ProductGrid {
  std::size_t bands = 1;    ///< of rows
  std::size_t columns = 1;  ///< in whole blocks

  std::size_t count() const noexcept { return bands * columns; }
};

/// With few rows, reading weights from memory is what takes the time; packed ones come from caches where they have
/// room.
inline double reading_nanoseconds(double weights, bool packed) noexcept {
  constexpr double kNanosecondsPerWeight = 0.05;
  return packed && HeldBytes::total() <= last_cache_bytes() ? 0 : weights * kNanosecondsPerWeight;
}

/// At most `wanted` parts of an m x n output.
///
/// Bands share nothing but B, so that nothing else moves between the caches of cores; but each reads all of B, and
/// where B is packed or quantized in the run, does so again. Blocks of columns share the rows of A.
inline ProductGrid cut_product(std::size_t wanted, std::int64_t m, std::int64_t n, std::int64_t k, bool packed) {
  constexpr std::int64_t kCachedWeights = 1024 * 1024, kLeastRows = 16, kLeastRowsBeyondCache = 64;
  const auto limited = [](std::size_t parts, std::int64_t units) {
    return std::clamp<std::size_t>(static_cast<std::size_t>(units), 1, std::max<std::size_t>(parts, 1));
  };
  const std::int64_t blocks = (n + vector::kColumnBlock - 1) / vector::kColumnBlock;
  ProductGrid grid;
  if (packed) grid.bands = limited(wanted, m / (k * n <= kCachedWeights ? kLeastRows : kLeastRowsBeyondCache));
  grid.columns = limited(wanted / grid.bands, blocks);
  if (!packed) grid.bands = limited(wanted / grid.columns, m / kLeastRows);
  return grid;
}

}  // namespace octet::core
