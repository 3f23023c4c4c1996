// The door to ONNX Runtime: its function tables, and errors in both directions. Inside the plugin errors are
// exceptions; guard() turns them into a status at every callback, check() turns a status into an exception at every
// call.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "provider/ort/ort_api.hpp"

namespace octet::ort {

constexpr const char* kEpName = "OctetExecutionProvider";

/// Takes the tables from ONNX Runtime. May be called again (a library can be registered twice). Returns a status for a
/// runtime that is too old, made by that runtime.
Status load_api(const OrtApiBase* base) noexcept;
const OrtApi& ort_api() noexcept;
const OrtEpApi& ep_api() noexcept;
/// ONNX Runtime 1.24 gives fused groups in different graphs of one model the same name, and then refuses the model.
bool can_fuse_in_nested_graphs() noexcept;

/// A status of ONNX Runtime on its way through the plugin.
class StatusError : public std::exception {
 public:
  explicit StatusError(Status status) noexcept : status_(status) {}
  StatusError(StatusError&& other) noexcept : status_(std::exchange(other.status_, nullptr)) {}
  StatusError& operator=(StatusError&&) = delete;
  ~StatusError() override {
    if (status_) ort_api().ReleaseStatus(status_);
  }
  Status release() noexcept { return std::exchange(status_, nullptr); }
  const char* what() const noexcept override { return ort_api().GetErrorMessage(status_); }

 private:
  Status status_;
};

inline void check(Status status) {
  if (status) throw StatusError(status);
}

/// The status for the exception being handled.
Status status_of_current_exception() noexcept;

/// Runs a callback's body; whatever it throws becomes the status.
template <class Body>
Status guard(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return status_of_current_exception();
  }
}

/// The value that a getter of ONNX Runtime leaves behind its last argument.
template <class Value, class... Parameters, class... Arguments>
Value get(Status (*getter)(Parameters...), Arguments&&... arguments) {
  Value value{};
  check(getter(std::forward<Arguments>(arguments)..., &value));
  return value;
}

/// The text of a getter whose last arguments are a buffer and its size.
template <class... Parameters, class... Arguments>
std::string get_text(Status (*getter)(Parameters...), Arguments&&... arguments) {
  std::size_t size = 0;
  check(getter(arguments..., nullptr, &size));
  std::string text(size, '\0');
  if (size == 0) return text;
  check(getter(arguments..., text.data(), &size));
  text.resize(size - 1);  // the getter's size counts the final NUL
  return text;
}

/// The objects of a getter pair "number of", "fill".
template <class Object, class Owner>
std::vector<Object> get_list(Status (*count)(const Owner*, std::size_t*),
                             Status (*fill)(const Owner*, Object*, std::size_t), const Owner* owner) {
  std::vector<Object> objects(get<std::size_t>(count, owner));
  if (!objects.empty()) check(fill(owner, objects.data(), objects.size()));
  return objects;
}

/// Writes one line to the session's log. Never throws.
void log(const OrtLogger* logger, OrtLoggingLevel level, const std::string& text) noexcept;

}  // namespace octet::ort
