// What the sources in this folder share: the namespace of the instruction set being compiled, and the loops that
// table.cc lists.
#pragma once

#include "primitives/vector/kernels.hpp"

#ifndef OCTET_ISA
#error "compiled once for each instruction set with OCTET_ISA defined: see CMakeLists.txt"
#endif

#define OCTET_INLINE inline __attribute__((always_inline))

namespace octet::vector::OCTET_ISA {

// product.cc
void product(const ProductTile& tile);
bool plain_product(std::int64_t rows, std::int64_t columns, std::int64_t k, const std::uint8_t* a,
                   const PlainWeights& weights, std::int32_t* acc, std::int64_t acc_stride, std::int32_t* column_sum);

// pack.cc
void pack(const std::uint8_t* b, std::int64_t row_stride, std::int64_t column_stride, std::int64_t k,
          std::int64_t columns, std::uint8_t flip, std::int8_t* packed, std::int32_t* column_sum);
void flip(const std::uint8_t* x, std::int64_t count, std::uint8_t* y);
void row_sums(const std::uint8_t* a, std::int64_t rows, std::int64_t k, std::int32_t* sums);

// epilogue.cc
void column_terms(const ColumnParameters& parameters, std::int32_t* term);
void column_scales(const ColumnParameters& parameters, bool divide, float* scale);
void epilogue_s32(const EpilogueTile& tile);
void epilogue_f32(const EpilogueTile& tile);
void epilogue_f16(const EpilogueTile& tile);
void epilogue_u8(const EpilogueTile& tile);
void epilogue_s8(const EpilogueTile& tile);

// quantize.cc
extern const QuantizeKernels kQuantize;

// binary.cc, reduce.cc
extern const BinaryKernels kBinary;
extern const ReduceKernels kReduce;

// lstm.cc, lstm_training.cc, weights.cc, float_product.cc
extern const LstmKernels kLstm;
extern const LstmTrainingKernels kLstmTraining;
extern const WeightKernels kWeights;
extern const FloatKernels kFloat;

// column_quantize.cc
void walk_columns(const ColumnWalk& walk);
#ifdef __AVX512VNNI__
constexpr std::int64_t kWalkProducts = 4;
#else
constexpr std::int64_t kWalkProducts = 0;
#endif
void quantize_s8(const float* x, std::size_t n, float reciprocal, std::int8_t* y);

// rowwise.cc
extern const RowwiseKernels kRowwise;

// unary.cc
extern const UnaryKernels kUnary;
#ifdef __AVX512VNNI__
extern const UnaryKernels kUnaryVbmi;

// bfloat16.cc
extern const Bfloat16Kernels kBfloat16Product;
#endif

}  // namespace octet::vector::OCTET_ISA
