// oneDNN as Octet uses it: through the C API, one OpenMP thread, scratchpads of our own, and a cap on the instruction
// set that is ours too.
#pragma once

#include <dnnl.h>

#include <memory>
#include <string>

namespace octet::onednn {

/// Throws octet::Error naming `what` and oneDNN's status.
void check(dnnl_status_t status, const char* what);

struct Destroy {
  void operator()(dnnl_memory_desc_t desc) const noexcept { dnnl_memory_desc_destroy(desc); }
  void operator()(dnnl_primitive_attr_t attributes) const noexcept { dnnl_primitive_attr_destroy(attributes); }
  void operator()(dnnl_primitive_desc_t descriptor) const noexcept { dnnl_primitive_desc_destroy(descriptor); }
  void operator()(dnnl_primitive_t primitive) const noexcept { dnnl_primitive_destroy(primitive); }
  void operator()(dnnl_memory_t memory) const noexcept { dnnl_memory_destroy(memory); }
  void operator()(dnnl_stream_t stream) const noexcept { dnnl_stream_destroy(stream); }
};

/// Owns one of oneDNN's objects.
template <class Object>
using Handle = std::unique_ptr<Object, Destroy>;

/// What `function` makes of the arguments; throws as check().
template <class Object, class... Parameters, class... Arguments>
Handle<Object> create(const char* what, dnnl_status_t (*function)(Object**, Parameters...), Arguments... arguments) {
  Object* object = nullptr;
  check(function(&object, arguments...), what);
  return Handle<Object>(object);
}

/// The CPU engine. The first call caps oneDNN's instruction set at core::cpu_isa_level().
dnnl_engine_t engine();

/// "3.13.0", of the library that runs.
std::string version();

/// While it lives, OpenMP regions that this thread opens have one thread: oneDNN fixes a primitive's thread count when
/// it is created, and threads of its own would fight the caller's (docs/threads.md). The caller's setting comes back
/// after it.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace octet::onednn
