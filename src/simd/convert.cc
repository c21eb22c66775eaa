// A block of 8 takes the same instructions and time, whatever its values are. Arithmetic never meets a NaN, whose bits it
// would leave to the engine: one of 16 bits keeps its bits, and becomes all ones when it is cut off.
#include "simd/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "simd/vec.h"

namespace layernorm::simd {
namespace {

constexpr size_t kBlock = 8;

inline v128_t splat16(uint16_t bits) { return held(wasm_i16x8_splat(static_cast<int16_t>(bits))); }
inline v128_t splat32(uint32_t bits) { return held(wasm_i32x4_splat(static_cast<int32_t>(bits))); }

/// The first and the last four 32-bit lanes whose halves are given.
inline v128_t join_low(v128_t lower, v128_t upper) {
  return wasm_i16x8_shuffle(lower, upper, 0, 8, 1, 9, 2, 10, 3, 11);
}
inline v128_t join_high(v128_t lower, v128_t upper) {
  return wasm_i16x8_shuffle(lower, upper, 4, 12, 5, 13, 6, 14, 7, 15);
}

/// n < kBlock elements in pieces of constant sizes: a copy of any size is a call out of wasm.
template <class T>
inline void copy_few(const T* from, T* to, size_t n) {
  for (size_t piece = kBlock / 2; piece > 0; piece /= 2) {
    if ((n & piece) == 0) continue;
    std::memcpy(to, from, piece * sizeof(T));
    from += piece;
    to += piece;
  }
}

/// Calls `block` on each 8 elements. The rest is padded to a block, for which `convert`, the caller, is called again: a
/// second copy of its code would not be faster.
template <class From, class To, class Block>
inline void for_each_block(const From* from, To* to, size_t n, void (*convert)(const From*, To*, size_t), Block block) {
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + kBlock <= n; i += kBlock) block(from + i, to + i);
  if (i == n) return;
  From padded[kBlock] = {};
  To converted[kBlock];
  copy_few(from + i, padded, n - i);
  convert(padded, converted, kBlock);
  copy_few(converted, to + i, n - i);
}

/// Float32 has bits enough that a value rounded to odd (cut off, the last bit set if anything was lost) rounds to 16 bits
/// as the float64 does.
float round_to_odd(double v) {
  const auto nearest = static_cast<float>(v);
  auto bits = std::bit_cast<uint32_t>(nearest);
  bits -= static_cast<uint32_t>(std::fabs(static_cast<double>(nearest)) > std::fabs(v));
  bits |= static_cast<uint32_t>(nearest != v);
  return std::bit_cast<float>(bits);
}

[[gnu::noinline]] void convert_float64(const double* from, uint16_t* to, size_t n,
                                       void (*convert)(const float*, uint16_t*, size_t)) {
  constexpr size_t kPiece = 64;
  float odd[kPiece];
  for (size_t i = 0; i < n; i += kPiece) {
    const size_t count = std::min(kPiece, n - i);
    LAYERNORM_ROLLED
    for (size_t k = 0; k < count; ++k) odd[k] = round_to_odd(from[i + k]);
    convert(odd, to + i, count);
  }
}

}  // namespace

void float16_to_float32(const uint16_t* from, float* to, size_t n) {
  const v128_t magnitude = splat16(0x7fff), largest = splat16(0x7bff);
  const v128_t smallest_normal = splat16(0x0400);
  // Of float32's upper half:
  const v128_t rebias = splat16((127 - 15) << 7), smallest_normal_upper = splat16((127 - 14) << 7);
  const v128_t exponent = splat16(0x7f80);
  const v128_t zero = wasm_i16x8_splat(0);
  for_each_block(from, to, n, float16_to_float32, [=](const uint16_t* h_at, float* f_at) {
    const v128_t h = wasm_v128_load(h_at);
    const v128_t m = wasm_v128_and(h, magnitude);
    // A subnormal's mantissa goes below a leading 1, 2^-14, which is subtracted. Multiplication by 2^112 would serve all
    // values alike, but takes 30 times as long where a processor leaves float32 subnormals to microcode.
    const v128_t excess = wasm_v128_and(wasm_i16x8_lt(m, smallest_normal), smallest_normal_upper);
    const v128_t upper = wasm_v128_or(wasm_i16x8_add(wasm_u16x8_shr(m, 3), rebias), excess);
    const v128_t lower = wasm_i16x8_shl(h, 13);
    // What the subtraction must not see: the sign, as 0 has one, and the exponent of infinities and NaN.
    const v128_t not_finite = wasm_v128_and(wasm_i16x8_gt(m, largest), exponent);
    const v128_t rest = wasm_v128_or(wasm_v128_xor(h, m), not_finite);
    const v128_t low = wasm_f32x4_sub(join_low(lower, upper), join_low(zero, excess));
    const v128_t high = wasm_f32x4_sub(join_high(lower, upper), join_high(zero, excess));
    wasm_v128_store(f_at, wasm_v128_or(low, join_low(zero, rest)));
    wasm_v128_store(f_at + 4, wasm_v128_or(high, join_high(zero, rest)));
  });
}

void float32_to_float16(const float* from, uint16_t* to, size_t n) {
  const v128_t magnitude = splat32(0x7fffffff), exponent = splat32(0x7f800000);
  const v128_t beyond = splat32((127 + 16) << 23), smallest_normal = splat32((127 - 14) << 23);
  const v128_t bits_dropped = splat32(13 << 23), rebias = splat32((127 - 1) << 10);
  const v128_t sign16 = splat16(0x8000);
  const auto round = [=](v128_t f) {
    // 2^16 stands for all that is larger: it becomes infinity.
    const v128_t m = wasm_i32x4_min(wasm_v128_and(f, magnitude), beyond);
    // The sum with a power of 2 whose last bit is worth as much as the result's is the rounding, and counts those bits.
    const v128_t e = wasm_v128_and(wasm_i32x4_max(m, smallest_normal), exponent);
    const v128_t power = wasm_i32x4_add(e, bits_dropped);
    const v128_t count = wasm_i32x4_sub(wasm_f32x4_add(m, power), power);
    // The count includes the leading 1, and one that rounding carried: added, they step up the exponent.
    return wasm_i32x4_add(count, wasm_i32x4_sub(wasm_u32x4_shr(power, 13), rebias));
  };
  for_each_block(from, to, n, float32_to_float16, [=](const float* f_at, uint16_t* h_at) {
    const v128_t low = wasm_v128_load(f_at), high = wasm_v128_load(f_at + 4);
    const v128_t rounded = wasm_i16x8_narrow_i32x4(round(low), round(high));
    const v128_t is_nan = wasm_i16x8_narrow_i32x4(wasm_f32x4_ne(low, low), wasm_f32x4_ne(high, high));
    // Narrowing saturates, which keeps the sign.
    const v128_t sign = wasm_v128_and(wasm_i16x8_narrow_i32x4(low, high), sign16);
    wasm_v128_store(h_at, wasm_v128_or(rounded, wasm_v128_or(sign, is_nan)));
  });
}

void float64_to_float16(const double* from, uint16_t* to, size_t n) {
  convert_float64(from, to, n, float32_to_float16);
}

void bfloat16_to_float32(const uint16_t* from, float* to, size_t n) {
  const v128_t zero = wasm_i16x8_splat(0);
  for_each_block(from, to, n, bfloat16_to_float32, [=](const uint16_t* b_at, float* f_at) {
    const v128_t b = wasm_v128_load(b_at);
    wasm_v128_store(f_at, join_low(zero, b));
    wasm_v128_store(f_at + 4, join_high(zero, b));
  });
}

void float32_to_bfloat16(const float* from, uint16_t* to, size_t n) {
  const v128_t low_half = splat32(0xffff);
  const v128_t one16 = splat16(1), below_half16 = splat16(0x7ffe);
  for_each_block(from, to, n, float32_to_bfloat16, [=](const float* f_at, uint16_t* b_at) {
    const v128_t low = wasm_v128_load(f_at), high = wasm_v128_load(f_at + 4);
    const v128_t is_nan = wasm_i16x8_narrow_i32x4(wasm_f32x4_ne(low, low), wasm_f32x4_ne(high, high));
    const v128_t upper = wasm_u16x8_narrow_i32x4(wasm_u32x4_shr(low, 16), wasm_u32x4_shr(high, 16));
    const v128_t lower = wasm_u16x8_narrow_i32x4(wasm_v128_and(low, low_half), wasm_v128_and(high, low_half));
    // What is cut off, more than a half, or a half where the last bit that stays is odd, carries: the average, which adds one
    // more, is of 17 bits.
    const v128_t half = wasm_i16x8_add(wasm_v128_and(upper, one16), below_half16);
    const v128_t carry = wasm_u16x8_shr(wasm_u16x8_avgr(lower, half), 15);
    wasm_v128_store(b_at, wasm_v128_or(wasm_i16x8_add(upper, carry), is_nan));
  });
}

void float64_to_bfloat16(const double* from, uint16_t* to, size_t n) {
  convert_float64(from, to, n, float32_to_bfloat16);
}

}  // namespace layernorm::simd
