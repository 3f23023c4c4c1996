// How a node of the matmul family runs for one set of shapes.
#pragma once

#include <memory>

#include "primitives/vector/matmul_kernels.hpp"
#include "provider/core/parallel.hpp"
#include "provider/core/product.hpp"
#include "provider/kernels/matmul_node.hpp"
#include "provider/kernels/matmul_shape.hpp"
#include "provider/kernels/packed_weights.hpp"
#include "provider/kernels/product_grid.hpp"

namespace octet::core {

class MatMulPlan final : public Plan {
 public:
  /// `weights` are the packed constant B, or null where B comes with each run.
  MatMulPlan(const MatMulNode& node, const PlanRequest& request, MatMulShape shape,
             std::shared_ptr<const PackedWeights> weights, Choice<Product> product);

  void run(const Call& call, const TensorView* inputs, const TensorView* outputs) const override;

 private:
  struct Operands;  ///< one run's pointers
  struct Tile;      ///< one task's temporaries
  struct Grid {     ///< how the output is cut into parts
    std::size_t batches;
    ProductGrid of_matrix;
  };
  struct Part {
    Range matrices, rows, columns;
  };
  /// Where everything lies in the memory of a run.
  struct Layouts {
    std::size_t a_scale, a_zero_point, b_scale, b_zero_point, bias, activations, row_sums, total;
  };

  Layouts layouts() const;
  void read_parameters(const TensorView* inputs, std::uint8_t* memory, Operands& run) const;
  void arrange_activations(const Call& call, const TensorView* inputs, std::uint8_t* memory, Operands& run) const;
  void quantize_rows(const Call& call, const float* a, std::uint8_t* quantized, float* scale,
                     std::int32_t* zero_point) const;
  Grid cut(const Call& call) const;
  Part part_of(const Grid& grid, std::size_t i) const;
  void run_part(const Operands& run, const Part& part) const;
  void multiply_plain(const Operands& run, Tile& tile, std::int64_t matrix, Range rows, Range columns,
                      std::int32_t* acc, std::int64_t acc_stride) const;
  const std::int8_t* packed_columns(const Operands& run, Tile& tile, std::int64_t matrix, Range columns) const;
  const std::uint8_t* rows_of_a(const Operands& run, std::int64_t matrix, Range rows) const;
  void multiply(const Operands& run, const Tile& tile, std::int64_t matrix, Range rows, Range columns,
                const std::int8_t* b, std::int32_t* acc, std::int64_t acc_stride) const;
  void prepare_columns(const Operands& run, const Tile& tile, std::int64_t matrix, std::int64_t row,
                       Range columns) const;
  void finish_rows(const Operands& run, Tile& tile, std::int64_t matrix, Range rows, Range columns,
                   const std::int32_t* acc, std::int64_t acc_stride) const;
  void finish_rowwise(const Operands& run, Tile& tile, std::int64_t matrix, Range rows, Range columns,
                      const std::int32_t* acc, std::int64_t acc_stride) const;

  MatMulNode node_;
  MatMulShape shape_;
  DataType a_type_;
  DataType b_type_;
  TensorInfo y_;
  ParameterShape a_scale_, a_zero_point_, b_scale_, b_zero_point_;
  bool per_row_ = false;  ///< scale or zero point of A differ by row
  bool has_bias_ = false;
  std::int64_t c_row_stride_ = 0;
  std::int64_t c_column_stride_ = 0;
  bool has_c_ = false;
  std::shared_ptr<const PackedWeights> weights_;
  std::unique_ptr<Product> product_;  ///< null where K is 0
  bool plain_;                        ///< it takes the weights of a run as they are
  Layouts layouts_;
  void (*epilogue_)(const vector::EpilogueTile&);
};

}  // namespace octet::core
