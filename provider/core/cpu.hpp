// What Octet knows of the processor: the instruction sets that it may use in this process, and the last cache.
#pragma once

#include <cstddef>

namespace octet::core {

/// Ordered as oneDNN orders them: a cap at one level allows what is below it.
enum class Isa { avx2, avx2_vnni, avx512_core, avx512_core_vnni, avx512_core_amx };

/// The highest level that the CPU has, the system grants and OCTET_MAX_CPU_ISA allows; decided once. AVX2_VNNI is a cap
/// of its own: it takes away AVX-512, while the caps from AVX512_CORE on say nothing of AVX2_VNNI. Throws Error where
/// the CPU lacks AVX2 or the variable holds a name that is not known.
Isa cpu_isa_level();

const char* isa_name(Isa isa) noexcept;

inline bool has_avx512(Isa isa) noexcept { return isa >= Isa::avx512_core; }
/// 8-bit dot products that do not saturate (vpdpbusd).
inline bool has_vnni(Isa isa) noexcept {
  return isa == Isa::avx2_vnni || isa == Isa::avx512_core_vnni || isa == Isa::avx512_core_amx;
}

/// AVX-512 VBMI (byte permutes over 64 entries), where the level allows AVX-512 with VNNI.
bool has_vbmi();
/// AVX512_BF16 (dot products of bfloat16), where no cap is set: it is newer than AVX-512 with VNNI.
bool has_bf16();

/// Bytes of the last cache that a core shares, or 32 MiB where the system does not tell.
std::size_t last_cache_bytes() noexcept;

}  // namespace octet::core
