/* Octet's flat C interface: 8-bit ONNX operators on the CPU, from any language that can call C.
 *
 * Made for foreign function interfaces (ctypes, C#, Rust, LabVIEW, ...): only scalars of fixed width, arrays with
 * lengths, NUL-terminated UTF-8 strings and opaque handles; no callbacks, no structs by value, no C enums.
 *
 *   octet_node -> octet_operator -> octet_call
 *
 * A node describes one operator: its inputs, constants, attributes and options. An operator is made once from a node;
 * it checks the node and packs constant weights. A call holds the inputs and outputs of a run; it may be run any number
 * of times, with other data and other extents. README.md shows a whole program; examples/c compiles it.
 *
 * Conventions that hold for every function
 * ----------------------------------------
 * Errors     Functions that return octet_status* give NULL for success. Anything else is an error that the caller reads
 *            with octet_status_code() and octet_status_text() and gives back with octet_status_release(). Functions
 *            that return a handle give NULL for an error; octet_last_error() and octet_last_error_code() then tell, in
 *            the same thread. Wrong use is always an error and never ends the process: null pointers, negative or
 *            excessive ranks, extents whose product does not fit 63 bits, buffers that are too small, unknown names,
 *            wrong order of calls. (A pointer that leads to no memory, or to less than the size given with it, cannot
 *            be noticed.) A function that fails changes nothing but the contents of the outputs of a run.
 * Handles    Each *_create has one *_release, which accepts NULL. Operators keep nothing of their node, and calls keep
 *            their operator alive: handles may be released in any order.
 * Memory     Names, texts, values of attributes, extents and constants are copied: the caller's may be freed when the
 *            function returns. Only octet_call_set_input() and octet_call_set_output() keep the pointer to the data.
 * Tensors    Dense, row-major, in host memory, of any alignment. 4-bit elements are packed two to a byte, the first in
 *            the low half. Element types are the numbers of ONNX's TensorProto.DataType (OCTET_TYPE_* below). `dims`
 *            are `rank` extents, outermost first; a scalar has rank 0, and its `dims` may be NULL. At most 64 extents.
 * Ports      `index` counts the operator's inputs or outputs from 0 in the order of its definition. An optional one
 *            that is left out has the type OCTET_TYPE_ABSENT.
 * Texts      Functions that write text into the caller's buffer take `char* buffer, uint64_t* size`. With buffer NULL
 *            they store the size needed, including the terminating NUL. Otherwise *size is the size of the buffer:
 *            where it suffices, the text and its NUL are written and *size becomes their size, else *size becomes the
 *            size needed and an error is returned.
 * Threads    Every function may be called from any thread. Operators may be shared by threads; one node and one call
 *            are for one thread at a time.
 */
#ifndef OCTET_OCTET_H
#define OCTET_OCTET_H

#include <stdint.h>

#include <octet/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct octet_status octet_status;     /* an error */
typedef struct octet_node octet_node;         /* the description of one operator */
typedef struct octet_operator octet_operator; /* a node that is ready to run */
typedef struct octet_call octet_call;         /* the inputs and outputs of a run */
typedef struct octet_dqip octet_dqip;         /* a dynamically quantized inner product */

/* ---- Numbers ---------------------------------------------------------------------------------------------------- */

/* Counts incompatible changes of this file. Programs that load the library at run time compare it with
 * octet_abi_version(). */
#define OCTET_ABI_VERSION 1

/* What octet_status_code() and octet_last_error_code() return. */
#define OCTET_OK 0
#define OCTET_INVALID_ARGUMENT \
  1 /* an argument, tensor, attribute or option breaks a rule of this file or the operator */
#define OCTET_NOT_IMPLEMENTED 2 /* valid, but this version, backend or CPU does not compute it */
#define OCTET_OUT_OF_MEMORY 3
#define OCTET_INTERNAL 4 /* a fault of the library; the text tells more */

/* Element types: the numbers of onnx.TensorProto.DataType. */
#define OCTET_TYPE_ABSENT 0 /* the optional input or output is left out */
#define OCTET_TYPE_FLOAT 1
#define OCTET_TYPE_UINT8 2
#define OCTET_TYPE_INT8 3
#define OCTET_TYPE_UINT16 4
#define OCTET_TYPE_INT16 5
#define OCTET_TYPE_INT32 6
#define OCTET_TYPE_INT64 7
#define OCTET_TYPE_STRING 8 /* in graphs only: no tensor of Octet has it */
#define OCTET_TYPE_BOOL 9
#define OCTET_TYPE_FLOAT16 10
#define OCTET_TYPE_DOUBLE 11
#define OCTET_TYPE_UINT32 12
#define OCTET_TYPE_UINT64 13
#define OCTET_TYPE_BFLOAT16 16
#define OCTET_TYPE_FLOAT8E4M3FN 17
#define OCTET_TYPE_FLOAT8E4M3FNUZ 18
#define OCTET_TYPE_FLOAT8E5M2 19
#define OCTET_TYPE_FLOAT8E5M2FNUZ 20
#define OCTET_TYPE_UINT4 21
#define OCTET_TYPE_INT4 22
#define OCTET_TYPE_FLOAT4E2M1 23
#define OCTET_TYPE_FLOAT8E8M0 24
#define OCTET_TYPE_UINT2 25
#define OCTET_TYPE_INT2 26
#define OCTET_TYPE_FLOAT6E2M3 27
#define OCTET_TYPE_FLOAT6E3M2 28

/* ---- Library ---------------------------------------------------------------------------------------------------- */

/* OCTET_ABI_VERSION of the library. */
OCTET_API int32_t octet_abi_version(void);

/* The library's version, "major.minor.patch". Never NULL; valid for the life of the process. */
OCTET_API const char* octet_version(void);

/* The version of the oneDNN that runs, "major.minor.patch". Never NULL; valid for the life of the process. */
OCTET_API const char* octet_onednn_version(void);

/* The instruction set in use, e.g. "avx512_core_vnni": what the CPU has, capped by the environment variable
 * OCTET_MAX_CPU_ISA (AVX2, AVX2_VNNI, AVX512_CORE, AVX512_CORE_VNNI, AVX512_CORE_AMX; read once). Valid for the life of
 * the process; NULL, with octet_last_error(), where the CPU lacks AVX2 or the variable holds another name. */
OCTET_API const char* octet_cpu_isa(void);

/* How many definitions the library has: an operator has one for each opset version that changed it. */
OCTET_API uint64_t octet_op_count(void);

/* All definitions as JSON, an array of octet_op_count() objects:
 *   {"domain": "com.microsoft", "name": "QGemm", "since_version": 1, "family": "matmul", "doc": "...",
 *    "inputs":  [{"name": "A", "type": "TA", "option": "required", "doc": "..."}, ...],
 *    "outputs": [...],
 *    "attributes": [{"name": "alpha", "type": "FLOAT", "required": false, "default": 1.0, "doc": "..."}, ...],
 *    "type_constraints": [{"name": "TA", "types": ["tensor(uint8)", "tensor(int8)"], "doc": "..."}, ...],
 *    "kernel": ["onednn", "vector", "eigen"]}
 * "option" is "required", "optional" or "variadic" (then with "min_count", and "homogeneous": whether all members have
 * one type). Attribute types are INT, FLOAT, STRING, INTS, FLOATS and STRINGS; "default" is null where there is none.
 * "kernel" lists the backends that have code for the operator, in the order in which they are asked. */
OCTET_API octet_status* octet_ops_json(char* buffer, uint64_t* size);

/* Checks a node and infers the types and shapes of its outputs as far as its definition and what is known of its inputs
 * tell; for tools that work on graphs. `node` is an object:
 *   {"domain": "com.microsoft", "op_type": "QGemm", "opset_version": 1, "name": "fc1", "attributes": {"transB": 1},
 *    "inputs": [{"dtype": 2, "dims": [4, "batch", null]}, null, ...], "outputs": [...]}
 * "domain", "name", "attributes" and "outputs" (what is declared of them) may be left out. A port is null where it is
 * absent; without "dtype" (or with 0) its type is not known, without "dims" not even its rank. An extent is a number, a
 * symbol or null. The result is an array of the outputs in the same form. */
OCTET_API octet_status* octet_infer_json(const char* node, char* buffer, uint64_t* size);

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

/* One of the numbers above; OCTET_OK for NULL. */
OCTET_API int32_t octet_status_code(const octet_status* status);

/* What went wrong: names the operator, node and port, what was given and what was expected. Valid until the status is
 * released. Never NULL; empty for NULL. */
OCTET_API const char* octet_status_text(const octet_status* status);

/* Accepts NULL. */
OCTET_API void octet_status_release(octet_status* status);

/* Text and number of the error of this thread's last call of a function that returns a handle (or octet_cpu_isa());
 * empty and OCTET_OK where that call succeeded or there was none. Never NULL; valid until the thread's next such
 * call. */
OCTET_API const char* octet_last_error(void);
OCTET_API int32_t octet_last_error_code(void);

/* ---- Node: the description of one operator ---------------------------------------------------------------------- */

/* Starts a description. `domain` is "com.microsoft", or "" or "ai.onnx" for ONNX's own operators; NULL means "".
 * `opset_version` is the version of that domain that the model imports: the newest definition up to it is meant. `name`
 * is used in messages only and may be NULL. The operator's existence is checked by octet_operator_create(). */
OCTET_API octet_node* octet_node_create(const char* domain, const char* op_type, int64_t opset_version,
                                        const char* name);
OCTET_API void octet_node_release(octet_node* node);

/* Attributes. A second value for the same name replaces the first. `values` may be NULL where count is 0. */
OCTET_API octet_status* octet_node_set_int(octet_node* node, const char* attribute, int64_t value);
OCTET_API octet_status* octet_node_set_float(octet_node* node, const char* attribute, float value);
OCTET_API octet_status* octet_node_set_string(octet_node* node, const char* attribute, const char* value);
OCTET_API octet_status* octet_node_set_ints(octet_node* node, const char* attribute, const int64_t* values,
                                            uint64_t count);
OCTET_API octet_status* octet_node_set_floats(octet_node* node, const char* attribute, const float* values,
                                              uint64_t count);
OCTET_API octet_status* octet_node_set_strings(octet_node* node, const char* attribute, const char* const* values,
                                               uint64_t count);

/* An input whose data comes with each run. Its type is needed; extents that are not known yet are -1, and a rank of -1
 * means that not even their number is known. Inputs below `index` that are never set are absent. */
OCTET_API octet_status* octet_node_set_input(octet_node* node, uint64_t index, int32_t dtype, const int64_t* dims,
                                             int32_t rank);

/* An input that is the same in every run, such as weights. `data` is `size_bytes` long, which must be at least what
 * dtype and dims make; it is copied, and packed when the operator is made. May be NULL where the tensor has no
 * elements. */
OCTET_API octet_status* octet_node_set_constant(octet_node* node, uint64_t index, int32_t dtype, const int64_t* dims,
                                                int32_t rank, const void* data, uint64_t size_bytes);

/* What is wanted of an output: its type, or OCTET_TYPE_ABSENT. Needed where the definition leaves the type open, and
 * for each optional output that is to be computed. Once one output is set, those below it that are never set are
 * absent. */
OCTET_API octet_status* octet_node_set_output(octet_node* node, uint64_t index, int32_t dtype);

/* How the operator is to run. Results never depend on "threads", nor on "backend" where "accuracy" is "exact".
 *   "threads"   how many threads one run may use, "1" (the default) to "1024"
 *   "backend"   "auto" (the default), or "onednn", "vector" or "eigen" to allow nothing else
 *   "accuracy"  "exact" (the default), or "fast" to allow operators other arithmetic where their doc says so
 *   "lstm_quantization"  "per_row" (the default) or "per_tensor": scales of DynamicQuantizeLSTM's activations
 *   "rowwise"    "0" (the default) or "1": DynamicQuantizeMatMul quantizes each row of A by its own range
 * Another key or value is an error. */
OCTET_API octet_status* octet_node_set_option(octet_node* node, const char* key, const char* value);

/* ---- Operator: a node that is ready to run ---------------------------------------------------------------------- */

/* Checks the node against its definition and prepares constant inputs. The node may be changed and used again. */
OCTET_API octet_operator* octet_operator_create(const octet_node* node);
OCTET_API void octet_operator_release(octet_operator* op);

/* ---- Call: the inputs and outputs of a run ---------------------------------------------------------------------- */

OCTET_API octet_call* octet_call_create(const octet_operator* op);
OCTET_API void octet_call_release(octet_call* call);

/* Gives input `index` for this and later runs. Only the pointer to the data is kept: it must lead to at least
 * `size_bytes` bytes during octet_call_run(). `data` may be NULL where there are no elements, or before
 * octet_call_infer() and octet_call_explain(), which look at types and extents only. Constants of the node need not be
 * given. */
OCTET_API octet_status* octet_call_set_input(octet_call* call, uint64_t index, int32_t dtype, const int64_t* dims,
                                             int32_t rank, const void* data, uint64_t size_bytes);

/* The same with a copy of the data, for languages whose arrays move or vanish between two calls. */
OCTET_API octet_status* octet_call_copy_input(octet_call* call, uint64_t index, int32_t dtype, const int64_t* dims,
                                              int32_t rank, const void* data, uint64_t size_bytes);

/* Works out the outputs for the inputs given so far, for the three functions that follow. They may be called until
 * an input is given again. */
OCTET_API octet_status* octet_call_infer(octet_call* call);

/* Number of outputs, absent ones included. */
OCTET_API octet_status* octet_call_output_count(const octet_call* call, uint64_t* count);

/* Element type, number of extents and size of an output. An absent one has the type OCTET_TYPE_ABSENT, rank 0 and size
 * 0. Each result pointer may be NULL. */
OCTET_API octet_status* octet_call_output_info(const octet_call* call, uint64_t index, int32_t* dtype, int32_t* rank,
                                               uint64_t* size_bytes);

/* The extents of an output. `capacity` is how many `dims` can hold, at least the rank; dims may be NULL where that is
 * none. */
OCTET_API octet_status* octet_call_output_dims(const octet_call* call, uint64_t index, int64_t* dims,
                                               uint64_t capacity);

/* The decision for the inputs given so far, as JSON: {"backend": "onednn", "implementation":
 * "brg_matmul:avx512_core_amx", "reasons": ["...", ...]}. Backend is "onednn", "vector", "eigen", or "none" where there
 * is nothing to compute. */
OCTET_API octet_status* octet_call_explain(const octet_call* call, char* buffer, uint64_t* size);

/* Where output `index` goes in this and later runs: type and extents are those of octet_call_infer(), and data leads to
 * `size_bytes` bytes during octet_call_run(), at least what dtype and dims make. Must not overlap an input,
 * but may be an input's memory where the operator's documentation allows it.
 * OCTET_TYPE_ABSENT takes it back: then the call keeps memory of its own for the output. */
OCTET_API octet_status* octet_call_set_output(octet_call* call, uint64_t index, int32_t dtype, const int64_t* dims,
                                              int32_t rank, void* data, uint64_t size_bytes);

/* Computes the outputs. */
OCTET_API octet_status* octet_call_run(octet_call* call);

/* Copies an output of the last run, which succeeded and for which octet_call_set_output() did not give the memory, to
 * `data`, which is `size_bytes` long, at least the output's size. */
OCTET_API octet_status* octet_call_copy_output(const octet_call* call, uint64_t index, void* data, uint64_t size_bytes);

/* ---- The dynamically quantized inner product ---------------------------------------------------------------------
 *
 * C = activation(A B + bias): A is m x k, B is k x n, C is m x n, row-major, of any alignment. Rows of A are quantized
 * to u8 and columns of B to s8, each by its own range, in each run; sums are exact; so a row's result does not depend
 * on the other rows, nor on the CPU or the threads. <octet/inner_product.hpp> has the mathematics, error bounds
 * included.
 *
 *   octet_dqip* product = octet_dqip_init(m, n, k, OCTET_TYPE_FLOAT, OCTET_TYPE_FLOAT, OCTET_TYPE_FLOAT, 1, 1, 0, 0);
 *   octet_dqip_set_params(product, b, NULL, bias, NULL);
 *   octet_dqip_forward(product, a, NULL, NULL, c);
 *
 * A product is for one thread at a time, except that any number of threads may call octet_dqip_forward() and
 * octet_dqip_forward_rows() at the same time, each with a `buf` of its own, while none calls anything else. */

/* A new product, or NULL where it is refused.
 *   m, n, k         extents, each at most 2^40; any may be 0
 *   type_a, type_c  OCTET_TYPE_FLOAT or OCTET_TYPE_BFLOAT16
 *   type_b          FLOAT or INT8 where const_b is 1, FLOAT or BFLOAT16 where it is 0
 *   const_b         1: B is given once, to octet_dqip_set_params(); 0: it comes with each run
 *   bias            1: n floats are added to each row
 *   activation      0 identity, 1 relu, 2 leaky_relu (slope), 3 restrict_range (lower, upper), 4 prelu (n slopes),
 *                   5 elu (alpha), 6 hswish (shift, scale), 7 mish (threshold), 8 hard_sigmoid (scale, shift),
 *                   9 swish (slope), 10 gelu; in parentheses its params
 *   avoid_overflow  1: quantized B keeps to [-63, 63] instead of [-127, 127]; ignored where B is INT8 */
OCTET_API octet_dqip* octet_dqip_init(uint64_t m, uint64_t n, uint64_t k, int32_t type_a, int32_t type_b,
                                      int32_t type_c, int32_t const_b, int32_t bias, int32_t activation,
                                      int32_t avoid_overflow);
OCTET_API void octet_dqip_release(octet_dqip* product);

/* "trans_b" (0, the default, or 1: B is n x k) or "threads" (1, the default, to 1024). Before octet_dqip_set_params().
 */
OCTET_API octet_status* octet_dqip_set_option(octet_dqip* product, const char* key, int64_t value);

/* Bytes that the product holds: quantized weights with their sums and scales, bias, params, and after a run without
 * `buf` the internal buffer. 0 for NULL. */
OCTET_API uint64_t octet_dqip_internal_buffer_size(const octet_dqip* product);

/* Bytes of `buf` that a run uses, for any alignment of it. 0 for NULL. */
OCTET_API uint64_t octet_dqip_external_buffer_size(const octet_dqip* product);

/* The implementation that runs, e.g. "vector product:avx512_core_vnni". Valid until the next call of this function or
 * the release. NULL for NULL. */
OCTET_API const char* octet_dqip_info(octet_dqip* product);

/* Gives B and what belongs to it; everything is copied, and may be given again.
 *   weight  const_b: k * n elements of type_b, required; else ignored, and this function is needed for bias and params
 *           only: without it the bias is zero, and an activation with params is an error of the run
 *   scale   n scales where B is INT8, required; else ignored
 *   bias    n floats, or NULL for zeros; ignored where the product has no bias
 *   params  of the activation, required where it has some */
OCTET_API octet_status* octet_dqip_set_params(octet_dqip* product, const void* weight, const float* scale,
                                              const float* bias, const float* params);

/* Computes C. `b` is ignored, and may be NULL, where B is constant. `buf` has octet_dqip_external_buffer_size() bytes;
 * NULL takes a buffer of the product's own, and is not for several threads at a time. C overlaps nothing else. */
OCTET_API octet_status* octet_dqip_forward(octet_dqip* product, const void* a, const void* b, void* buf, void* c);

/* The same for the first m rows of A and C; m is at most that of octet_dqip_init(). Nothing is packed again. */
OCTET_API octet_status* octet_dqip_forward_rows(octet_dqip* product, uint64_t m, const void* a, const void* b,
                                                void* buf, void* c);

#ifdef __cplusplus
}
#endif

#endif
