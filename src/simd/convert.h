// Conversion between the types that data is stored in and float32, the same bits in wasm and natively.
//
// Rounding is to nearest even, once. Infinities, zeros of both signs and subnormals are kept; what is too large for the
// result becomes an infinity. NaN becomes a quiet NaN with the sign and the leading bits of the payload.
//
// `from` and `to` must not overlap. They need the alignment of their elements only.
#ifndef LAYERNORM_SIMD_CONVERT_H_
#define LAYERNORM_SIMD_CONVERT_H_

#include <cstddef>
#include <cstdint>

namespace layernorm::simd {

/// IEEE 754 binary16: 5 bits of exponent, 10 of mantissa.
void float16_to_float32(const uint16_t* from, float* to, size_t n);
void float32_to_float16(const float* from, uint16_t* to, size_t n);
void float64_to_float16(const double* from, uint16_t* to, size_t n);

/// The upper half of a float32: 8 bits of exponent, 7 of mantissa.
void bfloat16_to_float32(const uint16_t* from, float* to, size_t n);
void float32_to_bfloat16(const float* from, uint16_t* to, size_t n);
void float64_to_bfloat16(const double* from, uint16_t* to, size_t n);

}  // namespace layernorm::simd

#endif  // LAYERNORM_SIMD_CONVERT_H_
