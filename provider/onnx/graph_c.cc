// The flat C interface of liboctet_graph.
#include <octet/graph.h>

#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <string>

#include <octet/onnx.hpp>

#include "provider/ops/ops.hpp"

namespace {

thread_local std::string last_error;

/// A fault of the caller or of the model, with the number to return.
struct Failure {
  std::int32_t code;
  std::string text;
};

std::int32_t fail(std::int32_t code, const char* text) noexcept {
  try {
    last_error = text;
  } catch (...) {
    last_error.clear();
    return OCTET_GRAPH_OUT_OF_MEMORY;
  }
  return code;
}

template <class Function>
std::int32_t guarded(const Function& function) noexcept {
  last_error.clear();
  try {
    function();
    return OCTET_GRAPH_OK;
  } catch (const Failure& failure) {
    return fail(failure.code, failure.text.c_str());
  } catch (const std::bad_alloc&) {
    return fail(OCTET_GRAPH_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {  // of many types: the ONNX library's answer to a faulty model
    return fail(OCTET_GRAPH_INVALID_MODEL, error.what());
  } catch (...) {
    return fail(OCTET_GRAPH_INTERNAL, "an exception of unknown type");
  }
}

/// onnx's registry has no lock: it is filled before anything reads it.
void register_once() {
  static std::once_flag once;
  std::call_once(once, octet::register_schemas);
}

onnx::ModelProto parse(const void* model, std::uint64_t size, const char* function) {
  const auto refuse = [&](const char* text) {
    throw Failure{OCTET_GRAPH_INVALID_ARGUMENT, std::string(function) + ": " + text};
  };
  if (model == nullptr) refuse("'model' is null");
  if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
    refuse("'model' is larger than 2147483647 bytes");
  onnx::ModelProto proto;
  if (size == 0 || !proto.ParseFromArray(model, static_cast<int>(size))) refuse("'model' is no serialized ModelProto");
  register_once();
  return proto;
}

}  // namespace

extern "C" {

int32_t octet_graph_abi_version(void) { return OCTET_GRAPH_ABI_VERSION; }

const char* octet_graph_last_error(void) { return last_error.c_str(); }

uint64_t octet_graph_registered_schemas(void) {
  std::uint64_t count = 0;
  guarded([&] {
    register_once();
    const auto schemas = onnx::OpSchemaRegistry::get_all_schemas_with_history();
    count = static_cast<std::uint64_t>(std::count_if(schemas.begin(), schemas.end(), [](const onnx::OpSchema& schema) {
      return schema.domain() == octet::core::kMicrosoftDomain;
    }));
  });
  return count;
}

int32_t octet_graph_check(const void* model, uint64_t model_size, int32_t full) {
  return guarded([&] { onnx::checker::check_model(parse(model, model_size, "octet_graph_check"), full != 0); });
}

int32_t octet_graph_infer(const void* model, uint64_t model_size, int32_t strict, void* buffer, uint64_t* size) {
  return guarded([&] {
    if (size == nullptr) throw Failure{OCTET_GRAPH_INVALID_ARGUMENT, "octet_graph_infer: 'size' is null"};
    onnx::ModelProto proto = parse(model, model_size, "octet_graph_infer");
    onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(strict != 0, strict != 0));
    const std::size_t needed = proto.ByteSizeLong();
    const std::uint64_t capacity = buffer ? *size : needed;
    *size = needed;
    if (capacity < needed)
      throw Failure{OCTET_GRAPH_INVALID_ARGUMENT, "octet_graph_infer: 'buffer' has " + std::to_string(capacity) +
                                                      " bytes, expected at least " + std::to_string(needed)};
    if (needed > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw Failure{OCTET_GRAPH_INVALID_MODEL, "octet_graph_infer: the result is larger than 2147483647 bytes"};
    if (buffer) proto.SerializeToArray(buffer, static_cast<int>(needed));
  });
}

}  // extern "C"
