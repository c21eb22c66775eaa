// Arithmetic wider than the elements, with one notation: float64 beside float32, two float64 parts beside float64.
#ifndef LAYERNORM_KERNELS_WIDE_H_
#define LAYERNORM_KERNELS_WIDE_H_

#include <cmath>
#include <type_traits>

#include "kernels/run_f64.h"

namespace layernorm {

template <class T>
using Wide = std::conditional_t<sizeof(T) == 4, double, TwoPart>;

/// The nearest float64 to high + low and the rest. What is not finite has none.
inline TwoPart in_parts(double high, double low) {
  const double sum = high + low;
  return {sum, std::isfinite(sum) ? low - (sum - high) : 0};
}

[[gnu::noinline]] inline TwoPart operator+(TwoPart a, TwoPart b) {
  const double sum = a.high + b.high;
  if (!std::isfinite(sum)) return {sum, 0};
  const double added = sum - a.high;
  return in_parts(sum, ((a.high - (sum - added)) + (b.high - added)) + (a.low + b.low));
}

inline TwoPart operator-(TwoPart a) { return {-a.high, -a.low}; }
inline TwoPart operator-(TwoPart a, TwoPart b) { return a + -b; }

[[gnu::noinline]] inline TwoPart operator*(TwoPart a, TwoPart b) {
  const TwoPart product = exact_product(a.high, b.high);
  if (!std::isfinite(product.high)) return {product.high, 0};
  return in_parts(product.high, product.low + (a.high * b.low + a.low * b.high));
}

/// A value as a wide one.
inline double widen(float value) { return value; }
inline TwoPart widen(double value) { return {value, 0}; }
template <class T>
inline Wide<T> widen_rounded(double value) {
  if constexpr (sizeof(T) == 4) {
    return value;
  } else {
    return {value, 0};
  }
}

inline double high_of(double value) { return value; }
inline double high_of(TwoPart value) { return value.high; }
inline double low_of(double /*value*/) { return 0; }
inline double low_of(TwoPart value) { return value.low; }

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_WIDE_H_
