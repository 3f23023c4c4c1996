// The concat family: QLinearConcat. Formula: provider/ops/concat.cc.
#include <functional>
#include <numeric>
#include <vector>

#include "provider/core/scratch.hpp"
#include "provider/kernels/kernels.hpp"
#include "provider/kernels/unary_table.hpp"

namespace octet::core {
namespace {

enum Input : std::size_t { kYScale, kYZeroPoint, kFirstTensor };
// For each tensor:
enum Member : std::size_t { kTensor, kScale, kZeroPoint, kMembers };

// Shorter rows are looked up together, for they follow one another in a tensor, and then copied to their places.
constexpr std::size_t kShortRow = 32;
constexpr std::int64_t kBlock = 2048;

/// One of the tensors: `rows` rows of n bytes, each of which goes to its place in a row of the output.
struct Piece {
  std::size_t input;  ///< its tensor
  std::int64_t n;
  std::int64_t offset;
  ByteFunction function;
  bool is_constant;                 ///< the function's parameters are known
  std::vector<std::uint8_t> table;  ///< where they are, and it is not a copy
};

class ConcatPlan final : public Plan {
 public:
  ConcatPlan(Decision decision, UnaryLoops loops, std::int64_t rows, std::int64_t row_bytes, std::vector<Piece> pieces)
      : Plan(std::move(decision)),
        loops_(std::move(loops)),
        rows_(rows),
        row_bytes_(row_bytes),
        pieces_(std::move(pieces)) {
    for (Piece& piece : pieces_) {
      if (!piece.is_constant || piece.function.copies()) continue;
      piece.table.resize(vector::kTableSize);
      piece.function.make_table(loops_, piece.table.data());
    }
  }

  void run(const Call& call, const TensorView* inputs, const TensorView* outputs) const override {
    const std::int64_t bytes = rows_ * row_bytes_;
    auto* y = outputs[0].as<std::uint8_t>();
    const Scratch memory(pieces_.size() * (sizeof(const std::uint8_t*) + vector::kTableSize));
    auto** tables = memory.as<const std::uint8_t*>();
    find_tables(inputs, tables, reinterpret_cast<std::uint8_t*>(tables + pieces_.size()));
    const std::size_t parts = parts_for(call, static_cast<double>(bytes) * 0.04);
    parallel_for(call, parts, [&](std::size_t part) {
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        const Range range = split(rows_ * pieces_[i].n, 64, parts, part);
        const auto* x = inputs[pieces_[i].input].as<const std::uint8_t>();
        if (range.begin < range.end) fill(pieces_[i], tables[i], x, range, y);
      }
    });
  }

 private:
  /// tables[i]: the table of pieces_[i], or null where it is to be copied. `room` is for the tables made here.
  void find_tables(const TensorView* inputs, const std::uint8_t** tables, std::uint8_t* room) const {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      tables[i] = piece.table.empty() ? nullptr : piece.table.data();
      if (piece.is_constant || piece.n == 0) continue;
      ByteFunction function = piece.function;
      function.set_parameters(inputs[piece.input + kScale], inputs[piece.input + kZeroPoint], inputs[kYScale],
                              inputs[kYZeroPoint]);
      if (function.copies()) continue;
      std::uint8_t* table = room + i * vector::kTableSize;
      function.make_table(loops_, table);
      tables[i] = table;
    }
  }

  /// Bytes [begin, end) of a piece's rows: the end of a row, whole rows, and the beginning of a row.
  void fill(const Piece& piece, const std::uint8_t* table, const std::uint8_t* x, Range bytes, std::uint8_t* y) const {
    while (bytes.begin < bytes.end) {
      const std::int64_t row = bytes.begin / piece.n;
      const std::int64_t column = bytes.begin % piece.n;
      const std::int64_t left = bytes.end - bytes.begin;
      const bool whole = column == 0 && left >= piece.n;
      const std::int64_t rows = whole ? left / piece.n : 1;
      const std::int64_t n = whole ? piece.n : std::min(left, piece.n - column);
      const vector::ByteRows move{rows,
                                  static_cast<std::size_t>(n),
                                  x + bytes.begin,
                                  piece.n,
                                  y + row * row_bytes_ + piece.offset + column,
                                  row_bytes_};
      move_rows(table, move);
      bytes.begin += rows * n;
    }
  }

  void move_rows(const std::uint8_t* table, const vector::ByteRows& move) const {
    if (table == nullptr) return loops_.loops.copy(move);
    if (move.rows == 1 || move.n >= kShortRow) return loops_.loops.lookup(table, move);
    std::uint8_t found[kBlock];
    const auto n = static_cast<std::int64_t>(move.n);
    const std::int64_t step = kBlock / n;
    for (std::int64_t row = 0; row < move.rows; row += step) {
      const std::int64_t rows = std::min(step, move.rows - row);
      loops_.loops.lookup(table, {1, static_cast<std::size_t>(rows * n), move.x + row * n, 0, found, 0});
      loops_.loops.copy({rows, move.n, found, n, move.y + row * move.y_stride, move.y_stride});
    }
  }

  const UnaryLoops loops_;
  const std::int64_t rows_;
  const std::int64_t row_bytes_;
  std::vector<Piece> pieces_;
};

class ConcatKernel final : public Kernel {
 public:
  explicit ConcatKernel(const NodeContext& node) : axis_(node.attribute<std::int64_t>("axis")) {
    const auto is_known = [&](std::size_t i) { return node.constant(i).present(); };
    const bool y_known = is_known(kYScale) && is_known(kYZeroPoint);
    for (std::size_t i = kFirstTensor; i < node.node.inputs.size(); i += kMembers) {
      ByteFunction function;
      function.is_signed = node.node.inputs[kYZeroPoint].dtype == DataType::int8;
      const bool known = y_known && is_known(i + kScale) && is_known(i + kZeroPoint);
      if (known)
        function.set_parameters(node.constant(i + kScale), node.constant(i + kZeroPoint), node.constant(kYScale),
                                node.constant(kYZeroPoint));
      pieces_.push_back({i, 0, 0, function, known, {}});
    }
  }

  std::unique_ptr<const Plan> plan(const PlanRequest& request) const override {
    Choice<UnaryLoops> choice = dispatch<UnaryLoops>(
        request.options, request.label,
        {{"onednn", offer_onednn_concat}, {"vector", offer_vector_unary}, {"eigen", offer_eigen_unary}});
    choice.decision.implementation = choice.chosen->implementation;

    const std::vector<std::int64_t>& dims = request.outputs[0].dims;
    const auto axis = axis_ < 0 ? axis_ + static_cast<std::int64_t>(dims.size()) : axis_;
    const auto product = [](auto begin, auto end) {
      return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
    };
    std::vector<Piece> pieces = pieces_;
    std::int64_t row_bytes = 0;
    for (Piece& piece : pieces) {
      const std::vector<std::int64_t>& extents = request.inputs[piece.input].dims;
      piece.offset = row_bytes;
      piece.n = product(extents.begin() + axis, extents.end());
      row_bytes += piece.n;
    }
    return std::make_unique<ConcatPlan>(std::move(choice.decision), *choice.chosen,
                                        product(dims.begin(), dims.begin() + axis), row_bytes, std::move(pieces));
  }

 private:
  std::int64_t axis_;
  std::vector<Piece> pieces_;  ///< without what depends on the shapes
};

}  // namespace

std::unique_ptr<const Kernel> make_concat_kernel(const NodeContext& node) {
  return std::make_unique<ConcatKernel>(node);
}

}  // namespace octet::core
