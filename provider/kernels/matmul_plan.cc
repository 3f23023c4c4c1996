#include "provider/kernels/matmul_run.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cstring>

#include "primitives/vector/kernels.hpp"
#include "provider/kernels/dynamic_quantize.hpp"

namespace octet::core {
namespace {

using vector::kColumnBlock;
using vector::padded_k;

void to_float(const TensorView& view, std::int64_t count, float* values) {
  switch (view.dtype) {
    case DataType::float16:
      std::copy_n(view.as<const Eigen::half>(), count, values);
      break;
    case DataType::bfloat16:
      std::copy_n(view.as<const Eigen::bfloat16>(), count, values);
      break;
    default:
      std::memcpy(values, view.data, static_cast<std::size_t>(count) * sizeof(float));
  }
}

/// Zero points of operands whose top bit is flipped: unsigned weights become signed, signed activations unsigned.
void to_zero_points(const TensorView& view, std::int64_t count, bool activations, std::int32_t* values) {
  if (view.dtype == DataType::uint8)
    for (std::int64_t i = 0; i < count; ++i) values[i] = view.as<const std::uint8_t>()[i] - (activations ? 0 : 128);
  else
    for (std::int64_t i = 0; i < count; ++i) values[i] = view.as<const std::int8_t>()[i] + (activations ? 128 : 0);
}

std::int32_t zero_point_of_nothing(DataType type, bool activations) {
  if (activations) return type == DataType::int8 ? 128 : 0;
  return type == DataType::uint8 ? -128 : 0;
}

auto epilogue_for(DataType y) {
  const vector::MatMulKernels& loops = vector::kernels().matmul;
  switch (y) {
    case DataType::int32:
      return loops.epilogue_s32;
    case DataType::float16:
      return loops.epilogue_f16;
    case DataType::uint8:
      return loops.epilogue_u8;
    case DataType::int8:
      return loops.epilogue_s8;
    default:
      return loops.epilogue_f32;
  }
}

}  // namespace

MatMulPlan::MatMulPlan(const MatMulNode& node, const PlanRequest& request, MatMulShape shape,
                       std::shared_ptr<const PackedWeights> weights, Choice<Product> product)
    : Plan(std::move(product.decision)),
      node_(node),
      shape_(std::move(shape)),
      a_type_(request.inputs[node.ports.a].dtype),
      b_type_(request.inputs[node.ports.b].dtype),
      y_(request.outputs[0]),
      weights_(std::move(weights)),
      product_(std::move(product.chosen)),
      plain_(product_ && !weights_ && !node_.transpose_b && product_->reads_plain(shape_.m)),
      epilogue_(epilogue_for(y_.dtype)) {
  const auto info = [&](std::size_t port) { return MatMulPorts::info(request, port); };
  a_scale_ = shape_.parameter(info(node.ports.a_scale), true);
  a_zero_point_ = shape_.parameter(info(node.ports.a_zero_point), true);
  b_scale_ = shape_.parameter(info(node.ports.b_scale), false);
  b_zero_point_ = shape_.parameter(info(node.ports.b_zero_point), false);
  if (node_.rowwise)
    for (ParameterShape* parameter : {&a_scale_, &a_zero_point_}) {
      parameter->stride = 1;
      if (shape_.batch > 1)
        for (const std::int64_t a_matrix : shape_.a_index) parameter->offsets.push_back(a_matrix * shape_.m);
    }
  per_row_ = a_scale_.stride != 0 || a_zero_point_.stride != 0;
  has_bias_ = info(node.ports.bias).present();
  const TensorInfo c = info(node.ports.c);
  has_c_ = c.present();
  if (has_c_ && !c.dims.empty()) {
    const std::int64_t columns = c.dims.back();
    c_column_stride_ = columns == 1 ? 0 : 1;
    c_row_stride_ = c.dims.size() < 2 || c.dims[0] == 1 ? 0 : columns;
  }
  layouts_ = layouts();
}

MatMulPlan::Layouts MatMulPlan::layouts() const {
  const std::int64_t a_rows = shape_.a_matrices * shape_.m;
  // What A's quantization finds, where the run quantizes it: for all of it or for each row.
  const std::int64_t of_a = node_.rowwise ? a_rows : 1;
  Layout layout;
  const auto words = [&](std::int64_t count) { return layout.add(static_cast<std::size_t>(count) * 4); };
  Layouts at{};
  at.a_scale = words(std::max(a_scale_.count, of_a));
  at.a_zero_point = words(std::max(a_zero_point_.count, of_a));
  at.b_scale = words(b_scale_.count);
  at.b_zero_point = words(std::max<std::int64_t>(b_zero_point_.count, 1));
  at.bias = words(has_bias_ ? shape_.n : 0);
  at.activations = layout.add(static_cast<std::size_t>(a_rows * shape_.k));
  at.row_sums = words(a_rows);
  at.total = layout.total();
  return at;
}

void MatMulPlan::read_parameters(const TensorView* inputs, std::uint8_t* memory, Operands& run) const {
  const auto floats = [&](std::size_t at, std::int64_t count, std::size_t port) {
    auto* values = reinterpret_cast<float*>(memory + at);
    to_float(inputs[port], count, values);
    return values;
  };
  const auto zero_points = [&](std::size_t at, const ParameterShape& shape, std::size_t port, DataType type,
                               bool activations) {
    auto* values = reinterpret_cast<std::int32_t*>(memory + at);
    values[0] = zero_point_of_nothing(type, activations);
    if (shape.present) to_zero_points(inputs[port], shape.count, activations, values);
    return values;
  };
  if (a_scale_.present) run.a_scale = floats(layouts_.a_scale, a_scale_.count, node_.ports.a_scale);
  if (b_scale_.present) run.b_scale = floats(layouts_.b_scale, b_scale_.count, node_.ports.b_scale);
  run.a_zero_point = zero_points(layouts_.a_zero_point, a_zero_point_, node_.ports.a_zero_point, a_type_, true);
  run.b_zero_point = zero_points(layouts_.b_zero_point, b_zero_point_, node_.ports.b_zero_point, b_type_, false);
  const std::int64_t count = std::max<std::int64_t>(b_zero_point_.count, 1);
  run.b_zero_point_is_zero =
      std::all_of(run.b_zero_point, run.b_zero_point + count, [](std::int32_t value) { return value == 0; });
  if (has_bias_) run.bias = floats(layouts_.bias, shape_.n, node_.ports.bias);
  if (has_c_) run.c = inputs[node_.ports.c].as<const std::int32_t>();
  if (is_8bit(y_.dtype)) {
    to_float(inputs[node_.ports.y_scale], 1, &run.y_scale);
    const TensorView& zero_point = inputs[node_.ports.y_zero_point];
    run.y_zero_point = zero_point.dtype == DataType::uint8 ? *zero_point.as<const std::uint8_t>()
                                                           : *zero_point.as<const std::int8_t>();
  }
}

void MatMulPlan::arrange_activations(const Call& call, const TensorView* inputs, std::uint8_t* memory,
                                     Operands& run) const {
  const std::int64_t count = shape_.a_matrices * shape_.m * shape_.k;
  const TensorView& a = inputs[node_.ports.a];
  const vector::MatMulKernels& loops = vector::kernels().matmul;
  std::uint8_t* arranged = memory + layouts_.activations;
  if (node_.quantizes_a) {
    auto* scale = reinterpret_cast<float*>(memory + layouts_.a_scale);
    auto* zero_point = reinterpret_cast<std::int32_t*>(memory + layouts_.a_zero_point);
    if (node_.rowwise) {
      quantize_rows(call, a.as<const float>(), arranged, scale, zero_point);
    } else {
      const DynamicParams params = dynamic_quantize(call, a.as<const float>(), count, arranged);
      *scale = params.scale;
      *zero_point = params.zero_point;
    }
    run.a = arranged;
    run.a_scale = scale;
    run.a_zero_point = zero_point;
  } else if (node_.transpose_a) {
    const auto* source = a.as<const std::uint8_t>();
    const std::uint8_t flip = a_type_ == DataType::int8 ? 0x80 : 0;
    for (std::int64_t m = 0; m < shape_.m; ++m)
      for (std::int64_t k = 0; k < shape_.k; ++k) arranged[m * shape_.k + k] = source[k * shape_.m + m] ^ flip;
    run.a = arranged;
  } else if (a_type_ == DataType::int8) {
    loops.flip(a.as<const std::uint8_t>(), count, arranged);
    run.a = arranged;
  } else {
    run.a = a.as<const std::uint8_t>();
  }
  if (!run.b_zero_point_is_zero) {
    auto* sums = reinterpret_cast<std::int32_t*>(memory + layouts_.row_sums);
    loops.row_sums(run.a, shape_.a_matrices * shape_.m, shape_.k, sums);
    run.row_sums = sums;
  }
}

void MatMulPlan::quantize_rows(const Call& call, const float* a, std::uint8_t* quantized, float* scale,
                               std::int32_t* zero_point) const {
  constexpr double kNanosecondsPerElement = 0.2;
  const std::int64_t rows = shape_.a_matrices * shape_.m, k = shape_.k;
  const std::size_t parts =
      std::min(parts_for(call, static_cast<double>(rows * k) * kNanosecondsPerElement), static_cast<std::size_t>(rows));
  parallel_for(call, parts, [&](std::size_t i) {
    const Range range = split(rows, 1, parts, i);
    for (std::int64_t m = range.begin; m < range.end; ++m) {
      const DynamicParams params = quantize_row(a + m * k, k, quantized + m * k);
      scale[m] = params.scale;
      zero_point[m] = params.zero_point;
    }
  });
}

MatMulPlan::Grid MatMulPlan::cut(const Call& call) const {
  const double work = static_cast<double>(shape_.batch) * static_cast<double>(shape_.m) *
                      static_cast<double>(shape_.n) * static_cast<double>(shape_.k);
  const double speed = product_ ? product_->multiplications_per_nanosecond() : 1;
  const double weights = static_cast<double>(shape_.batch) * static_cast<double>(shape_.n * shape_.k);
  const std::size_t wanted = parts_for(call, work / speed + reading_nanoseconds(weights, weights_ != nullptr));
  const std::size_t batches = std::clamp<std::size_t>(static_cast<std::size_t>(shape_.batch), 1, wanted);
  return {batches, cut_product(wanted / batches, shape_.m, shape_.n, shape_.k, weights_ != nullptr)};
}

MatMulPlan::Part MatMulPlan::part_of(const Grid& grid, std::size_t i) const {
  const auto [bands, columns] = grid.of_matrix;
  return {split(shape_.batch, 1, grid.batches, i / bands / columns), split(shape_.m, 1, bands, i % bands),
          split(shape_.n, kColumnBlock, columns, i / bands % columns)};
}

void MatMulPlan::run(const Call& call, const TensorView* inputs, const TensorView* outputs) const {
  const Scratch memory(layouts_.total);
  Operands run;
  run.b = inputs[node_.ports.b].as<const std::uint8_t>();
  run.y = outputs[0].data;
  read_parameters(inputs, memory.bytes(), run);
  arrange_activations(call, inputs, memory.bytes(), run);
  if (y_.dtype == DataType::int32 && a_zero_point_.one_value() && run.b_zero_point_is_zero) {
    const bool has_terms = *run.a_zero_point != 0;
    run.begins_with_terms = has_terms && weights_;
    run.sums_are_final = !has_terms || run.begins_with_terms;
  }
  const Grid grid = cut(call);
  parallel_for(call, grid.batches * grid.of_matrix.count(), [&](std::size_t i) { run_part(run, part_of(grid, i)); });
}

void MatMulPlan::run_part(const Operands& run, const Part& part) const {
  const std::int64_t row_block = product_ ? product_->row_block() : 64;
  const std::int64_t column_block = product_ ? product_->column_block() : 512;
  Tile tile(std::min(row_block, part.rows.end - part.rows.begin),
            std::min(column_block, part.columns.end - part.columns.begin), weights_ || plain_ ? 0 : padded_k(shape_.k));
  for (std::int64_t matrix = part.matrices.begin; matrix < part.matrices.end; ++matrix)
    for (std::int64_t n = part.columns.begin; n < part.columns.end; n += column_block) {
      const Range columns{n, std::min(n + column_block, part.columns.end)};
      const std::int8_t* b = nullptr;
      for (std::int64_t m = part.rows.begin; m < part.rows.end; m += row_block) {
        const Range rows{m, std::min(m + row_block, part.rows.end)};
        std::int32_t* acc = tile.acc;
        std::int64_t stride = tile.columns;
        if (y_.dtype == DataType::int32) {  // the sums' place is the output's
          acc = static_cast<std::int32_t*>(run.y) + (matrix * shape_.m + m) * shape_.n + n;
          stride = shape_.n;
        }
        const bool first = m == part.rows.begin;
        if (plain_)
          multiply_plain(run, tile, matrix, rows, columns, acc, stride);
        else if (first)
          b = packed_columns(run, tile, matrix, columns);
        if (first && !per_row_) prepare_columns(run, tile, matrix, 0, columns);
        if (!plain_) multiply(run, tile, matrix, rows, columns, b, acc, stride);
        if (!run.sums_are_final) finish_rows(run, tile, matrix, rows, columns, acc, stride);
      }
    }
}

void MatMulPlan::multiply_plain(const Operands& run, Tile& tile, std::int64_t matrix, Range rows, Range columns,
                                std::int32_t* acc, std::int64_t acc_stride) const {
  const std::int64_t b_matrix = shape_.b_index[static_cast<std::size_t>(matrix)];
  const vector::PlainWeights weights{run.b + b_matrix * shape_.k * shape_.n + columns.begin, shape_.n,
                                     static_cast<std::uint8_t>(b_type_ == DataType::uint8 ? 0x80 : 0)};
  product_->run_plain(rows.end - rows.begin, columns.end - columns.begin, rows_of_a(run, matrix, rows), weights, acc,
                      acc_stride, tile.packed_sums);
  tile.column_sum = tile.packed_sums;
}

// The packed weights of these columns, with tile.column_sum set.
const std::int8_t* MatMulPlan::packed_columns(const Operands& run, Tile& tile, std::int64_t matrix,
                                              Range columns) const {
  const std::int64_t b_matrix = shape_.b_index[static_cast<std::size_t>(matrix)];
  if (weights_) {
    tile.column_sum = weights_->column_sum(b_matrix) + columns.begin;
    return weights_->data(b_matrix) + columns.begin * padded_k(shape_.k);
  }
  const std::int64_t row_stride = node_.transpose_b ? 1 : shape_.n;
  const std::int64_t column_stride = node_.transpose_b ? shape_.k : 1;
  vector::kernels().matmul.pack(run.b + b_matrix * shape_.k * shape_.n + columns.begin * column_stride, row_stride,
                                column_stride, shape_.k, columns.end - columns.begin,
                                b_type_ == DataType::uint8 ? 0x80 : 0, tile.packed, tile.packed_sums);
  tile.column_sum = tile.packed_sums;
  return tile.packed;
}

const std::uint8_t* MatMulPlan::rows_of_a(const Operands& run, std::int64_t matrix, Range rows) const {
  return run.a + (shape_.a_index[static_cast<std::size_t>(matrix)] * shape_.m + rows.begin) * shape_.k;
}

void MatMulPlan::multiply(const Operands& run, const Tile& tile, std::int64_t matrix, Range rows, Range columns,
                          const std::int8_t* b, std::int32_t* acc, std::int64_t acc_stride) const {
  const std::int64_t count = columns.end - columns.begin;
  const std::int32_t* start = run.begins_with_terms ? tile.column_term : nullptr;
  if (product_)
    product_->run(rows.end - rows.begin, count, rows_of_a(run, matrix, rows), b, start, acc, acc_stride);
  else
    for (std::int64_t i = 0; i < rows.end - rows.begin; ++i) std::fill_n(acc + i * acc_stride, count, 0);
}

}  // namespace octet::core
