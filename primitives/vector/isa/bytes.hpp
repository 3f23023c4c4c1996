// Registers of bytes, whole and in part. Nothing outside the bytes asked for is touched, and all of them are read
// before one is written.
#pragma once

#include <immintrin.h>

#include "primitives/vector/isa/isa.hpp"

namespace octet::vector::OCTET_ISA {
namespace {

template <class Piece>
inline Piece piece_at(const void* p, std::size_t offset = 0) {
  Piece piece;
  __builtin_memcpy(&piece, static_cast<const char*>(p) + offset, sizeof piece);
  return piece;
}
template <class Piece>
inline void put_piece(void* p, std::size_t offset, Piece piece) {
  __builtin_memcpy(static_cast<char*>(p) + offset, &piece, sizeof piece);
}

#ifdef __AVX512F__

constexpr std::size_t kRegisterBytes = 64;
using Bytes = __m512i;

inline Bytes load_register(const void* p) { return _mm512_loadu_si512(p); }
inline void store_register(void* p, Bytes a) { _mm512_storeu_si512(p, a); }
/// The top bit of every byte flipped.
inline Bytes flipped(Bytes a) { return _mm512_xor_si512(a, _mm512_set1_epi8(-128)); }
inline Bytes sub_words(Bytes a, Bytes b) { return _mm512_sub_epi16(a, b); }
/// 1 to 63 bytes, the first ones of a register.
inline Bytes load_some(const void* p, std::size_t count) {
  return _mm512_maskz_loadu_epi8((std::uint64_t{1} << count) - 1, p);
}
inline void store_some(void* p, Bytes bytes, std::size_t count) {
  _mm512_mask_storeu_epi8(p, (std::uint64_t{1} << count) - 1, bytes);
}

#else

constexpr std::size_t kRegisterBytes = 32;
using Bytes = __m256i;

inline Bytes load_register(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void store_register(void* p, Bytes a) { _mm256_storeu_si256(static_cast<__m256i*>(p), a); }
inline Bytes flipped(Bytes a) { return _mm256_xor_si256(a, _mm256_set1_epi8(-128)); }
inline Bytes sub_words(Bytes a, Bytes b) { return _mm256_sub_epi16(a, b); }

// Without masks, a number of bytes between h and 2h, h a power of two, is two overlapping pieces of h bytes side by
// side in a register. What is computed for each byte alone comes out in the same arrangement, and agrees where pieces
// overlap.

/// 1 to 7 bytes, as the 8 bytes of an integer.
inline std::uint64_t load_pieces(const void* p, std::size_t count) {
  if (count >= 4) return piece_at<std::uint32_t>(p) | std::uint64_t{piece_at<std::uint32_t>(p, count - 4)} << 32;
  if (count >= 2) return piece_at<std::uint16_t>(p) | std::uint32_t{piece_at<std::uint16_t>(p, count - 2)} << 16;
  return piece_at<std::uint8_t>(p);
}
inline void store_pieces(void* p, std::uint64_t bytes, std::size_t count) {
  if (count >= 4) {
    put_piece(p, 0, static_cast<std::uint32_t>(bytes));
    put_piece(p, count - 4, static_cast<std::uint32_t>(bytes >> 32));
  } else if (count >= 2) {
    put_piece(p, 0, static_cast<std::uint16_t>(bytes));
    put_piece(p, count - 2, static_cast<std::uint16_t>(bytes >> 16));
  } else {
    put_piece(p, 0, static_cast<std::uint8_t>(bytes));
  }
}

/// 1 to 31 bytes.
inline Bytes load_some(const void* p, std::size_t count) {
  if (count >= 16) return _mm256_set_m128i(piece_at<__m128i>(p, count - 16), piece_at<__m128i>(p));
  if (count >= 8) return _mm256_set_epi64x(0, 0, piece_at<long long>(p, count - 8), piece_at<long long>(p));
  return _mm256_set_epi64x(0, 0, 0, static_cast<long long>(load_pieces(p, count)));
}
inline void store_some(void* p, Bytes bytes, std::size_t count) {
  const __m128i low = _mm256_castsi256_si128(bytes);
  if (count >= 16) {
    put_piece(p, 0, low);
    put_piece(p, count - 16, _mm256_extracti128_si256(bytes, 1));
  } else if (count >= 8) {
    put_piece(p, 0, _mm_cvtsi128_si64(low));
    put_piece(p, count - 8, _mm_extract_epi64(low, 1));
  } else {
    store_pieces(p, static_cast<std::uint64_t>(_mm_cvtsi128_si64(low)), count);
  }
}

#endif

}  // namespace
}  // namespace octet::vector::OCTET_ISA
