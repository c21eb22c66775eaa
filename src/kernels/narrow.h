// What gradients of runs of float32 need of their values where float32 does: sums, and what is written. Magnitudes that would
// overflow or vanish are found out by what calls these, from the sums.
#ifndef LAYERNORM_KERNELS_NARROW_H_
#define LAYERNORM_KERNELS_NARROW_H_

#include <cstddef>

#include "simd/vec.h"

namespace layernorm {

/// What a run is gone through with. A normalized value is ((x - center) - rest) * factor, whose relative error is small also where
/// x is near the mean.
struct NarrowRun {
  double rstd = 0;
  double rest = 0;   // of the mean
  float center = 0;  // the mean in float32
  float factor = 0;  // rstd
  // The gradient of a value is gw * factor + (constant + normalized * slope), gw that of the normalized value.
  double constant = 0, slope = 0;

  /// The mean in two parts.
  void set(double high, double low, double exact_rstd) {
    rstd = exact_rstd;
    center = static_cast<float>(high + low);
    rest = (high - static_cast<double>(center)) + low;
    factor = static_cast<float>(exact_rstd);
  }
};

/// Sums of g and of g * (x - center), by lanes, g the gradient of a normalized value or, where the weights are equal, of a result;
/// and the largest magnitude of x - center, its bits doubled.
struct NarrowSums {
  simd::F64x2 grads[2], products[2];
  simd::I32x4 deviation_bits;

  NarrowSums() { clear(); }
  void clear();

  [[nodiscard]] double grad() const { return simd::sum_lanes(grads[0] + grads[1]); }
  /// Of g * (x - mean).
  [[nodiscard]] double product(const NarrowRun& run) const {
    return simd::sum_lanes(products[0] + products[1]) - run.rest * grad();
  }
  [[nodiscard]] float deviation() const { return simd::largest_magnitude(simd::magnitude_of_doubled(deviation_bits)); }
};

/// What stays near while rows, or pieces of one, are gone through. All are found from one address, which saves registers.
struct NarrowScratch {
  static constexpr size_t kMost = 8192;
  static constexpr size_t kPadding = 8;  // behind the last element: weights of 0, and room

  alignas(16) float weights[kMost + kPadding];
  alignas(16) float normalized[2][kMost + kPadding];
  // Over rows.
  alignas(16) float products[kMost + kPadding];
  alignas(16) float grads[kMost + kPadding];
};

/// Adds n values beside weights in a scratch, and writes the normalized ones, which may stand where x does.
void add_narrow(const NarrowRun& run, const float* x, const float* grad, const float* weight, size_t n,
                float* normalized, NarrowSums& sums);
/// The same with a weight of 1, and nothing is written.
void add_equal(const NarrowRun& run, const float* x, const float* grad, size_t n, NarrowSums& sums);
/// The same sums in float64 throughout.
struct PreciseSums {
  double grad = 0, product = 0;
  void add(const NarrowRun& run, const float* x, const float* g, const float* weight, size_t n);
};
/// grad * normalized and grad in float64.
void widen_products(const float* normalized, const float* grad, size_t n, double* products, double* grads);

/// A row of gradients, and where those of its values go: that may be `grad`.
struct NarrowRow {
  const NarrowRun* run;
  const float* grad;
  float* y;
};

/// Writes the gradients of n normalized values of each of two rows, and adds grad * normalized and grad over rows.
void write_narrow(const NarrowRow* rows, size_t n, NarrowScratch& scratch);
/// Writes those of n normalized values of one row, which may stand where the gradients do.
void write_alone(const NarrowRow& row, const float* weight, const float* normalized, size_t n);
/// Writes those of values with equal weights.
void write_equal(const NarrowRun& run, float weight, const float* x, const float* grad, size_t n, float* y);

/// Whether n sums over rows are finite.
[[nodiscard]] bool are_finite(const NarrowScratch& scratch, size_t n);
/// to += from.
void accumulate(const float* from, double* to, size_t n);
void accumulate(const float* from, float* to, size_t n);
/// The same with several in turn, so many elements from one to the next.
void accumulate_in_turn(const float* from, size_t stride, size_t count, double* to, size_t n);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_NARROW_H_
