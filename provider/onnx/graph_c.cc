// The flat C interface of liboctet_graph.
#include "provider/onnx/graph_c.hpp"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>

#include "provider/onnx/graph_state.hpp"
#include "provider/ops/ops.hpp"

namespace octet::graph_c {
namespace {

struct LastError {
  std::int32_t code = OCTET_GRAPH_OK;
  std::string text;
};
thread_local LastError last_error;

std::int32_t keep(std::int32_t code, const char* text) noexcept {
  last_error.code = code;
  try {
    last_error.text = text;
  } catch (...) {
    last_error.code = OCTET_GRAPH_OUT_OF_MEMORY;
    last_error.text.clear();
  }
  return last_error.code;
}

}  // namespace

std::int32_t keep_exception() noexcept {
  try {
    throw;
  } catch (const onnx_side::ModelError& error) {
    return keep(OCTET_GRAPH_INVALID_MODEL, error.what());
  } catch (const Error& error) {
    return keep(static_cast<std::int32_t>(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return keep(OCTET_GRAPH_OUT_OF_MEMORY, "out of memory");
  } catch (const std::length_error&) {
    return keep(OCTET_GRAPH_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return keep(OCTET_GRAPH_INTERNAL, error.what());
  } catch (...) {
    return keep(OCTET_GRAPH_INTERNAL, "an exception of unknown type");
  }
}

void clear_last_error() noexcept {
  last_error.code = OCTET_GRAPH_OK;
  last_error.text.clear();
}

}  // namespace octet::graph_c

using namespace octet::c_api;
using namespace octet::graph_c;
using octet::onnx_side::register_schemas_once;

namespace {

onnx::ModelProto parse(const void* model, std::uint64_t size, const char* function) {
  require(model, function, "model");
  return octet::onnx_side::parse_model(model, size);
}

void check(const onnx::ModelProto& model, const std::filesystem::path& directory, bool full) {
  octet::onnx_side::check_model(model, directory);
  onnx::ModelProto inferred;
  if (full) octet::onnx_side::infer_shapes(inferred = model, directory, true);
}

}  // namespace

extern "C" {

int32_t octet_graph_abi_version(void) { return OCTET_GRAPH_ABI_VERSION; }

const char* octet_graph_last_error(void) { return octet::graph_c::last_error.text.c_str(); }

int32_t octet_graph_last_error_code(void) { return octet::graph_c::last_error.code; }

uint64_t octet_graph_registered_schemas(void) {
  std::uint64_t count = 0;
  guarded([&] {
    register_schemas_once();
    const auto schemas = onnx::OpSchemaRegistry::get_all_schemas_with_history();
    count = static_cast<std::uint64_t>(std::count_if(schemas.begin(), schemas.end(), [](const onnx::OpSchema& schema) {
      return schema.domain() == octet::core::kMicrosoftDomain;
    }));
  });
  return count;
}

int32_t octet_graph_check(const void* model, uint64_t model_size, int32_t full) {
  return guarded([&] { check(parse(model, model_size, "octet_graph_check"), {}, full != 0); });
}

int32_t octet_graph_check_file(const char* path, int32_t full) {
  return guarded([&] {
    const std::filesystem::path file = &required(path, "octet_graph_check_file", "path");
    check(octet::onnx_side::read_model(file), file.parent_path(), full != 0);
  });
}

int32_t octet_graph_infer(const void* model, uint64_t model_size, int32_t strict, void* buffer, uint64_t* size) {
  static constexpr const char* kFunction = "octet_graph_infer";
  return guarded([&] {
    require(size, kFunction, "size");
    onnx::ModelProto proto = parse(model, model_size, kFunction);
    octet::onnx_side::infer_shapes(proto, {}, strict != 0);
    const std::size_t needed = proto.ByteSizeLong();
    check_capacity(buffer, size, needed, kFunction);
    if (needed > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw octet::onnx_side::ModelError("octet_graph_infer: the result is larger than 2147483647 bytes");
    if (buffer && !proto.SerializeToArray(buffer, static_cast<int>(needed)))
      throw octet::Error(octet::ErrorCode::internal, "octet_graph_infer: the result cannot be serialized");
  });
}

}  // extern "C"
