#include "primitives/onednn.hpp"

#include <omp.h>

#include "provider/core/cpu.hpp"

#include <octet/octet.hpp>

namespace octet::onednn {
namespace {

dnnl_cpu_isa_t cap() {
  switch (core::cpu_isa_level()) {
    case core::Isa::avx2:
      return dnnl_cpu_isa_avx2;
    case core::Isa::avx2_vnni:
      return dnnl_cpu_isa_avx2_vnni;
    case core::Isa::avx512_core:
      return dnnl_cpu_isa_avx512_core;
    case core::Isa::avx512_core_vnni:
      return dnnl_cpu_isa_avx512_core_vnni;
    case core::Isa::avx512_core_amx:
      break;
  }
  return dnnl_cpu_isa_default;
}

dnnl_engine_t make_engine() {
  // Too late where somebody else in the process has used oneDNN already: its cap is then what counts, and stays exact.
  if (core::cpu_isa_level() != core::Isa::avx512_core_amx) static_cast<void>(dnnl_set_max_cpu_isa(cap()));
  const dnnl_version_t* found = dnnl_version();
  if (found->major != 3 || found->minor < 5)
    throw Error(ErrorCode::internal, "oneDNN is version " + version() + ", expected 3.5 or a later 3.x");
  if (found->cpu_runtime != DNNL_RUNTIME_OMP && found->cpu_runtime != DNNL_RUNTIME_SEQ)
    throw Error(ErrorCode::internal, "oneDNN's CPU runtime is neither OpenMP nor sequential");
  dnnl_engine_t engine = nullptr;
  check(dnnl_engine_create(&engine, dnnl_cpu, 0), "creating the CPU engine");
  return engine;
}

}  // namespace

void check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  const ErrorCode code = status == dnnl_out_of_memory ? ErrorCode::out_of_memory : ErrorCode::internal;
  throw Error(code, std::string("oneDNN: ") + what + " failed with status " + std::to_string(status));
}

dnnl_engine_t engine() {
  static dnnl_engine_t const engine = make_engine();  // lives as long as the process
  return engine;
}

std::string version() {
  const dnnl_version_t* found = dnnl_version();
  return std::to_string(found->major) + "." + std::to_string(found->minor) + "." + std::to_string(found->patch);
}

OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

}  // namespace octet::onednn
