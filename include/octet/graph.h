/* Octet's flat C interface for ONNX models: checks them and infers types and shapes, with the com.microsoft operators
 * of Octet's table (`octet ops`) beside ONNX's own. Belongs to liboctet_graph.so; octet.h and liboctet.so compute.
 *
 * - Errors: functions that return int32_t give OCTET_GRAPH_OK (0) or one of the numbers below; then
 *   octet_graph_last_error() tells more, in the same thread. Wrong use is always an error and never ends the process.
 * - Models: serialized ModelProto of at most 2^31-1 bytes, read during the call only.
 * - Threads: every function may be called from any thread, at the same time.
 *
 * liboctet_graph.so holds an ONNX library of its own on the system's libprotobuf. A program that links another ONNX C++
 * library to the same libprotobuf cannot load it ("File already exists in database"); it uses the static target
 * Octet::onnx and octet/onnx.hpp instead. Python's onnx and onnxruntime packages in the same process do no harm. */
#ifndef OCTET_GRAPH_H
#define OCTET_GRAPH_H

#include <stdint.h>

#include <octet/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts incompatible changes of this file; octet_graph_abi_version() tells the library's. */
#define OCTET_GRAPH_ABI_VERSION 1
OCTET_API int32_t octet_graph_abi_version(void);

#define OCTET_GRAPH_OK 0
#define OCTET_GRAPH_INVALID_ARGUMENT 1 /* a bad argument, or no model */
#define OCTET_GRAPH_OUT_OF_MEMORY 3
#define OCTET_GRAPH_INTERNAL 4
#define OCTET_GRAPH_INVALID_MODEL 5 /* the model breaks a rule of ONNX or the definition of one of its operators */

/* The text of the last error of this thread; empty where its last call succeeded. Never NULL; valid until the thread's
 * next call of a function of this file. */
OCTET_API const char* octet_graph_last_error(void);

/* How many operators the library has registered with its ONNX library. */
OCTET_API uint64_t octet_graph_registered_schemas(void);

/* Checks a model: structure, operators, attributes, numbers of inputs and outputs. With `full` other than 0 types and
 * shapes are inferred too, and what contradicts a definition is an error. Operators of domains that neither ONNX nor
 * Octet knows pass. */
OCTET_API int32_t octet_graph_check(const void* model, uint64_t model_size, int32_t full);

/* Infers types and shapes, and writes the model with what became known of its values (graph.value_info and
 * graph.output). With `strict` 0, a node whose inference fails is left as it is; otherwise it is an error, whose text
 * names every such node.
 *
 * With `buffer` NULL, *size becomes the number of bytes needed. Otherwise *size is the size of the buffer: where it
 * suffices, the model is written and *size becomes its size, else *size becomes the size needed and an error is
 * returned. */
OCTET_API int32_t octet_graph_infer(const void* model, uint64_t model_size, int32_t strict, void* buffer,
                                    uint64_t* size);

#ifdef __cplusplus
}
#endif

#endif
