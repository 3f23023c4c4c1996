// What octet.h tells about the library as a whole.
#include "primitives/onednn.hpp"
#include "provider/c_api/error.hpp"
#include "provider/c_api/json.hpp"
#include "provider/core/registry.hpp"

using namespace octet;
using namespace octet::c_api;

int32_t octet_abi_version(void) { return OCTET_ABI_VERSION; }

const char* octet_version(void) { return version(); }

const char* octet_onednn_version(void) {
  static const std::string version = onednn::version();
  return version.c_str();
}

const char* octet_cpu_isa(void) {
  return guarded_pointer([] { return cpu_isa(); });
}

uint64_t octet_op_count(void) {
  uint64_t count = 0;
  octet_status_release(guarded([&] { count = core::op_defs().size(); }));
  return count;
}

octet_status* octet_ops_json(char* buffer, uint64_t* size) {
  return guarded([&] { write_text(ops_json(), buffer, size, "octet_ops_json"); });
}
