// Activations, in place on a block of results, in PyTorch's definitions.
//
// Each is computed in float64 and rounded once to the element type. The float64 result is within 3 ulp, gelu's within 5,
// also of negative x, where the formulas would cancel; of float32's last place that is 2^-26 at most, so float32 is
// correctly rounded nearly always. -infinity gives NaN where the definition is -infinity * 0, as in PyTorch: silu, gelu,
// gelu_tanh.
#ifndef LAYERNORM_KERNELS_ACTIVATION_H_
#define LAYERNORM_KERNELS_ACTIVATION_H_

#include <cstddef>

#include "layernorm/layernorm.h"
#include "simd/math.h"
#include "simd/vec.h"

namespace layernorm {

/// NaN stays, and so does -0.
inline simd::F32x4 relu(simd::F32x4 x) { return simd::clear(x < simd::splat(0.0F), x); }
inline simd::F64x2 relu(simd::F64x2 x) { return simd::clear(x < simd::splat(0.0), x); }

inline simd::F64x2 silu(simd::F64x2 x) { return simd::times_sigmoid(x, simd::negated(x)); }

inline simd::F64x2 gelu(simd::F64x2 x) { return simd::times_normal(x, x); }

/// The constants of gelu_tanh: -2 * sqrt(2 / pi), and 0.044715 times that, each as its upper bits and the rest.
struct GeluTanh {
  static constexpr double kAUpper = -0x1.988452p+0, kALower = -0x1.3d436508d0fcbp-24;
  static constexpr double kB = -0x1.2444f2a4d8b4bp-4, kBRest = 0x1.6c843a29d1c7p-61;
};

/// (1 + tanh(u)) / 2 is sigmoid(2 * u), here with 2 * u = x * (A + B * x^2): this is -2 * u in parts, since exp(-2 * u) has
/// 2 * u times its relative error. Beyond 24 as at 24.
inline simd::Parts gelu_tanh_argument(simd::F64x2 x) {
  using namespace simd;
  const F64x2 a = clamp(x, 24);
  const Parts square_a = square(a);
  const Parts b = multiply(square_a, splat(GeluTanh::kB));
  // Exact unless b does not count: both have few bits.
  const F64x2 b_upper = upper(b.hi);
  const F64x2 sum = splat(GeluTanh::kAUpper) + b_upper;
  const F64x2 rest = (b.hi - b_upper) + (b.lo + (square_a.hi * splat(GeluTanh::kBRest) + splat(GeluTanh::kALower)));
  return multiply({sum, rest}, a);
}

inline simd::F64x2 gelu_tanh(simd::F64x2 x) { return simd::times_sigmoid(x, gelu_tanh_argument(x)); }

/// Sigmoids in float32, as their results are: each step rounds, which the bound of activations allows for, and takes a quarter
/// of the time of float64. An object, so that a loop holds the constants.
class SigmoidF32 {
 public:
  [[nodiscard]] simd::F32x4 sigmoid(simd::F32x4 x) const { return simd::with_nan_of(divided(one_, x), x); }
  [[nodiscard]] simd::F32x4 silu(simd::F32x4 x) const { return divided(x, x); }
  [[nodiscard]] simd::F32x4 gelu_tanh(simd::F32x4 x) const {
    using namespace simd;
    return divided(x, x * mul_add(x * x, splat(0.0713548163F), splat(1.59576912F)));
  }

 private:
  /// numerator / (1 + exp(-z)), of which NaN in z is lost.
  [[nodiscard]] simd::F32x4 divided(simd::F32x4 numerator, simd::F32x4 z) const {
    return numerator / (one_ + exp_minus(z));
  }

  /// exp(-x) for |x| < 87; beyond 89 it is 0 or infinite. It is 2^(k + f) of t = -x / log(2), with a polynomial in f, 1 at 0,
  /// whose relative error on [-1/2, 1/2] is the least that five more coefficients allow: 2^-23.3. That t rounds adds
  /// |x| 2^-23.7, which in a sigmoid has its slope for a factor: all together less than 2^-24.
  [[nodiscard]] simd::F32x4 exp_minus(simd::F32x4 x) const {
    using namespace simd;
    const F32x4 t = limit(x, least_, most_) * minus_log2_e_;
    const F32x4 shifted = t + magic_;
    const F32x4 f = t - (shifted - magic_);
    F32x4 e = exp2_[0];
    for (size_t i = 1; i < kTerms; ++i) e = mul_add(e, f, exp2_[i]);
    e = mul_add(e, f, one_);
    // 2^k; for k = 128 its bits are those of infinity, for -127 those of 0, and for -128 less.
    return e * as_floats(max((as_bits(shifted) << 23) + as_bits(one_), I32x4()));
  }

  static simd::F32x4 constant(float value) { return simd::held(simd::splat(value)); }

  static constexpr size_t kTerms = 5;
  simd::F32x4 one_ = constant(1);
  simd::F32x4 least_ = constant(-88.9F);  // k is -128 or 128
  simd::F32x4 most_ = constant(88.9F);
  simd::F32x4 magic_ = constant(0x1.8p23F);  // beyond it a float32 has no fraction, and its last bits are the integer
  simd::F32x4 minus_log2_e_ = constant(-0x1.715476p+0F);
  simd::F32x4 exp2_[kTerms] = {constant(0x1.5bda58p-10F), constant(0x1.3ce8aep-7F), constant(0x1.c6b6d8p-5F),
                               constant(0x1.ebf9c2p-3F), constant(0x1.62e42ap-1F)};
};

inline simd::F64x2 activate(Activation activation, simd::F64x2 x) {
  switch (activation) {
    case Activation::none:
      break;
    case Activation::relu:
      return relu(x);
    case Activation::silu:
      return silu(x);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
    case Activation::sigmoid:
      return simd::sigmoid(x);
    case Activation::tanh:
      return simd::tanh(x);
  }
  return x;
}

/// In place on n elements: a function of each alone, wherever it stands.
void activate(Activation activation, float* y, size_t n);
void activate(Activation activation, double* y, size_t n);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_ACTIVATION_H_
