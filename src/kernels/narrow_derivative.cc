#include "kernels/narrow_derivative.h"

#include <iterator>

#include "kernels/activation.h"

namespace layernorm {
namespace {

using simd::F64x2;
using simd::splat;

// Products of less with normalized values could be subnormal in float32.
constexpr double kSmallest = 0x1p-70;
// exp(-u) neither overflows nor vanishes up to here.
constexpr double kFarthest = 700;

// Its series, within 2^-46: float32 is to see no difference, where what it is a factor of cancels less than a million times.
F64x2 exp_minus(F64x2 u) {
  static constexpr double kExp[] = {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                                    1.0 / 120,      1.0 / 24,      1.0 / 6,      1.0 / 2,     1.0,        1.0};
  const F64x2 k = simd::to_integer(u * splat(-0x1.71547652b82fep0));
  const F64x2 x = (k * splat(-simd::kLog2Hi) - u) - k * splat(simd::kLog2Lo);
  F64x2 sum = splat(kExp[0]);
  for (size_t i = 1; i < std::size(kExp); ++i) sum = sum * x + splat(kExp[i]);
  return sum * simd::power_of_2(k);
}

// sigmoid(u) * (constant + factor * sigmoid(-u)), by one exponential.
F64x2 sigmoids(F64x2 u, double constant, F64x2 factor) {
  const F64x2 e = exp_minus(simd::clamp(u, kFarthest));
  const F64x2 sigmoid = splat(1.0) / (splat(1.0) + e);
  return sigmoid * (splat(constant) + factor * (e * sigmoid));
}

F64x2 derivative_of(Activation activation, F64x2 z) {
  switch (activation) {
    case Activation::silu:
      return sigmoids(z, 1, z);
    case Activation::gelu: {
      const F64x2 near = simd::clamp(z, 37);
      const F64x2 e = exp_minus(splat(0.5) * near * near);
      const F64x2 tail = e * simd::normal_tail(simd::abs(near));
      const F64x2 distribution = simd::select(z < splat(0.0), tail, splat(1.0) - tail);
      return distribution + near * e * splat(0x1.9884533d43651p-2);
    }
    case Activation::gelu_tanh: {
      constexpr double kA = -(GeluTanh::kAUpper + GeluTanh::kALower);
      const F64x2 cubic = splat(-GeluTanh::kB) * z * z;
      return sigmoids(z * (splat(kA) + cubic), 1, z * (splat(kA) + splat(3.0) * cubic));
    }
    case Activation::sigmoid:
      return sigmoids(z, 0, splat(1.0));
    case Activation::tanh:
      return sigmoids(z + z, 0, splat(4.0));
    default:
      return simd::as_floats(simd::as_bits(splat(1.0)) & (splat(0.0) < z));
  }
}

}  // namespace

bool step_back(Activation activation, const NarrowRun& run, const float* x, const float* weight, const float* bias,
               const float* grad, size_t n, float* to) {
  using namespace simd;
  const F64x2 center = splat(static_cast<double>(run.center));
  const F64x2 rest = splat(run.rest);
  const F64x2 rstd = splat(run.rstd);
  I64x2 vanishing = splat_bits(0);
  const auto pair = [&](F64x2 values, F64x2 w, F64x2 b, F64x2 g) {
    const F64x2 normalized = ((values - center) - rest) * rstd;
    const F64x2 found = g * derivative_of(activation, normalized * w + b);
    const F64x2 magnitude = abs(found);
    vanishing = vanishing | ((magnitude < splat(kSmallest)) & (splat(0.0) < magnitude));
    return found;
  };
  for (size_t i = 0; i < n; i += F32x4::kLanes) {
    const size_t size = n - i < F32x4::kLanes ? n - i : F32x4::kLanes;
    const F32x4 values = load_partial(x + i, size, run.center);
    const F32x4 w = load_partial(weight + i, size, 0.0F);
    const F32x4 b = load_partial(bias + i, size, 0.0F);
    const F32x4 g = load_partial(grad + i, size, 0.0F);
    const F64x2 low = pair(promote_low(values), promote_low(w), promote_low(b), promote_low(g));
    const F64x2 high = pair(promote_high(values), promote_high(w), promote_high(b), promote_high(g));
    store_partial(to + i, size, demote(low, high));
  }
  return !has_any(vanishing);
}

}  // namespace layernorm
