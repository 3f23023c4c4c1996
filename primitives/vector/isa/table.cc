#include "primitives/vector/isa/isa.hpp"
#include "primitives/vector/kernels.hpp"

#define OCTET_TEXT_OF(name) #name
#define OCTET_TEXT(name) OCTET_TEXT_OF(name)

namespace octet::vector::OCTET_ISA {

const Kernels kTable = {
    OCTET_TEXT(OCTET_ISA),
    {product, plain_product, pack, flip, row_sums, column_terms, column_scales, epilogue_s32, epilogue_f32,
     epilogue_f16, epilogue_u8, epilogue_s8},
    &kQuantize,
    &kBinary,
    &kReduce,
    &kLstm,
    &kRowwise,
    &kLstmTraining,
    &kWeights,
    &kFloat,
    &kUnary,
#ifdef __AVX512VNNI__
    &kUnaryVbmi,
    &kBfloat16Product,
#else
    nullptr,
    nullptr,
#endif
};

}  // namespace octet::vector::OCTET_ISA
