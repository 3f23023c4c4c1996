// The kernel of every operator: a claimed node that is no part of a fused group.
#pragma once

#include "provider/ort/ort_api.hpp"

namespace octet::ort {

/// Registers each operator definition that Octet has a kernel for. The registry is ONNX Runtime's to read and the
/// caller's to release.
OrtKernelRegistry* create_kernel_registry();

}  // namespace octet::ort
