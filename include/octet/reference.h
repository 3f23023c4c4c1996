/*
 * The scalar reference of Octet (liboctet_reference): computes one node with plain loops, slowly and exactly as the
 * operators' documentation says. For tests and comparisons; it needs none of the other libraries.
 *
 * The interface is flat: scalars, arrays with lengths, UTF-8 strings, fixed-width integers. Nothing passed in is kept.
 */
#ifndef OCTET_REFERENCE_H
#define OCTET_REFERENCE_H

#include <stdint.h>

#include <octet/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Computes one node.
 *
 * domain            "" (or null, or "ai.onnx") for ONNX's own operators, "com.microsoft"
 * op_type           "MatMulInteger", "QGemm", ...
 * opset_version     of the domain: the newest definition up to this version is meant
 * attributes_json   an object of attribute names and values, e.g. {"transA": 1, "alpha": 0.5}; null or "" for none
 * num_inputs        length of input_types, input_ranks and input_data
 * input_types       onnx::TensorProto::DataType numbers; 0 for an absent optional input
 * input_ranks       number of extents of each input; 0 for a scalar
 * input_dims        the extents of all inputs, one after the other; may be null where all ranks are 0
 * input_data        dense row-major elements of each input, 4-bit ones two to a byte, low half first; null only where a
 *                   tensor has no elements or is absent
 * num_outputs ...   the same for the outputs, whose memory is written; types and extents are those that shape inference
 *                   gives
 * message           receives a text (UTF-8, ended by a zero byte, cut where it does not fit) if something is wrong, and
 *                   the empty text otherwise; may be null
 * message_size      bytes that `message` holds
 *
 * Returns 0, or the number of an octet::ErrorCode: 1 the arguments do not fit the operator's definition, 2 no such
 * operator, 3 out of memory, 4 another failure. Any number of threads may call it at the same time.
 */
OCTET_API int32_t octet_reference_run(const char* domain, const char* op_type, int64_t opset_version,
                                      const char* attributes_json, int32_t num_inputs, const int32_t* input_types,
                                      const int32_t* input_ranks, const int64_t* input_dims,
                                      const void* const* input_data, int32_t num_outputs, const int32_t* output_types,
                                      const int32_t* output_ranks, const int64_t* output_dims, void* const* output_data,
                                      char* message, int64_t message_size);

#ifdef __cplusplus
}
#endif

#endif
