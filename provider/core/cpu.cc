#include "provider/core/cpu.hpp"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <octet/octet.hpp>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace octet::core {
namespace {

// __builtin_cpu_supports of g++ 12 knows neither AVX-VNNI nor AMX: CPUID leaf 7, subleaves 0 and 1 (Intel SDM, volume
// 2A).
bool cpuid_has_avx_vnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 4 & 1) != 0;
}
bool cpuid_has_amx_int8() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx >> 25 & 1) != 0;
}

// Tiles are usable where the system keeps their state (bits 17 and 18 of XCR0) and lets this process have them, for
// which it wants to be asked: arch_prctl(2), ARCH_REQ_XCOMP_PERM.
bool system_grants_amx() {
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr int kRequestPermission = 0x1023;
  constexpr int kTileData = 18;
  return (low >> 17 & 3) == 3 && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool cpu_has_avx512_core() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

std::string capital(const char* text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

Isa cap_from_environment() {
  const char* value = std::getenv("OCTET_MAX_CPU_ISA");
  if (value == nullptr || *value == '\0') return Isa::avx512_core_amx;
  const std::string name = capital(value);
  if (name == "ALL" || name == "DEFAULT") return Isa::avx512_core_amx;
  for (const Isa isa : {Isa::avx2, Isa::avx2_vnni, Isa::avx512_core, Isa::avx512_core_vnni, Isa::avx512_core_amx})
    if (name == capital(isa_name(isa))) return isa;
  throw Error(ErrorCode::invalid_argument,
              std::string("OCTET_MAX_CPU_ISA is '") + value +
                  "', expected AVX2, AVX2_VNNI, AVX512_CORE, AVX512_CORE_VNNI, AVX512_CORE_AMX or ALL");
}

Isa detect() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
    throw Error(ErrorCode::not_implemented, "Octet needs a CPU with AVX2, FMA and F16C");
  const Isa cap = cap_from_environment();
  if (has_avx512(cap) && cpu_has_avx512_core()) {
    const bool vnni = __builtin_cpu_supports("avx512vnni");
    if (cap >= Isa::avx512_core_amx && vnni && cpuid_has_amx_int8() && system_grants_amx()) return Isa::avx512_core_amx;
    return cap >= Isa::avx512_core_vnni && vnni ? Isa::avx512_core_vnni : Isa::avx512_core;
  }
  return cap >= Isa::avx2_vnni && cpuid_has_avx_vnni() ? Isa::avx2_vnni : Isa::avx2;
}

}  // namespace

Isa cpu_isa_level() {
  static const Isa level = detect();
  return level;
}

const char* isa_name(Isa isa) noexcept {
  switch (isa) {
    case Isa::avx2:
      return "avx2";
    case Isa::avx2_vnni:
      return "avx2_vnni";
    case Isa::avx512_core:
      return "avx512_core";
    case Isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case Isa::avx512_core_amx:
      return "avx512_core_amx";
  }
  return "unknown";
}

bool has_vbmi() {
  static const bool result = cpu_isa_level() >= Isa::avx512_core_vnni && __builtin_cpu_supports("avx512vbmi");
  return result;
}

bool has_bf16() {
  static const bool result = cap_from_environment() > Isa::avx512_core_vnni &&
                             cpu_isa_level() >= Isa::avx512_core_vnni && __builtin_cpu_supports("avx512bf16");
  return result;
}

std::size_t last_cache_bytes() noexcept {
  static const std::size_t bytes = [] {
    // What a core sees; sysconf(_SC_LEVEL3_CACHE_SIZE) adds up all caches of some processors.
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
    std::size_t kibibytes = 0;
    return file >> kibibytes && kibibytes > 0 ? kibibytes << 10 : std::size_t{32} << 20;
  }();
  return bytes;
}

}  // namespace octet::core

namespace octet {
const char* cpu_isa() { return core::isa_name(core::cpu_isa_level()); }
}  // namespace octet
