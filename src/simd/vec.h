// Thin vector types: one 128-bit register of float32 or float64 lanes. Only this folder knows the instruction set.
//
// Each operation is one that gives the same bits in wasm and natively: IEEE arithmetic, comparisons and bit operations.
// Not min, max, pmin, pmax or nearest, whose native emulations treat -0 and NaN otherwise.
#ifndef LAYERNORM_SIMD_VEC_H_
#define LAYERNORM_SIMD_VEC_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd/intrinsics.h"

// Before a loop whose body is unrolled as far as measurements justify: compilers' own unrolling on top costs registers
// and multiplies the size of the module.
#ifdef __clang__
#define LAYERNORM_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define LAYERNORM_ROLLED
#endif

namespace layernorm::simd {

struct F32x4 {
  using Lane = float;
  static constexpr size_t kLanes = 4;
  v128_t v;
};

struct F64x2 {
  using Lane = double;
  static constexpr size_t kLanes = 2;
  v128_t v;
};

struct I32x4 {
  v128_t v = wasm_i32x4_splat(0);
};

struct I64x2 {
  v128_t v;
};

template <class Lane>
struct VectorOf;
template <>
struct VectorOf<float> {
  using type = F32x4;
};
template <>
struct VectorOf<double> {
  using type = F64x2;
};
template <class Lane>
using Vector = typename VectorOf<Lane>::type;

// ---- Load, store, splat

inline F32x4 load(const float* p) { return {wasm_v128_load(p)}; }
inline F64x2 load(const double* p) { return {wasm_v128_load(p)}; }
inline void store(float* p, F32x4 a) { wasm_v128_store(p, a.v); }
inline void store(double* p, F64x2 a) { wasm_v128_store(p, a.v); }
inline F32x4 splat(float a) { return {wasm_f32x4_splat(a)}; }
inline F64x2 splat(double a) { return {wasm_f64x2_splat(a)}; }

/// V8 builds constants anew in each iteration of a loop. What comes out of assembly is no constant to the compiler: it stays
/// in a register.
inline v128_t held(v128_t constant) {
#ifdef __wasm__
  asm("" : "+r"(constant));
#endif
  return constant;
}
inline F32x4 held(F32x4 constant) { return {held(constant.v)}; }
inline uint32_t held(uint32_t mask) {
#ifdef __wasm__
  asm("" : "+r"(mask));
#endif
  return mask;
}
inline F64x2 held(F64x2 constant) { return {held(constant.v)}; }

/// Brings p's cache line near. The load is volatile: nobody uses its value.
inline void touch(const float* p) { (void)*reinterpret_cast<const volatile int32_t*>(p); }

/// The first n <= kLanes elements; the other lanes are `rest`. By lanes: a copy of so few bytes would be a call out of wasm.
inline F32x4 load_partial(const float* p, size_t n, float rest) {
  if (n >= F32x4::kLanes) return load(p);
  v128_t v = wasm_f32x4_splat(rest);
  if ((n & 2) == 0) return {n == 0 ? v : wasm_v128_load32_lane(p, v, 0)};
  v = wasm_v128_load64_lane(p, v, 0);
  return {n == 2 ? v : wasm_v128_load32_lane(p + 2, v, 2)};
}
inline F64x2 load_partial(const double* p, size_t n, double rest) {
  if (n >= F64x2::kLanes) return load(p);
  const v128_t v = wasm_f64x2_splat(rest);
  return {n == 0 ? v : wasm_v128_load64_lane(p, v, 0)};
}

inline void store_partial(float* p, size_t n, F32x4 a) {
  if (n >= F32x4::kLanes) {
    store(p, a);
  } else if ((n & 2) != 0) {
    wasm_v128_store64_lane(p, a.v, 0);
    if (n == 3) wasm_v128_store32_lane(p + 2, a.v, 2);
  } else if (n != 0) {
    wasm_v128_store32_lane(p, a.v, 0);
  }
}
inline void store_partial(double* p, size_t n, F64x2 a) {
  if (n >= F64x2::kLanes) {
    store(p, a);
  } else if (n != 0) {
    wasm_v128_store64_lane(p, a.v, 0);
  }
}

// ---- Arithmetic

inline F32x4 operator+(F32x4 a, F32x4 b) { return {wasm_f32x4_add(a.v, b.v)}; }
inline F32x4 operator-(F32x4 a, F32x4 b) { return {wasm_f32x4_sub(a.v, b.v)}; }
inline F32x4 operator*(F32x4 a, F32x4 b) { return {wasm_f32x4_mul(a.v, b.v)}; }
inline F64x2 operator+(F64x2 a, F64x2 b) { return {wasm_f64x2_add(a.v, b.v)}; }
inline F64x2 operator-(F64x2 a, F64x2 b) { return {wasm_f64x2_sub(a.v, b.v)}; }
inline F64x2 operator*(F64x2 a, F64x2 b) { return {wasm_f64x2_mul(a.v, b.v)}; }
inline F32x4 operator/(F32x4 a, F32x4 b) { return {wasm_f32x4_div(a.v, b.v)}; }
inline F64x2 operator/(F64x2 a, F64x2 b) { return {wasm_f64x2_div(a.v, b.v)}; }
inline F64x2 sqrt(F64x2 a) { return {wasm_f64x2_sqrt(a.v)}; }

#ifdef __wasm_relaxed_simd__
/// a * b + c, rounded once where the CPU has an instruction for it, else twice: a build of its own, whose bits differ.
inline F32x4 mul_add(F32x4 a, F32x4 b, F32x4 c) { return {wasm_f32x4_relaxed_madd(a.v, b.v, c.v)}; }
inline F64x2 mul_add(F64x2 a, F64x2 b, F64x2 c) { return {wasm_f64x2_relaxed_madd(a.v, b.v, c.v)}; }
#else
/// a * b + c, rounded twice: the same bits on every engine.
template <class V>
inline V mul_add(V a, V b, V c) {
  return a * b + c;
}
#endif

// ---- Comparison and selection

inline F64x2 abs(F64x2 a) { return {wasm_f64x2_abs(a.v)}; }

/// All bits of a lane set where true, none where false, as where an operand is NaN.
inline I32x4 operator<(F32x4 a, F32x4 b) { return {wasm_f32x4_lt(a.v, b.v)}; }
inline I64x2 operator<(F64x2 a, F64x2 b) { return {wasm_f64x2_lt(a.v, b.v)}; }
inline I64x2 operator==(F64x2 a, F64x2 b) { return {wasm_f64x2_eq(a.v, b.v)}; }

/// Per lane, a where the mask's bits are set, else b.
inline F64x2 select(I64x2 mask, F64x2 a, F64x2 b) { return {wasm_v128_bitselect(a.v, b.v, mask.v)}; }

/// x, but `least` where it is less and `most` where it is more, for least < 0 < most; NaN becomes either. As integers positive
/// floats are in order, and negative ones, without sign, in reverse order above all of them.
inline F32x4 limit(F32x4 x, F32x4 least, F32x4 most) { return {wasm_u32x4_min(wasm_i32x4_min(x.v, most.v), least.v)}; }

/// a, but NaN where x is.
inline F32x4 with_nan_of(F32x4 a, F32x4 x) { return {wasm_v128_or(a.v, wasm_f32x4_ne(x.v, x.v))}; }

/// a, but zero where the mask's bits are set.
inline F32x4 clear(I32x4 mask, F32x4 a) { return {wasm_v128_andnot(a.v, mask.v)}; }
inline F64x2 clear(I64x2 mask, F64x2 a) { return {wasm_v128_andnot(a.v, mask.v)}; }

/// Per lane, b where b > a, else a: a NaN in b is passed over.
inline F64x2 larger(F64x2 a, F64x2 b) { return {wasm_v128_bitselect(b.v, a.v, wasm_f64x2_gt(b.v, a.v))}; }

inline I32x4 as_bits(F32x4 a) { return {a.v}; }
inline I64x2 as_bits(F64x2 a) { return {a.v}; }
inline F32x4 as_floats(I32x4 a) { return {a.v}; }
inline F64x2 as_floats(I64x2 a) { return {a.v}; }
inline I32x4 operator|(I32x4 a, I32x4 b) { return {wasm_v128_or(a.v, b.v)}; }
inline I64x2 operator|(I64x2 a, I64x2 b) { return {wasm_v128_or(a.v, b.v)}; }
inline I64x2 operator&(I64x2 a, I64x2 b) { return {wasm_v128_and(a.v, b.v)}; }

/// Integers of 32 bits, modulo 2^32; shifts bring in zeros.
inline I32x4 operator+(I32x4 a, I32x4 b) { return {wasm_i32x4_add(a.v, b.v)}; }
inline I32x4 operator<<(I32x4 a, uint32_t n) { return {wasm_i32x4_shl(a.v, n)}; }

/// Integers of 64 bits, modulo 2^64; shifts bring in zeros.
inline I64x2 splat_bits(uint64_t a) { return {wasm_i64x2_splat(static_cast<int64_t>(a))}; }
inline I64x2 operator+(I64x2 a, I64x2 b) { return {wasm_i64x2_add(a.v, b.v)}; }
inline I64x2 operator<<(I64x2 a, uint32_t n) { return {wasm_i64x2_shl(a.v, n)}; }
inline I64x2 operator>>(I64x2 a, uint32_t n) { return {wasm_u64x2_shr(a.v, n)}; }

/// Whether any of the floats whose bits were joined by `|` is NaN or of magnitude 2 or more: those alone have the highest bit
/// of the exponent.
inline bool has_magnitude_from_2(I32x4 joined) {
  return wasm_v128_any_true(wasm_v128_and(joined.v, wasm_i32x4_splat(0x40000000)));
}

inline bool has_any(I64x2 mask) { return wasm_v128_any_true(mask.v); }

/// Magnitudes as integers, in the same order, NaN above infinity: their maximum is a single instruction everywhere.
inline I32x4 magnitude_bits(F32x4 a) { return {wasm_f32x4_abs(a.v)}; }
inline I32x4 max(I32x4 a, I32x4 b) { return {wasm_i32x4_max(a.v, b.v)}; }
/// The same without the sign's bit, which is shifted out: it takes no constant to get there.
inline I32x4 doubled_bits(F32x4 a) { return {wasm_i32x4_shl(a.v, 1)}; }
inline I32x4 max_of_doubled(I32x4 a, I32x4 b) { return {wasm_u32x4_max(a.v, b.v)}; }
inline I32x4 magnitude_of_doubled(I32x4 a) { return {wasm_u32x4_shr(a.v, 1)}; }
inline float largest_magnitude(I32x4 a) {
  a = max(a, {wasm_i32x4_shuffle(a.v, a.v, 2, 3, 0, 1)});
  a = max(a, {wasm_i32x4_shuffle(a.v, a.v, 1, 0, 3, 2)});
  return wasm_f32x4_extract_lane(a.v, 0);
}

/// The first lane beside a zero.
inline F64x2 first_lane(F64x2 a) { return {wasm_v128_and(a.v, wasm_i64x2_const(-1, 0))}; }

// ---- Conversion

/// The lower and the upper two lanes as float64: exact.
inline F64x2 promote_low(F32x4 a) { return {wasm_f64x2_promote_low_f32x4(a.v)}; }
inline F64x2 promote_high(F32x4 a) { return {wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(a.v, a.v, 2, 3, 0, 1))}; }

/// Two elements in memory as float64: engines make one instruction of it.
inline F64x2 load_wide(const float* p) { return {wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(p))}; }

/// Four float64 lanes rounded to nearest even.
inline F32x4 demote(F64x2 low, F64x2 high) {
  const v128_t a = wasm_f32x4_demote_f64x2_zero(low.v);
  const v128_t b = wasm_f32x4_demote_f64x2_zero(high.v);
  return {wasm_i32x4_shuffle(a, b, 0, 1, 4, 5)};
}

// ---- Reduction

inline double sum_lanes(F64x2 a) { return wasm_f64x2_extract_lane(a.v, 0) + wasm_f64x2_extract_lane(a.v, 1); }
inline double largest_lane(F64x2 a) {
  const F64x2 other = {wasm_i64x2_shuffle(a.v, a.v, 1, 0)};
  return wasm_f64x2_extract_lane(larger(a, other).v, 0);
}
inline double lane(F64x2 a, int i) {
  return i == 0 ? wasm_f64x2_extract_lane(a.v, 0) : wasm_f64x2_extract_lane(a.v, 1);
}

}  // namespace layernorm::simd

#endif  // LAYERNORM_SIMD_VEC_H_
