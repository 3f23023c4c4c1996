#include "provider/ort/api.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>
#include <octet/octet.hpp>

namespace octet::ort {
namespace {

std::atomic<const OrtApi*> g_ort_api{nullptr};
std::atomic<const OrtEpApi*> g_ep_api{nullptr};
std::atomic<bool> g_is_newer_than_1_24{false};

OrtErrorCode to_ort_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return ORT_INVALID_ARGUMENT;
    case ErrorCode::not_implemented:
      return ORT_NOT_IMPLEMENTED;
    case ErrorCode::internal:
      return ORT_EP_FAIL;
    default:
      return ORT_FAIL;
  }
}

}  // namespace

Status load_api(const OrtApiBase* base) noexcept {
  const OrtApi* api = base->GetApi(kApiLevel);
  if (!api) {
    // CreateStatus is in slot 0 of every level.
    char text[128];
    std::snprintf(text, sizeof(text), "Octet needs ONNX Runtime 1.24 or newer, this is %s", base->GetVersionString());
    return base->GetApi(1)->CreateStatus(ORT_FAIL, text);
  }
  g_ort_api.store(api, std::memory_order_relaxed);
  g_ep_api.store(api->GetEpApi(), std::memory_order_relaxed);
  g_is_newer_than_1_24.store(std::strncmp(base->GetVersionString(), "1.24.", 5) != 0, std::memory_order_relaxed);
  return nullptr;
}

const OrtApi& ort_api() noexcept { return *g_ort_api.load(std::memory_order_relaxed); }
const OrtEpApi& ep_api() noexcept { return *g_ep_api.load(std::memory_order_relaxed); }

bool can_fuse_in_nested_graphs() noexcept { return g_is_newer_than_1_24.load(std::memory_order_relaxed); }

Status status_of_current_exception() noexcept {
  try {
    throw;
  } catch (StatusError& error) {
    return error.release();
  } catch (const Error& error) {
    return ort_api().CreateStatus(to_ort_code(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return ort_api().CreateStatus(ORT_FAIL, "Octet: out of memory");
  } catch (const std::exception& error) {
    return ort_api().CreateStatus(ORT_EP_FAIL, error.what());
  } catch (...) {
    return ort_api().CreateStatus(ORT_EP_FAIL, "Octet: unknown exception");
  }
}

void log(const OrtLogger* logger, OrtLoggingLevel level, const std::string& text) noexcept {
  if (!logger) return;
  Status status = ort_api().Logger_LogMessage(logger, level, text.c_str(), __FILE__, __LINE__, "octet");
  if (status) ort_api().ReleaseStatus(status);
}

}  // namespace octet::ort
