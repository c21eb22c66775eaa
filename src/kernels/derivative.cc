#include "kernels/derivative.h"

#include "kernels/activation.h"

namespace layernorm {
namespace {

using simd::F64x2;
using simd::Parts;
using simd::splat;

F64x2 sigmoid_of_minus(Parts x) { return simd::times_sigmoid(splat(1.0), x); }

Parts minus(Parts x) { return {splat(0.0) - x.hi, splat(0.0) - x.lo}; }

// sigmoid(z) * (1 + factor * sigmoid(-z)), from -z.
F64x2 sigmoid_with(Parts minus_z, F64x2 factor) {
  return sigmoid_of_minus(minus_z) * (splat(1.0) + factor * sigmoid_of_minus(minus(minus_z)));
}

// The density is computed of the nearest value and corrected by the rest: beyond a few deviations the rest counts.
F64x2 gelu_derivative(Parts x) {
  const F64x2 a = simd::clamp(x.hi, 40);
  const Parts z = simd::square(a);
  const F64x2 density = simd::exp(Parts{splat(-0.5) * z.hi, splat(-0.5) * z.lo}) * splat(0x1.9884533d43651p-2);
  return simd::times_normal(splat(1.0), x.hi) + density * (a + x.lo * (splat(2.0) - z.hi));
}

F64x2 gelu_tanh_derivative(Parts x) {
  const F64x2 a = simd::clamp(x.hi, 24);
  const F64x2 square = a * a;
  // Of -z, as gelu_tanh_argument has it.
  const F64x2 slope = splat(GeluTanh::kAUpper + GeluTanh::kALower) + splat(3 * GeluTanh::kB) * square;
  Parts minus_z = gelu_tanh_argument(a);
  minus_z.lo = minus_z.lo + slope * x.lo;
  return sigmoid_with(minus_z, splat(0.0) - a * slope);
}

F64x2 derivative_of(Activation activation, Parts x) {
  switch (activation) {
    case Activation::relu:
      return simd::as_floats(simd::as_bits(splat(1.0)) & (splat(0.0) < x.hi));
    case Activation::silu:
      return sigmoid_with(minus(x), simd::clamp(x.hi, simd::kExpLimit));
    case Activation::gelu:
      return gelu_derivative(x);
    case Activation::gelu_tanh:
      return gelu_tanh_derivative(x);
    case Activation::tanh:
      x = {x.hi + x.hi, x.lo + x.lo};
      return splat(4.0) * sigmoid_of_minus(x) * sigmoid_of_minus(minus(x));
    case Activation::sigmoid:
      return sigmoid_of_minus(x) * sigmoid_of_minus(minus(x));
    case Activation::none:
      break;
  }
  return splat(1.0);
}

}  // namespace

void derivative(Activation activation, const double* high, const double* low, double* to, size_t n) {
  for (size_t i = 0; i < n; i += F64x2::kLanes) {
    simd::store(to + i, derivative_of(activation, {simd::load(high + i), simd::load(low + i)}));
  }
}

}  // namespace layernorm
