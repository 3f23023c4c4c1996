// The flat C interface of liboctet_graph.
#include "provider/onnx/graph_c.hpp"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "provider/onnx/graph_state.hpp"
#include "provider/ops/ops.hpp"

namespace octet::graph_c {
namespace {

thread_local std::string last_error;

}  // namespace

const char* last_error_text() noexcept { return last_error.c_str(); }

void clear_last_error() noexcept { last_error.clear(); }

std::int32_t set_last_error(std::int32_t code, const char* text) noexcept {
  try {
    last_error = text;
  } catch (...) {
    last_error.clear();
    return OCTET_GRAPH_OUT_OF_MEMORY;
  }
  return code;
}

std::vector<std::string> strings(const char* const* values, std::uint64_t count, const char* function,
                                 const char* parameter) {
  std::vector<std::string> result;
  for (const char* text : array(values, count, function, parameter))
    result.emplace_back(&required(text, function, parameter));
  return result;
}

void check_capacity(const void* buffer, std::uint64_t* size, std::uint64_t needed, const char* function) {
  const std::uint64_t capacity = required(size, function, "size");
  *size = needed;
  if (buffer != nullptr && capacity < needed)
    refuse(std::string(function) + ": 'buffer' has " + std::to_string(capacity) + " bytes, expected at least " +
           std::to_string(needed));
}

void write_text(const std::string& text, char* buffer, std::uint64_t* size, const char* function) {
  check_capacity(buffer, size, text.size() + 1, function);
  if (buffer != nullptr) std::memcpy(buffer, text.c_str(), text.size() + 1);
}

}  // namespace octet::graph_c

using namespace octet::graph_c;
using octet::onnx_side::register_schemas_once;

namespace {

onnx::ModelProto parse(const void* model, std::uint64_t size, const char* function) {
  require(model, function, "model");
  return octet::onnx_side::parse_model(model, size);
}

void check(const onnx::ModelProto& model, const std::filesystem::path& directory, bool full) {
  try {
    octet::onnx_side::check_model(model, directory);
    onnx::ModelProto inferred;
    if (full) octet::onnx_side::infer_shapes(inferred = model, directory, true);
  } catch (const octet::Error& error) {
    refuse_model(error.what());
  }
}

}  // namespace

extern "C" {

int32_t octet_graph_abi_version(void) { return OCTET_GRAPH_ABI_VERSION; }

const char* octet_graph_last_error(void) { return octet::graph_c::last_error_text(); }

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
    try {
      octet::onnx_side::infer_shapes(proto, {}, strict != 0);
    } catch (const octet::Error& error) {
      refuse_model(error.what());
    }
    const std::size_t needed = proto.ByteSizeLong();
    check_capacity(buffer, size, needed, kFunction);
    if (needed > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      refuse_model("octet_graph_infer: the result is larger than 2147483647 bytes");
    if (buffer) proto.SerializeToArray(buffer, static_cast<int>(needed));
  });
}

}  // extern "C"
