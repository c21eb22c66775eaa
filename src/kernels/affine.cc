#include "kernels/affine.h"

namespace layernorm {

void finish_all(const double* normalized, const float* w, const float* b, const float* scale, const float* shift,
                size_t n, float* y) {
  using namespace simd;
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + F32x4::kLanes <= n; i += F32x4::kLanes) {
    const auto pair = [&](size_t k) {
      const F64x2 affine = load(normalized + k) * load_wide(w + k) + load_wide(b + k);
      return affine * (splat(1.0) + load_wide(scale + k)) + load_wide(shift + k);
    };
    store(y + i, demote(pair(i), pair(i + 2)));
  }
  for (; i < n; ++i) {
    const double factor = 1 + static_cast<double>(scale[i]);
    y[i] = static_cast<float>((normalized[i] * w[i] + b[i]) * factor + shift[i]);
  }
}

}  // namespace layernorm
