// Numpy broadcasting of two operands as a few loops over bytes: how a row-major output is walked, and where each
// operand is.
#pragma once

#include <cstdint>
#include <vector>

#include "primitives/vector/binary_kernels.hpp"
#include "provider/kernels/elementwise.hpp"

namespace octet::core {

/// A dimension of the output, and how far each operand goes in a step of it: 0 where it is broadcast.
struct BroadcastLoop {
  std::int64_t extent;
  std::int64_t a_stride;
  std::int64_t b_stride;
};

/// The loops of an output that is not empty, outermost first. Dimensions of 1 element are dropped, and neighbours that
/// both operands pass through alike are one; at least one is left.
std::vector<BroadcastLoop> broadcast_loops(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                                           const std::vector<std::int64_t>& output);

/// Long innermost loops are rows as they stand. Short ones would cost more for each row than for its elements: then the
/// output is cut into tiles of about kTile elements, and an operand that does not run along with a tile is spread over
/// it first.
class BroadcastWalk {
 public:
  explicit BroadcastWalk(std::vector<BroadcastLoop> loops);

  /// Pieces of work that may run at the same time begin at multiples of it.
  std::int64_t grain() const noexcept { return grain_; }

  /// function(form, rows) for rows that make up elements [begin, end), whose begin is a multiple of grain(). Elements
  /// of a and b are bytes; those of y have `y_size`.
  template <class Function>
  void for_each_rows(std::int64_t begin, std::int64_t end, const std::uint8_t* a, const std::uint8_t* b,
                     std::uint8_t* y, std::int64_t y_size, const Function& function) const {
    if (tiled_)
      for_each_tile(begin, end, a, b, y, y_size, function);
    else
      for_each_long_row(begin, end, a, b, y, y_size, function);
  }

 private:
  static constexpr std::int64_t kLongRow = 64;
  static constexpr std::int64_t kTile = 2048;
  static constexpr std::int64_t kSlack = 64;  ///< bytes past a spread tile that may be overwritten

  /// Where an operand is in a tile.
  enum class Place { runs_along, one_element, spread };
  struct Offsets {
    std::int64_t a = 0;
    std::int64_t b = 0;
  };

  static vector::BinaryForm form_of(bool a_moves, bool b_moves) noexcept {
    return a_moves ? (b_moves ? vector::kVectors : vector::kScalarB) : vector::kScalarA;
  }
  /// Of index `index` in loops [0, count), outermost first.
  Offsets offsets(std::size_t count, std::int64_t index) const noexcept;
  /// Elements of loops [level, end).
  std::int64_t inner_elements(std::size_t level) const noexcept;
  Place place(std::int64_t BroadcastLoop::* stride) const noexcept;
  bool same_in_all_tiles(std::int64_t BroadcastLoop::* stride) const noexcept;
  /// Writes the operand's elements of `extent` steps of loop `level`; up to kSlack bytes more are overwritten.
  void spread(std::int64_t BroadcastLoop::* stride, std::size_t level, std::int64_t extent, const std::uint8_t* x,
              std::uint8_t* to) const noexcept;

  template <class Function>
  void for_each_long_row(std::int64_t begin, std::int64_t end, const std::uint8_t* a, const std::uint8_t* b,
                         std::uint8_t* y, std::int64_t y_size, const Function& function) const {
    const BroadcastLoop& inner = loops_.back();
    const std::size_t outer = loops_.size() - 1;
    const BroadcastLoop rows = outer > 0 ? loops_[outer - 1] : BroadcastLoop{1, 0, 0};
    const vector::BinaryForm form = form_of(inner.a_stride != 0, inner.b_stride != 0);
    while (begin < end) {
      const std::int64_t row = begin / inner.extent;
      const std::int64_t column = begin % inner.extent;
      const std::int64_t left = end - begin;
      const bool whole = column == 0 && left >= inner.extent;
      const std::int64_t count = whole ? std::min(left / inner.extent, rows.extent - row % rows.extent) : 1;
      const std::int64_t n = whole ? inner.extent : std::min(left, inner.extent - column);
      const Offsets at = offsets(outer, row);
      function(form,
               vector::BinaryRows{count, static_cast<std::size_t>(n), a + at.a + column * inner.a_stride, rows.a_stride,
                                  b + at.b + column * inner.b_stride, rows.b_stride, y + begin * y_size});
      begin += count * n;
    }
  }

  template <class Function>
  void for_each_tile(std::int64_t begin, std::int64_t end, const std::uint8_t* a, const std::uint8_t* b,
                     std::uint8_t* y, std::int64_t y_size, const Function& function) const {
    alignas(64) std::uint8_t a_room[kTile + kSlack];
    alignas(64) std::uint8_t b_room[kTile + kSlack];
    bool first = true;
    while (begin < end) {
      const BroadcastLoop& loop = loops_[level_];
      const std::int64_t outer = begin / (loop.extent * inner_);
      const std::int64_t step = begin / inner_ % loop.extent;
      const std::int64_t extent = std::min({chunk_, loop.extent - step, (end - begin) / inner_});
      const Offsets at = offsets(level_, outer);
      const std::uint8_t* a_tile = a + at.a + step * loop.a_stride;
      const std::uint8_t* b_tile = b + at.b + step * loop.b_stride;
      if (a_place_ == Place::spread) {
        if (first || !a_is_same_)
          spread(&BroadcastLoop::a_stride, level_, a_is_same_ ? chunk_ : extent, a_tile, a_room);
        a_tile = a_room;
      }
      if (b_place_ == Place::spread) {
        if (first || !b_is_same_)
          spread(&BroadcastLoop::b_stride, level_, b_is_same_ ? chunk_ : extent, b_tile, b_room);
        b_tile = b_room;
      }
      first = false;
      const auto form = form_of(a_place_ != Place::one_element, b_place_ != Place::one_element);
      function(form, vector::BinaryRows{1, static_cast<std::size_t>(extent * inner_), a_tile, 0, b_tile, 0,
                                        y + begin * y_size});
      begin += extent * inner_;
    }
  }

  std::vector<BroadcastLoop> loops_;
  bool tiled_;
  std::int64_t grain_ = 64;
  // Of tiles:
  std::size_t level_ = 0;   ///< the loop that is cut: a tile is `chunk_` steps of it
  std::int64_t inner_ = 1;  ///< elements of a step
  std::int64_t chunk_ = 1;
  Place a_place_ = Place::runs_along;
  Place b_place_ = Place::runs_along;
  bool a_is_same_ = false;  ///< the spread operand is the same in all tiles
  bool b_is_same_ = false;
};

}  // namespace octet::core
