// The gradient of a run in float32, where that does: what most runs of float32 and of 16-bit types need.
#ifndef LAYERNORM_KERNELS_NARROW_H_
#define LAYERNORM_KERNELS_NARROW_H_

#include <cmath>
#include <cstddef>

#include "simd/vec.h"

namespace layernorm {

/// What a run is gone through with. A normalized value is ((x - mean) - mean_rest) * rstd, whose relative error is small also
/// where x is near the mean.
struct NarrowRun {
  float mean = 0;
  float mean_rest = 0;
  float rstd = 0;
  // The gradient of a value is gw * rstd + constant + normalized * slope, gw that of the normalized value.
  float constant = 0;
  float slope = 0;

  NarrowRun() = default;
  /// The mean in two parts.
  NarrowRun(double high, double low, double exact_rstd)
      : mean(static_cast<float>(high + low)),
        mean_rest(static_cast<float>((high - static_cast<double>(mean)) + low)),
        rstd(static_cast<float>(exact_rstd)) {}

  void set(double minus_mean_grad, double minus_mean_product) {
    constant = static_cast<float>(minus_mean_grad * rstd);
    slope = static_cast<float>(minus_mean_product * rstd);
  }
};

/// Sums of gw and of gw * (x - mean), by lanes, the largest magnitudes of x - mean and of g, and that of half of gw, for one
/// that is not too small among them; of all the doubled bits.
struct NarrowSums {
  simd::F64x2 grads[2] = {simd::splat(0.0), simd::splat(0.0)};
  simd::F64x2 products[2] = {simd::splat(0.0), simd::splat(0.0)};
  simd::I32x4 weighted_bits, grad_bits, deviation_bits;

  [[nodiscard]] double grad() const { return simd::sum_lanes(grads[0] + grads[1]); }
  /// Of gw * normalized.
  [[nodiscard]] double product(const NarrowRun& run) const {
    return run.rstd * (simd::sum_lanes(products[0] + products[1]) - run.mean_rest * grad());
  }

  static constexpr float kSmallest = 0x1p-60F;
  static constexpr float kLargest = 0x1p60F;

  static float largest(simd::I32x4 doubled) { return simd::largest_magnitude(simd::magnitude_of_doubled(doubled)); }

  /// Whether float32 does. The mean of the products may cancel, while an outlier multiplies its error; and nothing that counts
  /// may overflow or vanish, also of what is added for the parameters.
  [[nodiscard]] bool do_for(const NarrowRun& run) const {
    const auto moderate = [](float value) { return value >= kSmallest && value <= kLargest; };
    const float deviation = largest(deviation_bits);
    return moderate(run.rstd) && std::fabs(run.mean) <= kLargest && moderate(largest(weighted_bits)) &&
           moderate(largest(grad_bits)) && std::isfinite(product(run)) && moderate(deviation) &&
           deviation * run.rstd <= 6;
  }
};

/// The weights of values in turn: those from `at` on, or a block of equal ones.
struct NarrowWeights {
  const float* at;
  bool repeats;

  [[nodiscard]] const float* from(size_t i) const { return at + (repeats ? 0 : i); }
};

/// Adds n values.
void add_narrow(const NarrowRun& run, const float* x, const float* grad, NarrowWeights weights, size_t n,
                NarrowSums& sums);

/// Writes the gradients of n values of a run, and grad * normalized to `products`. y may be grad.
void write_narrow(const NarrowRun& run, const float* x, const float* grad, NarrowWeights weights, size_t n, float* y,
                  float* products);

/// The same for rows that stand `stride` elements apart, and adds the sums over the rows to what is not null.
inline constexpr size_t kQuad = 4;
void write_quad(const NarrowRun* runs, const float* x, const float* grad, size_t stride, NarrowWeights weights,
                size_t n, float* y, double* products, double* grads);

/// to += from.
void accumulate(const float* from, double* to, size_t n);
[[nodiscard]] double total(const float* of, size_t n);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_NARROW_H_
