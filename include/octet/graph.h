/* Octet's flat C interface for ONNX models: checks them, infers types and shapes, builds them node by node and runs
 * them, with the com.microsoft operators of Octet's table (`octet ops`) beside ONNX's own. Made for every language that
 * can call C: scalars, arrays, strings and opaque handles only. Belongs to liboctet_graph.so, for Linux on x86-64,
 * which takes the operators from liboctet.so beside it; octet.h computes single operators.
 *
 * - Errors: functions that return int32_t give OCTET_GRAPH_OK (0) or one of the numbers below; functions that return a
 *   handle give NULL. Then octet_graph_last_error() and octet_graph_last_error_code() tell more, in the same thread. A
 *   call that fails leaves everything as it was. Wrong use is always an error and never ends the process, but for
 *   handles that were released.
 * - Models: serialized ModelProto of at most 2^31-1 bytes, read during the call only.
 * - Strings are UTF-8 and end with a zero byte. Arrays and strings are read during the call only.
 * - Threads: every function may be called from any thread, at the same time, but for one builder or node.
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
#define OCTET_GRAPH_NOT_IMPLEMENTED 2  /* the model has nodes that Octet does not run */
#define OCTET_GRAPH_OUT_OF_MEMORY 3
#define OCTET_GRAPH_INTERNAL 4
#define OCTET_GRAPH_INVALID_MODEL 5 /* the model breaks a rule of ONNX or the definition of one of its operators */

/* A model that is built is an argument until it is checked: what is wrong with a node that is added to it, or with the
 * inputs of a run, is OCTET_GRAPH_INVALID_ARGUMENT. */

/* The text of the last error of this thread; empty where its last call succeeded. Never NULL; valid until the thread's
 * next call of a function of this file. */
OCTET_API const char* octet_graph_last_error(void);
/* Its number, one of those above; OCTET_GRAPH_OK where the last call succeeded or there was none. For functions that
 * return a number, the one that they gave. */
OCTET_API int32_t octet_graph_last_error_code(void);

/* How many operators the library has registered with its ONNX library. */
OCTET_API uint64_t octet_graph_registered_schemas(void);

/* ---- Checking and inferring ------------------------------------------------------------------------------------- */

/* Checks a model: structure, operators, attributes, numbers of inputs and outputs. With `full` other than 0 types and
 * shapes are inferred too, and what contradicts a definition is an error. Operators of domains that neither ONNX nor
 * Octet knows pass. External data is looked for in the current directory. */
OCTET_API int32_t octet_graph_check(const void* model, uint64_t model_size, int32_t full);

/* The same for a file, whose external data lies beside it and may be of any size. */
OCTET_API int32_t octet_graph_check_file(const char* path, int32_t full);

/* Infers types and shapes, and writes the model with what became known of its values (graph.value_info and
 * graph.output). With `strict` 0, a node whose inference fails is left as it is; otherwise it is an error, whose text
 * names every such node. External data of up to 4 kB, from which shapes may follow, is looked for in the current
 * directory, and left alone where it is not there.
 *
 * With `buffer` NULL, *size becomes the number of bytes needed. Otherwise *size is the size of the buffer: where it
 * suffices, the model is written and *size becomes its size, else *size becomes the size needed and an error is
 * returned. */
OCTET_API int32_t octet_graph_infer(const void* model, uint64_t model_size, int32_t strict, void* buffer,
                                    uint64_t* size);

/* ---- Building: a model, node by node ---------------------------------------------------------------------------- */

/* A model under construction. Types and shapes are inferred as each node is added; whatever is wrong is an error of the
 * call that made it. include/octet/graph_builder.hpp tells more, of the same in C++. */
typedef struct octet_graph_builder octet_graph_builder;
/* The description of a node that is to be added. */
typedef struct octet_graph_node octet_graph_node;

/* Values of a graph are numbers, without meaning to any other graph; 0 stands for none. Names may be NULL or empty: one
 * is made up then. Names that are given must be new. Element types are the numbers of onnx.TensorProto.DataType;
 * octet.h names them. */

/* Starts an empty model. `opset_version` is of ai.onnx; 0 stands for 21, the newest with IR version 10. */
OCTET_API octet_graph_builder* octet_graph_builder_create(int64_t opset_version);
/* Goes on from a model whose external data lies in `directory`; NULL or empty stands for the current one. */
OCTET_API octet_graph_builder* octet_graph_builder_from_model(const void* model, uint64_t model_size,
                                                              const char* directory);
OCTET_API octet_graph_builder* octet_graph_builder_from_file(const char* path);
/* Accepts NULL, as octet_graph_node_release() does. */
OCTET_API void octet_graph_builder_release(octet_graph_builder* builder);

/* An input of the graph. An extent of -1 is not known, or has the name symbols[d] where `symbols` and that are not
 * NULL. */
OCTET_API int32_t octet_graph_builder_add_input(octet_graph_builder* builder, const char* name, int32_t dtype,
                                                const int64_t* dims, const char* const* symbols, int32_t rank,
                                                uint64_t* value);

/* A constant. `data` is `size_bytes` long, what dtype and dims make, row-major, 4-bit elements two to a byte; it is
 * copied. */
OCTET_API int32_t octet_graph_builder_add_constant(octet_graph_builder* builder, const char* name, int32_t dtype,
                                                   const int64_t* dims, int32_t rank, const void* data,
                                                   uint64_t size_bytes, uint64_t* value);

/* `domain` is "com.microsoft", or "", "ai.onnx" or NULL for ONNX's own operators. */
OCTET_API octet_graph_node* octet_graph_node_create(const char* domain, const char* op_type, const char* name);
OCTET_API void octet_graph_node_release(octet_graph_node* node);

/* Gives the input of a port of the operator's definition ("A", "a_scale"); a further call for the same port adds a
 * member to a variadic one. */
OCTET_API int32_t octet_graph_node_add_input(octet_graph_node* node, const char* port, uint64_t value);
/* Attributes. A second value for the same name replaces the first. `values` may be NULL where count is 0. */
OCTET_API int32_t octet_graph_node_set_int(octet_graph_node* node, const char* attribute, int64_t value);
OCTET_API int32_t octet_graph_node_set_float(octet_graph_node* node, const char* attribute, float value);
OCTET_API int32_t octet_graph_node_set_string(octet_graph_node* node, const char* attribute, const char* value);
OCTET_API int32_t octet_graph_node_set_ints(octet_graph_node* node, const char* attribute, const int64_t* values,
                                            uint64_t count);
OCTET_API int32_t octet_graph_node_set_floats(octet_graph_node* node, const char* attribute, const float* values,
                                              uint64_t count);
OCTET_API int32_t octet_graph_node_set_strings(octet_graph_node* node, const char* attribute, const char* const* values,
                                               uint64_t count);
/* An entry of NodeProto.metadata_props. */
OCTET_API int32_t octet_graph_node_set_metadata(octet_graph_node* node, const char* key, const char* value);

/* Adds a node and writes its outputs, all that the definition has in its order (optional ones that nothing uses are
 * left out of the model). *count is how many `outputs` can hold, at least their number, which it becomes. The
 * description may be changed and used again. */
OCTET_API int32_t octet_graph_builder_add_node(octet_graph_builder* builder, const octet_graph_node* node,
                                               uint64_t* outputs, uint64_t* count);

/* Adds a DynamicQuantizeLSTM node with the parameters of a layer.
 *   inputs            12 values: X, W, R, B, sequence_lens, initial_h, initial_c, P, W_scale, W_zero_point, R_scale,
 *                     R_zero_point; B, sequence_lens, initial_h, initial_c and P may be 0
 *   activation_alpha, activation_beta, activations   empty: the defaults of ONNX
 *   clip              0: none
 *   direction         "forward" (also for NULL), "reverse" or "bidirectional"
 *   hidden_size       0: that of R, whose shape must tell it
 *   input_forget      0 or 1
 *   training          0 or 1 (a layer's default): kept in the node's metadata as "octet.training"
 *   lda_coeff         factor of the derivative of X in a backward pass (default 1), kept as "octet.lda_coeff"
 *   outputs           becomes 3 values: Y, Y_h, Y_c */
OCTET_API int32_t octet_graph_builder_add_dynamic_quantize_lstm(
    octet_graph_builder* builder, const char* name, const uint64_t* inputs, const float* activation_alpha,
    uint64_t activation_alpha_count, const float* activation_beta, uint64_t activation_beta_count,
    const char* const* activations, uint64_t activation_count, float clip, const char* direction, int64_t hidden_size,
    int32_t input_forget, int32_t training, float lda_coeff, uint64_t* outputs);

/* Quantizes float weights in the layout of ONNX's LSTM, [num_directions, gates, columns], where gates is 4*hidden_size
 * and columns is input_size for W and hidden_size for R, to those of DynamicQuantizeLSTM.
 *   dtype                int8 or uint8
 *   symmetric            other than 0: zero points are 0 (int8) or 128 (uint8)
 *   per_channel          other than 0: a scale for each gate column, else one for each direction
 *   data                 becomes [num_directions, columns, gates] bytes
 *   scale, zero_point    become [num_directions, gates] numbers and bytes per channel, else [num_directions]
 *   largest_error, root_mean_square_error   of the weights, by rounding; may be NULL */
OCTET_API int32_t octet_graph_quantize_lstm_weight(const float* weight, int64_t num_directions, int64_t gates,
                                                   int64_t columns, int32_t dtype, int32_t symmetric,
                                                   int32_t per_channel, void* data, float* scale, void* zero_point,
                                                   double* largest_error, double* root_mean_square_error);

/* Makes a value an output of the graph, called `name` where one is given; a value that cannot take that name goes
 * through an Identity node. */
OCTET_API int32_t octet_graph_builder_add_output(octet_graph_builder* builder, uint64_t value, const char* name);
/* The value is an output no longer. */
OCTET_API int32_t octet_graph_builder_remove_output(octet_graph_builder* builder, uint64_t value);

/* The value of a name. */
OCTET_API int32_t octet_graph_builder_find_value(const octet_graph_builder* builder, const char* name, uint64_t* value);
/* The graph's inputs and outputs. *count is how many `values` can hold, and becomes their number; `values` may be
 * NULL. */
OCTET_API int32_t octet_graph_builder_inputs(const octet_graph_builder* builder, uint64_t* values, uint64_t* count);
OCTET_API int32_t octet_graph_builder_outputs(const octet_graph_builder* builder, uint64_t* values, uint64_t* count);

/* Element type (0: not known) and rank (-1: not known) of a value. Each result pointer may be NULL. */
OCTET_API int32_t octet_graph_builder_value_info(const octet_graph_builder* builder, uint64_t value, int32_t* dtype,
                                                 int32_t* rank);
/* The extents of a value of known rank, -1 where one is not known. `capacity` is how many `dims` can hold. */
OCTET_API int32_t octet_graph_builder_value_dims(const octet_graph_builder* builder, uint64_t value, int64_t* dims,
                                                 uint64_t capacity);
/* The name of a value, and that of its extent d (empty where it has none), as texts: with `buffer` NULL, *size becomes
 * the number of bytes needed, the zero byte included; otherwise it is the size of the buffer, and becomes that used. */
OCTET_API int32_t octet_graph_builder_value_name(const octet_graph_builder* builder, uint64_t value, char* buffer,
                                                 uint64_t* size);
OCTET_API int32_t octet_graph_builder_value_symbol(const octet_graph_builder* builder, uint64_t value, uint64_t d,
                                                   char* buffer, uint64_t* size);

/* Checks the model and infers it strictly, as octet_graph_check() does. */
OCTET_API int32_t octet_graph_builder_check(const octet_graph_builder* builder);
/* The serialized model with all constants inside. `buffer` and `size` as for octet_graph_infer(). */
OCTET_API int32_t octet_graph_builder_serialize(const octet_graph_builder* builder, void* buffer, uint64_t* size);
/* Writes the model to a file, and constants of at least `external_data_threshold` bytes to "<path>.data". */
OCTET_API int32_t octet_graph_builder_save(const octet_graph_builder* builder, const char* path,
                                           uint64_t external_data_threshold);

/* ---- Running: models of Octet's operators, without onnxruntime -------------------------------------------------- */

/* A loaded model; any number of threads may use it at the same time. include/octet/model.hpp says which models run. */
typedef struct octet_graph_model octet_graph_model;
/* The inputs and outputs of a run; for one thread at a time. */
typedef struct octet_graph_run octet_graph_run;

/* Load a model. `options` is NULL or text such as "threads=2,lstm_quantization=per_tensor": threads, backend, accuracy,
 * lstm_quantization and rowwise, as octet_node_set_option() of octet.h has them. A model with nodes that Octet does not
 * run is an error that names them. */
OCTET_API octet_graph_model* octet_graph_model_from_bytes(const void* model, uint64_t model_size, const char* directory,
                                                          const char* options);
OCTET_API octet_graph_model* octet_graph_model_from_file(const char* path, const char* options);
/* Accepts NULL. Runs that were made of the model stay usable. */
OCTET_API void octet_graph_model_release(octet_graph_model* model);

/* How many inputs and outputs the model has; each result pointer may be NULL. Their names, as texts like those of
 * octet_graph_builder_value_name(). */
OCTET_API int32_t octet_graph_model_counts(const octet_graph_model* model, uint64_t* inputs, uint64_t* outputs);
OCTET_API int32_t octet_graph_model_input_name(const octet_graph_model* model, uint64_t index, char* buffer,
                                               uint64_t* size);
OCTET_API int32_t octet_graph_model_output_name(const octet_graph_model* model, uint64_t index, char* buffer,
                                                uint64_t* size);

OCTET_API octet_graph_run* octet_graph_run_create(const octet_graph_model* model);
OCTET_API void octet_graph_run_release(octet_graph_run* run);
/* Gives input `index` for this and later runs. Only the pointer to the data is kept: it must lead to at least
 * `size_bytes` bytes, what dtype and dims make, during octet_graph_run_execute(). */
OCTET_API int32_t octet_graph_run_set_input(octet_graph_run* run, uint64_t index, int32_t dtype, const int64_t* dims,
                                            int32_t rank, const void* data, uint64_t size_bytes);
/* Computes all outputs, which the three functions below read until the next call. */
OCTET_API int32_t octet_graph_run_execute(octet_graph_run* run);
/* Element type, number of extents and size of an output; each result pointer may be NULL. */
OCTET_API int32_t octet_graph_run_output_info(const octet_graph_run* run, uint64_t index, int32_t* dtype, int32_t* rank,
                                              uint64_t* size_bytes);
OCTET_API int32_t octet_graph_run_output_dims(const octet_graph_run* run, uint64_t index, int64_t* dims,
                                              uint64_t capacity);
/* Copies an output to `data`, which is `size_bytes` long, at least the output's size. */
OCTET_API int32_t octet_graph_run_copy_output(const octet_graph_run* run, uint64_t index, void* data,
                                              uint64_t size_bytes);

#ifdef __cplusplus
}
#endif

#endif
