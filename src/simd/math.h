// exp, log, pow, tanh, erf and what activations are made of, for two float64 lanes at a time.
//
// No library's, so that the bits are the same natively and as wasm. Results are within 2 ulp (sigmoid 3,
// times_normal 5), subnormal ones too; zeros, infinities and NaN give what C99 says. Errors named below are those of an
// approximation alone. Coefficients are minimax, from a Remez exchange in 40 digits, and stand from the highest power
// down. Small code counts for more than a few cycles: polynomials are loops, functions share what they can.
#ifndef LAYERNORM_SIMD_MATH_H_
#define LAYERNORM_SIMD_MATH_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "simd/vec.h"

namespace layernorm::simd {

/// An unevaluated sum: lo is far smaller than hi.
struct Parts {
  F64x2 hi, lo;
};

/// value * 2^exponent. Factors are applied to value, which is normal, so that a result is rounded once where it is subnormal.
struct Scaled {
  F64x2 value, exponent;
};

// ---- Building blocks

template <size_t kTerms>
inline F64x2 polynomial(const double (&coefficients)[kTerms], F64x2 x) {
  F64x2 sum = splat(coefficients[0]);
  LAYERNORM_ROLLED
  for (size_t i = 1; i < kTerms; ++i) sum = mul_add(sum, x, splat(coefficients[i]));
  return sum;
}

/// To the nearest integer where |a| < 2^51: above 2^52 a float64 has no fraction.
inline F64x2 to_integer(F64x2 a) { return (a + splat(0x1.8p52)) - splat(0x1.8p52); }

/// 2^k for an integer k from -1022 to 1023: the sum has k + 1023 in its lowest bits, the shift keeps no others.
inline F64x2 power_of_2(F64x2 k) { return as_floats(as_bits(k + splat(0x1.8p52 + 1023)) << 52); }

/// The upper 24 of a's 53 bits: products of two such are exact, and so is what is left of a.
inline F64x2 upper(F64x2 a) { return as_floats(as_bits(a) & splat_bits(0xffffffffe0000000)); }

/// a^2 to more than 70 bits.
inline Parts square(F64x2 a) {
  const F64x2 a_upper = upper(a);
  return {a_upper * a_upper, (a - a_upper) * (a + a_upper)};
}

/// a * b to more than 70 bits.
inline Parts multiply(Parts a, F64x2 b) {
  const F64x2 a_upper = upper(a.hi);
  const F64x2 b_upper = upper(b);
  return {a_upper * b_upper, (a.hi - a_upper) * b + a_upper * (b - b_upper) + a.lo * b};
}

/// A magnitude with the sign of another number.
inline F64x2 with_sign(F64x2 magnitude, F64x2 sign) {
  return as_floats(as_bits(magnitude) | (as_bits(sign) & splat_bits(0x8000000000000000)));
}

inline F64x2 clamp(F64x2 a, double limit) {
  a = select(splat(limit) < a, splat(limit), a);
  return select(a < splat(-limit), splat(-limit), a);
}

/// log(2); integers below 2^21 times kLog2Hi are exact.
inline constexpr double kLog2Hi = 0x1.62e42feep-1;
inline constexpr double kLog2Lo = 0x1.a39ef35793c76p-33;

// ---- exp, sigmoid, tanh

/// Beyond it exp(x) is infinite or 0, and so is x * exp(x).
inline constexpr double kExpLimit = 800;

/// x * coth(x / 2) - 2, which is even, for |x| <= 1.1, within 2^-58. exp(x) - 1 is 2 * x / (2 - x + this), the form of
/// fdlibm's exp, and tanh(x / 2) is x / (2 + this).
inline F64x2 coth_rest(F64x2 x) {
  static constexpr double kCoth[] = {-5.983776446166941e-13, 2.6606665434083835e-11,  -1.0566698394617204e-09,
                                     4.175341280064046e-08,  -1.6534391193235302e-06, 6.613756613158898e-05,
                                     -0.0027777777777773243, 0.16666666666666666};
  const F64x2 z = x * x;
  return z * polynomial(kCoth, z);
}

/// exp(a) where |a.hi| <= 1000.
inline Scaled exp_scaled(Parts a) {
  const F64x2 k = to_integer(a.hi * splat(0x1.71547652b82fep0));  // / log(2)
  const F64x2 x = (a.hi - k * splat(kLog2Hi)) + (a.lo - k * splat(kLog2Lo));
  const F64x2 c = x - coth_rest(x);
  // exp(x) - 1 = x + x * c / (2 - c): the quotient is small beside x, and so is its error.
  const F64x2 value = splat(1.0) + (x + x * c / (splat(2.0) - c));
  // By halves: 2^k itself may overflow or be subnormal.
  const F64x2 half = to_integer(k * splat(0.5));
  return {value * power_of_2(half), k - half};
}

/// exp(a) where a.lo is finite.
inline F64x2 exp(Parts a) {
  const Scaled e = exp_scaled({clamp(a.hi, kExpLimit), a.lo});
  return e.value * power_of_2(e.exponent);
}
inline F64x2 exp(F64x2 x) { return exp(Parts{x, splat(0.0)}); }

/// factor * sigmoid(x), with -x given in parts, of which lo is finite. Compiled once: there is an exponential inside.
[[gnu::noinline]] inline F64x2 times_sigmoid(F64x2 factor, Parts minus_x) {
  // 1 / (1 + exp(-x)) with exp(-x) = value / scale. Where it vanishes the scale is 0: an infinite factor then gives NaN, as
  // in the plain formula, and a finite one 0.
  const Scaled e = exp_scaled({clamp(minus_x.hi, kExpLimit), minus_x.lo});
  const F64x2 scale = clear(splat(kExpLimit) < minus_x.hi, power_of_2(splat(0.0) - e.exponent));
  return factor / (scale + e.value) * scale;
}

inline Parts negated(F64x2 a) { return {splat(0.0) - a, splat(0.0)}; }

inline F64x2 sigmoid(F64x2 x) { return times_sigmoid(splat(1.0), negated(x)); }

inline F64x2 tanh(F64x2 x) {
  const F64x2 a = abs(x);
  const F64x2 large = splat(1.0) - times_sigmoid(splat(2.0), {a + a, splat(0.0)});
  // Below 0.55 the difference would be less than a half, and magnify the error of what is taken away.
  const F64x2 rest = coth_rest(a + a);
  const F64x2 small = a - a * rest / (splat(2.0) + rest);
  return with_sign(select(a < splat(0.55), small, large), x);
}

// ---- erf and the normal distribution

/// exp(a^2 / 2) times the normal distribution's tail from a on, for 0 <= a <= 40, relative error below 2^-55. Times a + 1.25
/// it is nearly constant, and smooth in t = (a - K) / (a + K) from -1 to 1: the form of Shepherd and Laframboise, Chebyshev
/// approximation of (1 + 2x) exp(x^2) erfc(x), Math. Comp. 36, 1981. K is the one with the least error after rounding.
inline F64x2 normal_tail(F64x2 a) {
  static constexpr double kTail[] = {
      6.326695213081069e-09,   1.256998424566356e-08,  -6.215142564840735e-08,  -5.21892940473021e-08,
      5.473275331127496e-07,   -6.527304558727805e-07, -3.0099251089025557e-06, 1.405552033407165e-05,
      -1.7168741964717912e-05, -7.266725657544515e-05, 0.00048595103476337847,  -0.0016382682439450241,
      0.004010469445561928,    -0.007750849908997295,  0.012030185007843043,    -0.014459259334142665,
      0.011109704011424405,    0.0024056488271046294,  -0.028871374604396673,   0.06727281832470286,
      -0.11177410744273265,    0.466200354709477};
  const F64x2 w = a / (a + splat(6.375));
  return polynomial(kTail, w + w - splat(1.0)) / (a + splat(1.25));
}

/// factor * (the normal distribution function of x). As times_sigmoid where it vanishes.
[[gnu::noinline]] inline F64x2 times_normal(F64x2 factor, F64x2 x) {
  const F64x2 limit = splat(40.0);
  const F64x2 magnitude = abs(x);
  const I64x2 beyond = limit < magnitude;
  const F64x2 a = select(beyond, limit, magnitude);
  const Parts z = square(a);
  const Scaled e = exp_scaled({splat(-0.5) * z.hi, splat(-0.5) * z.lo});
  const F64x2 scale = clear(beyond, power_of_2(e.exponent));
  const F64x2 tail = e.value * normal_tail(a);
  const I64x2 negative = x < splat(0.0);
  const F64x2 one = splat(1.0);
  return factor * select(negative, tail, one - tail * scale) * select(negative, scale, one);
}

/// Up to 0.8 an odd polynomial, relative error 2^-56; above, 1 less the tail.
inline F64x2 erf(F64x2 x) {
  static constexpr double kErf[] = {1.0465562698272113e-08,  -1.5632648287152294e-07, 1.6390724231052128e-06,
                                    -1.4921316012147555e-05, 0.00012055163935415853,  -0.0008548322793418719,
                                    0.0052239775595097435,   -0.026866170639137554,   0.11283791670927167,
                                    -0.37612638903183243,    0.12837916709551256};
  const F64x2 limit = splat(6.0);
  F64x2 a = abs(x);
  a = select(limit < a, limit, a);
  const Parts z = square(a);
  const F64x2 e = exp({splat(-1.0) * z.hi, splat(-1.0) * z.lo});
  const F64x2 large = splat(1.0) - splat(2.0) * e * normal_tail(a * splat(0x1.6a09e667f3bcdp0));
  const F64x2 small = a + a * polynomial(kErf, a * a);
  return with_sign(select(a < splat(0.8), small, large), x);
}

// ---- log, pow

/// log(a), relative error below 2^-63; where it is infinite or NaN, hi is, and lo is finite. After fdlibm's pow: a = 2^k * m
/// with m from sqrt(1/2) to sqrt(2), and log(m) = 2 * atanh((m - 1) / (m + 1)), of which the first two terms are in parts.
inline Parts log_parts(F64x2 a) {
  static constexpr double kLog[] = {0.19794427886666238, 0.19885233023392682, 0.23080135753407566, 0.27272676555145975,
                                    0.33333333779844787, 0.42857142855149505, 0.6000000000000338};
  // log(m) = s * (3 + z + z^2 * (3/5 + 3/7 * z + ...)) with s = 2/3 * (m - 1) / (m + 1) and z = 9/4 * s^2.
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const I64x2 tiny = a < splat(0x1p-1022);
  const F64x2 normal = select(tiny, a * splat(0x1p54), a);
  const I64x2 bits = as_bits(normal) + splat_bits(0x3ff0000000000000 - kSqrtHalf);
  const F64x2 m = as_floats((bits & splat_bits(0x000fffffffffffff)) + splat_bits(kSqrtHalf));
  const F64x2 k =
      as_floats((bits >> 52) | as_bits(splat(0x1p52))) - select(tiny, splat(0x1p52 + 1023 + 54), splat(0x1p52 + 1023));

  const F64x2 f = m - splat(1.0);
  const F64x2 m_half = m * splat(0.5);
  const F64x2 d = m + m_half + splat(1.5);
  const F64x2 s = f / d;
  // What the division has lost; d itself is rounded as well.
  const F64x2 s_upper = upper(s);
  const F64x2 d_upper = upper(d);
  const F64x2 d_lower = (m - (d_upper - splat(1.5))) + m_half;
  const F64x2 s_lower = ((f - s_upper * d_upper) - s_upper * d_lower) / d;

  const F64x2 z_upper = s_upper * s_upper * splat(2.25);
  const F64x2 z_lower = s_lower * (s_upper + s) * splat(2.25);
  const F64x2 z = z_upper + z_lower;
  const F64x2 rest = z_lower + z * z * polynomial(kLog, z);
  const F64x2 sum_upper = upper(splat(3.0) + z_upper + rest);
  const F64x2 sum_lower = rest - ((sum_upper - splat(3.0)) - z_upper);
  const F64x2 log_m = s_upper * sum_upper;

  const F64x2 power = k * splat(kLog2Hi);
  const F64x2 hi = power + log_m;
  const F64x2 lo = ((power - hi) + log_m) + (s_lower * sum_upper + s * sum_lower + k * splat(kLog2Lo));
  // 0 gives -infinity; infinity, NaN and negative numbers what the square root gives.
  const F64x2 infinity = splat(std::numeric_limits<double>::infinity());
  const F64x2 edge = select(a == splat(0.0), splat(0.0) - infinity, sqrt(a));
  return {select((splat(0.0) < a) & (a < infinity), hi, edge), lo};
}

inline F64x2 log(F64x2 x) {
  const Parts a = log_parts(x);
  return a.hi + a.lo;
}

/// base^exponent, for a base that is not negative and a finite exponent.
inline F64x2 pow(F64x2 base, F64x2 exponent) {
  const Parts log_base = log_parts(base);
  const F64x2 plain = log_base.hi * exponent;
  const Parts product = multiply(log_base, exponent);
  // Where the product overflows or a factor is infinite, parts may be NaN although the product is not.
  const I64x2 ordinary = abs(plain) < splat(2048.0);
  const F64x2 lo = as_floats(as_bits(product.lo) & ordinary);
  const F64x2 y = exp({select(ordinary, product.hi, plain), lo});
  return select(exponent == splat(0.0), splat(1.0), y);
}

}  // namespace layernorm::simd

#endif  // LAYERNORM_SIMD_MATH_H_
