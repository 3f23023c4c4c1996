// The compiler's check of ort_api.hpp: every member that is used stands in its slot.
#include "provider/ort/ort_api.hpp"

namespace octet::ort {

#define OCTET_SLOT(table, member, slot) \
  static_assert(offsetof(table, member) == (slot) * sizeof(void*), #table "::" #member " is not in slot " #slot)

OCTET_SLOT(OrtApi, CreateStatus, 0);
OCTET_SLOT(OrtApi, GetErrorMessage, 2);
OCTET_SLOT(OrtApi, GetTensorMutableData, 51);
OCTET_SLOT(OrtApi, CastTypeInfoToTensorInfo, 55);
OCTET_SLOT(OrtApi, GetTensorElementType, 60);
OCTET_SLOT(OrtApi, GetDimensionsCount, 61);
OCTET_SLOT(OrtApi, GetDimensions, 62);
OCTET_SLOT(OrtApi, GetSymbolicDimensions, 63);
OCTET_SLOT(OrtApi, KernelInfoGetAttribute_float, 85);
OCTET_SLOT(OrtApi, KernelInfoGetAttribute_int64, 86);
OCTET_SLOT(OrtApi, KernelInfoGetAttribute_string, 87);
OCTET_SLOT(OrtApi, KernelContext_GetInput, 90);
OCTET_SLOT(OrtApi, KernelContext_GetOutput, 91);
OCTET_SLOT(OrtApi, ReleaseStatus, 93);
OCTET_SLOT(OrtApi, ReleaseTypeInfo, 98);
OCTET_SLOT(OrtApi, KernelInfoGetAttributeArray_float, 162);
OCTET_SLOT(OrtApi, KernelInfoGetAttributeArray_int64, 163);
OCTET_SLOT(OrtApi, KernelInfo_GetInputCount, 230);
OCTET_SLOT(OrtApi, KernelInfo_GetOutputCount, 231);
OCTET_SLOT(OrtApi, KernelInfo_GetInputName, 232);
OCTET_SLOT(OrtApi, KernelInfo_GetOutputName, 233);
OCTET_SLOT(OrtApi, KernelInfo_GetInputTypeInfo, 234);
OCTET_SLOT(OrtApi, KernelInfo_GetOutputTypeInfo, 235);
OCTET_SLOT(OrtApi, KernelInfo_GetNodeName, 244);
OCTET_SLOT(OrtApi, Logger_LogMessage, 247);
OCTET_SLOT(OrtApi, KernelInfoGetConstantInput_tensor, 249);
OCTET_SLOT(OrtApi, ReadOpAttr, 272);
OCTET_SLOT(OrtApi, KernelContext_ParallelFor, 274);
OCTET_SLOT(OrtApi, GetValueInfoName, 289);
OCTET_SLOT(OrtApi, GetValueInfoTypeInfo, 290);
OCTET_SLOT(OrtApi, GetKeyValuePairs, 298);
OCTET_SLOT(OrtApi, ReleaseKeyValuePairs, 300);
OCTET_SLOT(OrtApi, HardwareDevice_Type, 307);
OCTET_SLOT(OrtApi, GetEpApi, 317);
OCTET_SLOT(OrtApi, ValueInfo_GetInitializerValue, 326);
OCTET_SLOT(OrtApi, ValueInfo_IsGraphOutput, 330);
OCTET_SLOT(OrtApi, ValueInfo_IsConstantInitializer, 331);
OCTET_SLOT(OrtApi, Graph_GetNumInputs, 338);
OCTET_SLOT(OrtApi, Graph_GetInputs, 339);
OCTET_SLOT(OrtApi, Graph_GetNumNodes, 344);
OCTET_SLOT(OrtApi, Graph_GetNodes, 345);
OCTET_SLOT(OrtApi, Graph_GetParentNode, 346);
OCTET_SLOT(OrtApi, Node_GetName, 349);
OCTET_SLOT(OrtApi, Node_GetOperatorType, 350);
OCTET_SLOT(OrtApi, Node_GetDomain, 351);
OCTET_SLOT(OrtApi, Node_GetSinceVersion, 352);
OCTET_SLOT(OrtApi, Node_GetNumInputs, 353);
OCTET_SLOT(OrtApi, Node_GetInputs, 354);
OCTET_SLOT(OrtApi, Node_GetNumOutputs, 355);
OCTET_SLOT(OrtApi, Node_GetOutputs, 356);
OCTET_SLOT(OrtApi, Node_GetNumImplicitInputs, 357);
OCTET_SLOT(OrtApi, Node_GetImplicitInputs, 358);
OCTET_SLOT(OrtApi, Node_GetNumAttributes, 359);
OCTET_SLOT(OrtApi, Node_GetAttributes, 360);
OCTET_SLOT(OrtApi, OpAttr_GetType, 363);
OCTET_SLOT(OrtApi, OpAttr_GetName, 364);
OCTET_SLOT(OrtApi, Node_GetNumSubgraphs, 365);
OCTET_SLOT(OrtApi, Node_GetSubgraphs, 366);
OCTET_SLOT(OrtApi, Node_GetEpName, 368);
OCTET_SLOT(OrtApi, GetTensorData, 378);
OCTET_SLOT(OrtApi, GetSessionOptionsConfigEntries, 379);
OCTET_SLOT(OrtApi, TensorTypeAndShape_HasShape, 390);
OCTET_SLOT(OrtApi, GetTensorElementTypeAndShapeDataReference, 414);

OCTET_SLOT(OrtEpApi, CreateEpDevice, 0);
OCTET_SLOT(OrtEpApi, EpGraphSupportInfo_AddNodesToFuse, 2);
OCTET_SLOT(OrtEpApi, EpGraphSupportInfo_AddSingleNode, 3);
OCTET_SLOT(OrtEpApi, CreateKernelRegistry, 18);
OCTET_SLOT(OrtEpApi, ReleaseKernelRegistry, 19);
OCTET_SLOT(OrtEpApi, KernelRegistry_AddKernel, 20);
OCTET_SLOT(OrtEpApi, CreateKernelDefBuilder, 21);
OCTET_SLOT(OrtEpApi, ReleaseKernelDefBuilder, 22);
OCTET_SLOT(OrtEpApi, KernelDefBuilder_SetOperatorType, 23);
OCTET_SLOT(OrtEpApi, KernelDefBuilder_SetDomain, 24);
OCTET_SLOT(OrtEpApi, KernelDefBuilder_SetSinceVersion, 25);
OCTET_SLOT(OrtEpApi, KernelDefBuilder_SetExecutionProvider, 26);
OCTET_SLOT(OrtEpApi, KernelDefBuilder_AddTypeConstraint, 29);
OCTET_SLOT(OrtEpApi, KernelDefBuilder_AddInputOutputMutableAliases, 31);
OCTET_SLOT(OrtEpApi, KernelDefBuilder_Build, 32);
OCTET_SLOT(OrtEpApi, ReleaseKernelDef, 33);
OCTET_SLOT(OrtEpApi, GetTensorDataType, 40);
OCTET_SLOT(OrtEpApi, EpGraphSupportInfo_LookUpKernel, 41);
OCTET_SLOT(OrtEpApi, KernelInfo_GetEp, 43);

OCTET_SLOT(OrtEp, GetName, 1);
OCTET_SLOT(OrtEp, GetCapability, 2);
OCTET_SLOT(OrtEp, Compile, 3);
OCTET_SLOT(OrtEp, ReleaseNodeComputeInfos, 4);
OCTET_SLOT(OrtEp, OnRunStart, 8);
OCTET_SLOT(OrtEp, GetKernelRegistry, 13);

OCTET_SLOT(OrtEpFactory, GetName, 1);
OCTET_SLOT(OrtEpFactory, GetVendor, 2);
OCTET_SLOT(OrtEpFactory, GetSupportedDevices, 3);
OCTET_SLOT(OrtEpFactory, CreateEp, 4);
OCTET_SLOT(OrtEpFactory, ReleaseEp, 5);
OCTET_SLOT(OrtEpFactory, GetVendorId, 6);
OCTET_SLOT(OrtEpFactory, GetVersion, 7);
OCTET_SLOT(OrtEpFactory, CreateDataTransfer, 11);

#undef OCTET_SLOT

static_assert(offsetof(OrtKernelImpl, flags) == 4 && offsetof(OrtKernelImpl, Compute) == 8);
static_assert(offsetof(OrtKernelImpl, Release) == 16 && offsetof(OrtKernelImpl, PrePackWeight) == 24);
static_assert(offsetof(OrtKernelImpl, SetSharedPrePackedWeight) == 32 && sizeof(OrtKernelImpl) == 40);
static_assert(offsetof(OrtNodeComputeInfo, CreateState) == 8 && offsetof(OrtNodeComputeInfo, Compute) == 16);
static_assert(offsetof(OrtNodeComputeInfo, ReleaseState) == 24 && sizeof(OrtNodeComputeInfo) == 32);
static_assert(offsetof(OrtNodeFusionOptions, drop_constant_initializers) == 4);

}  // namespace octet::ort
