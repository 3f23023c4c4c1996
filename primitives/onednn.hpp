// oneDNN as Octet uses it: through the C API, one OpenMP thread, scratchpads of our own, and a cap on the instruction
// set that is ours too.
#pragma once

#include <dnnl.h>

#include <string>

namespace octet::onednn {

/// Throws octet::Error naming `what` and oneDNN's status.
void check(dnnl_status_t status, const char* what);

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
