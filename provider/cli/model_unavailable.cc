// In place of model.cc where Octet is built without ONNX.
#include "provider/cli/model.hpp"

namespace octet::cli {

Json explained_model(const ExplainArguments&) {
  throw std::runtime_error("this octet was built without ONNX (OCTET_BUILD_ONNX): it explains nodes, not models");
}

}  // namespace octet::cli
