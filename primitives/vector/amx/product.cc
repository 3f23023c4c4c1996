// The integer product in AMX tiles: 16 rows of 64 activations times 64 rows of 16 packed weights, whose groups of four
// are as a tile wants them.
#include <immintrin.h>

#include "primitives/vector/kernels.hpp"

namespace octet::vector::avx512_core_amx {
namespace {

constexpr std::int64_t kTileRows = 16;
constexpr std::int64_t kTileColumns = 16;
constexpr std::int64_t kTileDepth = 64;
constexpr std::int64_t kGroupStride = kColumnBlock * kGroup;  // bytes from a group of rows of k to the next
constexpr std::int64_t kWordBytes = sizeof(std::int32_t);

// Fewer rows leave most of a tile empty.
constexpr std::int64_t kFewRows = 6;
constexpr std::int64_t kAheadRows = 32;

/// What ldtilecfg reads (Intel SDM, volume 1, "Intel AMX instructions").
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

/// The intrinsics do not tell the compiler what they read.
inline void memory_is_written() { asm volatile("" ::: "memory"); }

/// What one pass multiplies: up to 32 rows by 32 columns in 2 x 2 tiles, or 16 by 64 in 1 x 4.
struct Pass {
  std::int64_t k;  ///< a multiple of kTileDepth
  const std::uint8_t* a;
  std::int64_t a_stride;
  const std::uint8_t* a_rest;  ///< kTileDepth more of each row, filled up with zeros, kTileDepth apart; or null
  const std::int8_t* b;
  const std::int32_t* start;
  std::int64_t start_stride;
  std::int32_t* acc;
  std::int64_t acc_stride;
};

/// 0 to 3: sums; 4 and 5: activations; 6 and 7: weights.
void configure(std::int64_t rows) {
  const bool two = rows > kTileRows;
  const auto first = static_cast<std::uint8_t>(two ? kTileRows : rows);
  const auto second = static_cast<std::uint8_t>(two ? rows - kTileRows : rows);
  const std::uint8_t heights[8] = {first, first, second, second, first, second, kTileRows, kTileRows};
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = kTileDepth;
    config.rows[i] = heights[i];
  }
  memory_is_written();
  _tile_loadconfig(&config);
}

inline void fetch(Ahead& ahead) {
  for (std::int64_t i = 0; i < kAheadRows && ahead.rows > 0; ++i, --ahead.rows, ahead.first += ahead.stride)
    _mm_prefetch(reinterpret_cast<const char*>(ahead.first), _MM_HINT_T0);
}

inline void square_step(const std::uint8_t* a, std::int64_t a_stride, const std::int8_t* b) {
  _tile_loadd(4, a, a_stride);
  _tile_loadd(6, b, kGroupStride);
  _tile_dpbusd(0, 4, 6);
  _tile_loadd(7, b + kTileColumns * kGroup, kGroupStride);
  _tile_dpbusd(1, 4, 7);
  _tile_loadd(5, a + kTileRows * a_stride, a_stride);
  _tile_dpbusd(2, 5, 6);
  _tile_dpbusd(3, 5, 7);
}

inline void flat_step(const std::uint8_t* a, std::int64_t a_stride, const std::int8_t* b) {
  _tile_loadd(4, a, a_stride);
  _tile_loadd(6, b, kGroupStride);
  _tile_dpbusd(0, 4, 6);
  _tile_loadd(7, b + kTileColumns * kGroup, kGroupStride);
  _tile_dpbusd(1, 4, 7);
  _tile_loadd(6, b + 2 * kTileColumns * kGroup, kGroupStride);
  _tile_dpbusd(2, 4, 6);
  _tile_loadd(7, b + 3 * kTileColumns * kGroup, kGroupStride);
  _tile_dpbusd(3, 4, 7);
}

/// kSquare: 32 rows by 32 columns; otherwise 16 by 64.
template <bool kSquare>
constexpr std::int64_t kWidth = (kSquare ? 2 : 4) * kTileColumns;

/// Where the sums of a tile stand.
template <bool kSquare>
constexpr std::int64_t place(std::int64_t tile, std::int64_t stride) {
  return kSquare ? tile / 2 * kTileRows * stride + tile % 2 * kTileColumns : tile * kTileColumns;
}

template <bool kSquare>
void tile_pass(const Pass& pass, Ahead& ahead) {
  constexpr auto kStep = kSquare ? square_step : flat_step;
  const auto sums = [](auto* base, std::int64_t tile, std::int64_t stride) {
    return base + place<kSquare>(tile, stride);
  };
  if (pass.start) {
    const std::int64_t stride = pass.start_stride * kWordBytes;
    _tile_loadd(0, sums(pass.start, 0, pass.start_stride), stride);
    _tile_loadd(1, sums(pass.start, 1, pass.start_stride), stride);
    _tile_loadd(2, sums(pass.start, 2, pass.start_stride), stride);
    _tile_loadd(3, sums(pass.start, 3, pass.start_stride), stride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (std::int64_t i = 0; i < pass.k; i += kTileDepth) {
    fetch(ahead);
    kStep(pass.a + i, pass.a_stride, pass.b + i * kColumnBlock);
  }
  if (pass.a_rest) kStep(pass.a_rest, kTileDepth, pass.b + pass.k * kColumnBlock);
  const std::int64_t stride = pass.acc_stride * kWordBytes;
  _tile_stored(0, sums(pass.acc, 0, pass.acc_stride), stride);
  _tile_stored(1, sums(pass.acc, 1, pass.acc_stride), stride);
  _tile_stored(2, sums(pass.acc, 2, pass.acc_stride), stride);
  _tile_stored(3, sums(pass.acc, 3, pass.acc_stride), stride);
}

/// A pass whose columns are not all there: computed beside, and those that are copied.
template <bool kSquare>
void narrow_pass(const Pass& pass, std::int64_t rows, std::int64_t columns, Ahead& ahead) {
  alignas(64) std::int32_t sums[2 * kTileRows * 2 * kTileColumns];
  const std::size_t bytes = static_cast<std::size_t>(columns) * sizeof *sums;
  Pass whole = pass;
  whole.acc = sums;
  whole.acc_stride = kWidth<kSquare>;
  if (pass.start) {
    for (std::int64_t m = 0; m < rows; ++m)
      __builtin_memcpy(sums + m * kWidth<kSquare>, pass.start + m * pass.start_stride, bytes);
    whole.start = sums;
    whole.start_stride = kWidth<kSquare>;
    memory_is_written();
  }
  tile_pass<kSquare>(whole, ahead);
  for (std::int64_t m = 0; m < rows; ++m)
    __builtin_memcpy(pass.acc + m * pass.acc_stride, sums + m * kWidth<kSquare>, bytes);
}

/// All columns of up to 32 rows.
template <bool kSquare>
void row_block(Pass pass, std::int64_t rows, std::int64_t columns, std::int64_t padded, Ahead& ahead) {
  const Pass first = pass;
  for (std::int64_t n = 0; n < columns; n += kWidth<kSquare>) {
    pass.b = first.b + n / kColumnBlock * kColumnBlock * padded + n % kColumnBlock * kGroup;
    pass.acc = first.acc + n;
    if (first.start) pass.start = first.start + n;
    if (columns - n >= kWidth<kSquare>)
      tile_pass<kSquare>(pass, ahead);
    else
      narrow_pass<kSquare>(pass, rows, columns - n, ahead);
  }
}

}  // namespace

void product(const ProductTile& tile) {
  if (tile.rows < kFewRows) return avx512_core_vnni::kTable.matmul.product(tile);
  alignas(64) std::uint8_t rests[2 * kTileRows * kTileDepth];
  const std::int64_t rest = tile.k % kTileDepth, whole = tile.k - rest;
  std::int64_t configured = 0;
  Ahead ahead = tile.ahead;
  for (std::int64_t m = 0, rows = 0; m < tile.rows; m += rows) {
    rows = tile.rows - m < 2 * kTileRows ? tile.rows - m : 2 * kTileRows;
    Pass pass{whole,
              tile.a + m * tile.a_stride,
              tile.a_stride,
              nullptr,
              tile.b,
              nullptr,
              tile.start_stride,
              tile.acc + m * tile.acc_stride,
              tile.acc_stride};
    if (tile.start) pass.start = tile.start + m * tile.start_stride;
    if (rest > 0) {
      __builtin_memset(rests, 0, sizeof rests);
      for (std::int64_t i = 0; i < rows; ++i)
        __builtin_memcpy(rests + i * kTileDepth, pass.a + i * tile.a_stride + whole, static_cast<std::size_t>(rest));
      pass.a_rest = rests;
    }
    memory_is_written();
    if (rows != configured) configure(configured = rows);
    if (rows > kTileRows)
      row_block<true>(pass, rows, tile.columns, padded_k(tile.k), ahead);
    else
      row_block<false>(pass, rows, tile.columns, padded_k(tile.k), ahead);
  }
  _tile_release();
}

}  // namespace octet::vector::avx512_core_amx
