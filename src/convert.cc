#include <algorithm>
#include <cstddef>

#include "kernels/storage.h"
#include "layernorm/layernorm.h"

namespace layernorm {
namespace {

template <class From, class To>
void cast(const void* from, void* to, size_t n) {
  const auto* source = static_cast<const From*>(from);
  auto* target = static_cast<To*>(to);
  for (size_t i = 0; i < n; ++i) target[i] = static_cast<To>(source[i]);
}

// A 16-bit type on one side at least.
void convert_16_bit(DType from_dtype, const void* from, DType to_dtype, void* to, size_t n) {
  if (from_dtype == DType::float64) {
    const auto* source = static_cast<const double*>(from);
    auto* bits = static_cast<uint16_t*>(to);
    to_dtype == DType::float16 ? simd::float64_to_float16(source, bits, n) : simd::float64_to_bfloat16(source, bits, n);
    return;
  }
  if (from_dtype == DType::float32) return from_float32(to_dtype, static_cast<const float*>(from), to, n);
  if (to_dtype == DType::float32) return to_float32(from_dtype, from, static_cast<float*>(to), n);
  float wide[256];
  for (size_t i = 0; i < n; i += std::size(wide)) {
    const size_t size = std::min(std::size(wide), n - i);
    to_float32(from_dtype, static_cast<const std::byte*>(from) + i * 2, wide, size);
    void* target = static_cast<std::byte*>(to) + i * element_size(to_dtype);
    is_16_bit(to_dtype) ? from_float32(to_dtype, wide, target, size) : cast<float, double>(wide, target, size);
  }
}

}  // namespace

void convert(DType from_dtype, const void* from, DType to_dtype, void* to, size_t n) {
  if (is_16_bit(from_dtype) || is_16_bit(to_dtype)) {
    convert_16_bit(from_dtype, from, to_dtype, to, n);
  } else if (from_dtype == DType::float32) {
    to_dtype == DType::float32 ? cast<float, float>(from, to, n) : cast<float, double>(from, to, n);
  } else {
    to_dtype == DType::float32 ? cast<double, float>(from, to, n) : cast<double, double>(from, to, n);
  }
}

}  // namespace layernorm
