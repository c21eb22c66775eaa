// Blocks of numbers wider than the elements: float64 beside float32, two float64 parts beside float64. Both are handled alike,
// so that what is made of them is compiled once; `two` says which.
#ifndef LAYERNORM_KERNELS_WIDE_H_
#define LAYERNORM_KERNELS_WIDE_H_

#include "kernels/parameter_blocks.h"
#include "kernels/run_f64.h"

namespace layernorm {

struct WideBlock {
  alignas(16) double high[kBlock];
  alignas(16) double low[kBlock];  // where there are two

  [[nodiscard]] TwoPart at(size_t i) const { return {high[i], low[i]}; }
  void set(size_t i, TwoPart value) {
    high[i] = value.high;
    low[i] = value.low;
  }
  void fill(TwoPart value, size_t n) {
    for (size_t i = 0; i < n; ++i) set(i, value);
  }
};

// The first n of each, and one more where n is odd. Relative errors are below 2^-52, or 2^-70 with two parts. What is not
// finite has no second part. `to` may be a or b.
void multiply(bool two, const WideBlock& a, const WideBlock& b, WideBlock& to, size_t n);
void add(bool two, const WideBlock& a, const WideBlock& b, WideBlock& to, size_t n);

/// to += a in memory of any alignment, where second parts stand apart from the first.
void accumulate(bool two, const double* high, const double* low, double* to_high, double* to_low, size_t n);

/// The sum of n from one on, in turn.
[[nodiscard]] TwoPart total(bool two, const WideBlock& of, size_t begin, size_t n);
[[nodiscard]] TwoPart product(TwoPart a, TwoPart b);

/// Elements of the arithmetic type to wide ones and back, each rounded once.
void widen(bool two, const void* from, WideBlock& to, size_t n);
void narrow(bool two, const WideBlock& from, void* to, size_t n);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_WIDE_H_
