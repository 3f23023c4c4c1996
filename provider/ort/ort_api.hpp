// ONNX Runtime's C interface as far as this plugin uses it, declared here so that building needs no ONNX Runtime.
//
// The function tables only grow, so a member's slot is its identity: `unused_N` runs keep the members in place and
// OCTET_SLOT lets the compiler check each one. Everything is of API level 24 (ONNX Runtime 1.24) or older, and level 24
// is what the plugin asks for and reports: ONNX Runtime reads members of later levels past the end of these structs
// where a plugin reports more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::ort {

constexpr std::uint32_t kApiLevel = 24;

// --- objects that only ONNX Runtime sees into ------------------------------------------------------------------------

struct OrtAllocator;
struct OrtDataTransferImpl;
struct OrtDataType;
struct OrtEpDevice;
struct OrtEpGraphSupportInfo;
struct OrtGraph;
struct OrtHardwareDevice;
struct OrtKernelContext;
struct OrtKernelDef;
struct OrtKernelDefBuilder;
struct OrtKernelInfo;
struct OrtKernelRegistry;
struct OrtKeyValuePairs;
struct OrtLogger;
struct OrtNode;
struct OrtNodeComputeContext;
struct OrtOpAttr;
struct OrtRunOptions;
struct OrtSessionOptions;
struct OrtSharedPrePackedWeightCache;
struct OrtStatus;
struct OrtTensorTypeAndShapeInfo;
struct OrtTypeInfo;
struct OrtValue;
struct OrtValueInfo;

// --- enumerations ----------------------------------------------------------------------------------------------------

enum OrtErrorCode : std::int32_t {
  ORT_OK = 0,
  ORT_FAIL = 1,
  ORT_INVALID_ARGUMENT = 2,
  ORT_NO_SUCHFILE = 3,
  ORT_NO_MODEL = 4,
  ORT_ENGINE_ERROR = 5,
  ORT_RUNTIME_EXCEPTION = 6,
  ORT_INVALID_PROTOBUF = 7,
  ORT_MODEL_LOADED = 8,
  ORT_NOT_IMPLEMENTED = 9,
  ORT_INVALID_GRAPH = 10,
  ORT_EP_FAIL = 11,
};

enum OrtLoggingLevel : std::int32_t {
  ORT_LOGGING_LEVEL_VERBOSE = 0,
  ORT_LOGGING_LEVEL_INFO = 1,
  ORT_LOGGING_LEVEL_WARNING = 2,
  ORT_LOGGING_LEVEL_ERROR = 3,
  ORT_LOGGING_LEVEL_FATAL = 4,
};

enum OrtHardwareDeviceType : std::int32_t {
  OrtHardwareDeviceType_CPU = 0,
  OrtHardwareDeviceType_GPU = 1,
  OrtHardwareDeviceType_NPU = 2,
};

enum OrtOpAttrType : std::int32_t {
  ORT_OP_ATTR_UNDEFINED = 0,
  ORT_OP_ATTR_INT = 1,
  ORT_OP_ATTR_INTS = 2,
  ORT_OP_ATTR_FLOAT = 3,
  ORT_OP_ATTR_FLOATS = 4,
  ORT_OP_ATTR_STRING = 5,
  ORT_OP_ATTR_STRINGS = 6,
  ORT_OP_ATTR_GRAPH = 7,
  ORT_OP_ATTR_TENSOR = 8,
};

/// The numbers are those of octet::DataType (both are onnx::TensorProto::DataType).
enum ONNXTensorElementDataType : std::int32_t { ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0 };

// --- what the plugin implements --------------------------------------------------------------------------------------

using Status = OrtStatus*;  ///< null: success; else owned by whoever receives it
using UnusedSlot = void (*)();

struct OrtKernelImpl {
  std::uint32_t ort_version_supported;
  std::uint32_t flags;  ///< ONNX Runtime's
  Status (*Compute)(OrtKernelImpl* self, OrtKernelContext* context);
  void (*Release)(OrtKernelImpl* self);
  Status (*PrePackWeight)(OrtKernelImpl* self, const OrtValue* tensor, int input, OrtAllocator* allocator,
                          OrtSharedPrePackedWeightCache* cache, bool* is_packed);
  Status (*SetSharedPrePackedWeight)(OrtKernelImpl* self, const void* const* buffers, const std::size_t* sizes,
                                     std::size_t num_buffers, int input);
};

using OrtKernelCreateFunc = Status (*)(void* state, const OrtKernelInfo* info, OrtKernelImpl** kernel);

struct OrtNodeComputeInfo {
  std::uint32_t ort_version_supported;
  Status (*CreateState)(OrtNodeComputeInfo* self, OrtNodeComputeContext* context, void** state);
  Status (*Compute)(OrtNodeComputeInfo* self, void* state, OrtKernelContext* context);
  void (*ReleaseState)(OrtNodeComputeInfo* self, void* state);
};

struct OrtNodeFusionOptions {
  std::uint32_t ort_version_supported;
  bool drop_constant_initializers;
};

struct OrtEp {
  std::uint32_t ort_version_supported;
  const char* (*GetName)(const OrtEp* self);
  Status (*GetCapability)(OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support);
  Status (*Compile)(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused_nodes, std::size_t count,
                    OrtNodeComputeInfo** compute_infos, OrtNode** ep_context_nodes);
  void (*ReleaseNodeComputeInfos)(OrtEp* self, OrtNodeComputeInfo** compute_infos, std::size_t count);
  UnusedSlot unused_5[2];  // data layout
  UnusedSlot unused_7;     // dynamic options
  Status (*OnRunStart)(OrtEp* self, const OrtRunOptions* options);
  UnusedSlot unused_9[4];
  Status (*GetKernelRegistry)(OrtEp* self, const OrtKernelRegistry** registry);
  UnusedSlot unused_14;
};

struct OrtEpFactory {
  std::uint32_t ort_version_supported;
  const char* (*GetName)(const OrtEpFactory* self);
  const char* (*GetVendor)(const OrtEpFactory* self);
  Status (*GetSupportedDevices)(OrtEpFactory* self, const OrtHardwareDevice* const* devices, std::size_t num_devices,
                                OrtEpDevice** ep_devices, std::size_t max_ep_devices, std::size_t* num_ep_devices);
  Status (*CreateEp)(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                     const OrtKeyValuePairs* const* ep_metadata, std::size_t num_devices,
                     const OrtSessionOptions* session_options, const OrtLogger* logger, OrtEp** ep);
  void (*ReleaseEp)(OrtEpFactory* self, OrtEp* ep);
  std::uint32_t (*GetVendorId)(const OrtEpFactory* self);
  const char* (*GetVersion)(const OrtEpFactory* self);
  UnusedSlot unused_8[3];
  Status (*CreateDataTransfer)(OrtEpFactory* self, OrtDataTransferImpl** data_transfer);  ///< must not be null
  UnusedSlot unused_12[6];
};

// --- what ONNX Runtime offers ----------------------------------------------------------------------------------------

struct OrtEpApi {
  Status (*CreateEpDevice)(OrtEpFactory*, const OrtHardwareDevice*, const OrtKeyValuePairs* metadata,
                           const OrtKeyValuePairs* options, OrtEpDevice**);
  UnusedSlot unused_1;
  Status (*EpGraphSupportInfo_AddNodesToFuse)(OrtEpGraphSupportInfo*, const OrtNode* const*, std::size_t,
                                              const OrtNodeFusionOptions*);
  Status (*EpGraphSupportInfo_AddSingleNode)(OrtEpGraphSupportInfo*, const OrtNode*);
  UnusedSlot unused_4[14];
  Status (*CreateKernelRegistry)(OrtKernelRegistry**);
  void (*ReleaseKernelRegistry)(OrtKernelRegistry*);
  Status (*KernelRegistry_AddKernel)(OrtKernelRegistry*, const OrtKernelDef*, OrtKernelCreateFunc, void* state);
  Status (*CreateKernelDefBuilder)(OrtKernelDefBuilder**);
  void (*ReleaseKernelDefBuilder)(OrtKernelDefBuilder*);
  Status (*KernelDefBuilder_SetOperatorType)(OrtKernelDefBuilder*, const char*);
  Status (*KernelDefBuilder_SetDomain)(OrtKernelDefBuilder*, const char*);
  Status (*KernelDefBuilder_SetSinceVersion)(OrtKernelDefBuilder*, int first, int last);
  Status (*KernelDefBuilder_SetExecutionProvider)(OrtKernelDefBuilder*, const char*);
  UnusedSlot unused_27[2];
  Status (*KernelDefBuilder_AddTypeConstraint)(OrtKernelDefBuilder*, const char*, const OrtDataType* const*,
                                               std::size_t);
  UnusedSlot unused_30;
  Status (*KernelDefBuilder_AddInputOutputMutableAliases)(OrtKernelDefBuilder*, const int* inputs, const int* outputs,
                                                          std::size_t);
  Status (*KernelDefBuilder_Build)(OrtKernelDefBuilder*, OrtKernelDef**);
  void (*ReleaseKernelDef)(OrtKernelDef*);
  UnusedSlot unused_34[6];
  Status (*GetTensorDataType)(ONNXTensorElementDataType, const OrtDataType**);
  Status (*EpGraphSupportInfo_LookUpKernel)(OrtEpGraphSupportInfo*, const OrtNode*, const OrtKernelDef**);
  UnusedSlot unused_42;
  Status (*KernelInfo_GetEp)(const OrtKernelInfo*, const OrtEp**);
};

/// Text getters take a buffer and its size; with a null buffer they give the size, the final NUL included.
struct OrtApi {
  Status (*CreateStatus)(OrtErrorCode, const char* message);
  UnusedSlot unused_1;
  const char* (*GetErrorMessage)(const OrtStatus*);
  UnusedSlot unused_3[48];
  Status (*GetTensorMutableData)(OrtValue*, void**);
  UnusedSlot unused_52[3];
  Status (*CastTypeInfoToTensorInfo)(const OrtTypeInfo*, const OrtTensorTypeAndShapeInfo**);  ///< null: no tensor
  UnusedSlot unused_56[4];
  Status (*GetTensorElementType)(const OrtTensorTypeAndShapeInfo*, ONNXTensorElementDataType*);
  Status (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo*, std::size_t*);
  Status (*GetDimensions)(const OrtTensorTypeAndShapeInfo*, std::int64_t*, std::size_t);
  Status (*GetSymbolicDimensions)(const OrtTensorTypeAndShapeInfo*, const char**, std::size_t);
  UnusedSlot unused_64[21];
  Status (*KernelInfoGetAttribute_float)(const OrtKernelInfo*, const char* name, float*);
  Status (*KernelInfoGetAttribute_int64)(const OrtKernelInfo*, const char* name, std::int64_t*);
  Status (*KernelInfoGetAttribute_string)(const OrtKernelInfo*, const char* name, char*, std::size_t*);
  UnusedSlot unused_88[2];
  Status (*KernelContext_GetInput)(const OrtKernelContext*, std::size_t, const OrtValue**);
  Status (*KernelContext_GetOutput)(OrtKernelContext*, std::size_t, const std::int64_t* dims, std::size_t rank,
                                    OrtValue**);
  UnusedSlot unused_92;
  void (*ReleaseStatus)(OrtStatus*);
  UnusedSlot unused_94[4];
  void (*ReleaseTypeInfo)(OrtTypeInfo*);
  UnusedSlot unused_99[63];
  Status (*KernelInfoGetAttributeArray_float)(const OrtKernelInfo*, const char* name, float*, std::size_t*);
  Status (*KernelInfoGetAttributeArray_int64)(const OrtKernelInfo*, const char* name, std::int64_t*, std::size_t*);
  UnusedSlot unused_164[66];
  Status (*KernelInfo_GetInputCount)(const OrtKernelInfo*, std::size_t*);
  Status (*KernelInfo_GetOutputCount)(const OrtKernelInfo*, std::size_t*);
  Status (*KernelInfo_GetInputName)(const OrtKernelInfo*, std::size_t, char*, std::size_t*);
  Status (*KernelInfo_GetOutputName)(const OrtKernelInfo*, std::size_t, char*, std::size_t*);
  Status (*KernelInfo_GetInputTypeInfo)(const OrtKernelInfo*, std::size_t, OrtTypeInfo**);
  Status (*KernelInfo_GetOutputTypeInfo)(const OrtKernelInfo*, std::size_t, OrtTypeInfo**);
  UnusedSlot unused_236[8];
  Status (*KernelInfo_GetNodeName)(const OrtKernelInfo*, char*, std::size_t*);
  UnusedSlot unused_245[2];
  Status (*Logger_LogMessage)(const OrtLogger*, OrtLoggingLevel, const char* message, const char* file, int line,
                              const char* function);
  UnusedSlot unused_248;
  Status (*KernelInfoGetConstantInput_tensor)(const OrtKernelInfo*, std::size_t, int* is_constant, const OrtValue**);
  UnusedSlot unused_250[22];
  Status (*ReadOpAttr)(const OrtOpAttr*, OrtOpAttrType, void* data, std::size_t bytes, std::size_t* needed);
  UnusedSlot unused_273;
  Status (*KernelContext_ParallelFor)(const OrtKernelContext*, void (*task)(void*, std::size_t), std::size_t total,
                                      std::size_t num_batch, void* argument);
  UnusedSlot unused_275[14];
  Status (*GetValueInfoName)(const OrtValueInfo*, const char**);
  Status (*GetValueInfoTypeInfo)(const OrtValueInfo*, const OrtTypeInfo**);
  UnusedSlot unused_291[7];
  void (*GetKeyValuePairs)(const OrtKeyValuePairs*, const char* const** keys, const char* const** values,
                           std::size_t* count);
  UnusedSlot unused_299;
  void (*ReleaseKeyValuePairs)(OrtKeyValuePairs*);
  UnusedSlot unused_301[6];
  OrtHardwareDeviceType (*HardwareDevice_Type)(const OrtHardwareDevice*);
  UnusedSlot unused_308[9];
  const OrtEpApi* (*GetEpApi)();
  UnusedSlot unused_318[8];
  Status (*ValueInfo_GetInitializerValue)(const OrtValueInfo*, const OrtValue**);
  UnusedSlot unused_327[3];
  Status (*ValueInfo_IsGraphOutput)(const OrtValueInfo*, bool*);
  Status (*ValueInfo_IsConstantInitializer)(const OrtValueInfo*, bool*);
  UnusedSlot unused_332[6];
  Status (*Graph_GetNumInputs)(const OrtGraph*, std::size_t*);
  Status (*Graph_GetInputs)(const OrtGraph*, const OrtValueInfo**, std::size_t);
  UnusedSlot unused_340[4];
  Status (*Graph_GetNumNodes)(const OrtGraph*, std::size_t*);
  Status (*Graph_GetNodes)(const OrtGraph*, const OrtNode**, std::size_t);
  Status (*Graph_GetParentNode)(const OrtGraph*, const OrtNode**);
  UnusedSlot unused_347[2];
  Status (*Node_GetName)(const OrtNode*, const char**);
  Status (*Node_GetOperatorType)(const OrtNode*, const char**);
  Status (*Node_GetDomain)(const OrtNode*, const char**);
  Status (*Node_GetSinceVersion)(const OrtNode*, int*);
  Status (*Node_GetNumInputs)(const OrtNode*, std::size_t*);
  Status (*Node_GetInputs)(const OrtNode*, const OrtValueInfo**, std::size_t);
  Status (*Node_GetNumOutputs)(const OrtNode*, std::size_t*);
  Status (*Node_GetOutputs)(const OrtNode*, const OrtValueInfo**, std::size_t);
  Status (*Node_GetNumImplicitInputs)(const OrtNode*, std::size_t*);
  Status (*Node_GetImplicitInputs)(const OrtNode*, const OrtValueInfo**, std::size_t);
  Status (*Node_GetNumAttributes)(const OrtNode*, std::size_t*);
  Status (*Node_GetAttributes)(const OrtNode*, const OrtOpAttr**, std::size_t);
  UnusedSlot unused_361[2];
  Status (*OpAttr_GetType)(const OrtOpAttr*, OrtOpAttrType*);
  Status (*OpAttr_GetName)(const OrtOpAttr*, const char**);
  Status (*Node_GetNumSubgraphs)(const OrtNode*, std::size_t*);
  Status (*Node_GetSubgraphs)(const OrtNode*, const OrtGraph**, std::size_t, const char** attribute_names);
  UnusedSlot unused_367;
  Status (*Node_GetEpName)(const OrtNode*, const char**);
  UnusedSlot unused_369[9];
  Status (*GetTensorData)(const OrtValue*, const void**);
  Status (*GetSessionOptionsConfigEntries)(const OrtSessionOptions*, OrtKeyValuePairs**);
  UnusedSlot unused_380[10];
  bool (*TensorTypeAndShape_HasShape)(const OrtTensorTypeAndShapeInfo*);
  UnusedSlot unused_391[23];
  Status (*GetTensorElementTypeAndShapeDataReference)(const OrtValue*, ONNXTensorElementDataType*,
                                                      const std::int64_t** dims, std::size_t* rank);
};

struct OrtApiBase {
  const OrtApi* (*GetApi)(std::uint32_t level);  ///< null where this ONNX Runtime is older than `level`
  const char* (*GetVersionString)();
};

}  // namespace octet::ort
