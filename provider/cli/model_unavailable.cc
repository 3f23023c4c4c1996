// In place of model.cc and run.cc where Octet is built without ONNX.
#include "provider/cli/model.hpp"

namespace octet::cli {

Json examined_model(const TargetArguments&, const Examine&) {
  throw std::runtime_error("this octet was built without ONNX (OCTET_BUILD_ONNX): it knows nodes, not models");
}

int run_model(const RunArguments&) {
  throw std::runtime_error("this octet was built without ONNX (OCTET_BUILD_ONNX): it runs no models");
}

}  // namespace octet::cli
