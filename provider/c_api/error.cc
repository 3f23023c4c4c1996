#include "provider/c_api/error.hpp"

#include <memory>
#include <new>
#include <stdexcept>

namespace octet::c_api {
namespace {

// For when nothing can be allocated.
octet_status no_memory{ErrorCode::out_of_memory, {}};

struct Release {
  void operator()(octet_status* status) const noexcept { octet_status_release(status); }
};
thread_local std::unique_ptr<octet_status, Release> last_error;

}  // namespace

octet_status* status_of_exception() noexcept {
  try {
    try {
      throw;
    } catch (const Error& error) {
      return new octet_status{error.code(), error.what()};
    } catch (const std::bad_alloc&) {
      return &no_memory;
    } catch (const std::length_error&) {
      return &no_memory;
    } catch (const std::exception& error) {
      return new octet_status{ErrorCode::internal, error.what()};
    } catch (...) {
      return new octet_status{ErrorCode::internal, "an exception of unknown type"};
    }
  } catch (...) {
    return &no_memory;
  }
}

void set_last_error(octet_status* status) noexcept { last_error.reset(status); }

}  // namespace octet::c_api

using namespace octet::c_api;

int32_t octet_status_code(const octet_status* status) { return status ? static_cast<int32_t>(status->code) : OCTET_OK; }

const char* octet_status_text(const octet_status* status) {
  if (status == &no_memory) return "out of memory";
  return status ? status->text.c_str() : "";
}

void octet_status_release(octet_status* status) {
  if (status != &no_memory) delete status;
}

const char* octet_last_error(void) { return octet_status_text(last_error.get()); }

int32_t octet_last_error_code(void) { return octet_status_code(last_error.get()); }
