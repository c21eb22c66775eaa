// Elements as they are stored, to and from the arithmetic type: float32, or float64 for float64.
#ifndef LAYERNORM_KERNELS_STORAGE_H_
#define LAYERNORM_KERNELS_STORAGE_H_

#include <cstddef>
#include <cstdint>

#include "layernorm/layernorm.h"
#include "simd/convert.h"

namespace layernorm {

inline bool is_16_bit(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// Bytes of an element of the arithmetic type.
inline size_t arithmetic_size(DType dtype) { return dtype == DType::float64 ? 8 : 4; }

/// From one of the 16-bit types: exact.
inline void to_float32(DType dtype, const void* from, float* to, size_t n) {
  const auto* bits = static_cast<const uint16_t*>(from);
  dtype == DType::float16 ? simd::float16_to_float32(bits, to, n) : simd::bfloat16_to_float32(bits, to, n);
}

/// To one of the 16-bit types: to nearest even.
inline void from_float32(DType dtype, const float* from, void* to, size_t n) {
  auto* bits = static_cast<uint16_t*>(to);
  dtype == DType::float16 ? simd::float32_to_float16(from, bits, n) : simd::float32_to_bfloat16(from, bits, n);
}

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_STORAGE_H_
