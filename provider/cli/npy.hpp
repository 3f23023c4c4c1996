// Files of NumPy's format .npy, version 1.0 and newer (numpy.lib.format): one array, row-major.
#pragma once

#include <string>

#include <octet/model.hpp>

namespace octet::cli {

/// Throws std::runtime_error where the file is none, is cut off, or holds what Octet has no type for.
ModelTensor read_npy(const std::string& path);
void write_npy(const std::string& path, const ModelTensor& tensor);

}  // namespace octet::cli
