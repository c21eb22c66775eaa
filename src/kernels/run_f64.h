// One run of float64 values: its statistics and its normalization.
//
// No wider type is left, so sums are compensated (each addition's rounding error is kept, Knuth's two-sum), and mean
// and rstd are kept in two float64 parts each. Values whose squares would overflow or vanish are scaled by a power of
// two, which is exact.
#ifndef LAYERNORM_KERNELS_RUN_F64_H_
#define LAYERNORM_KERNELS_RUN_F64_H_

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/parameter_blocks.h"
#include "kernels/scaling.h"
#include "simd/vec.h"

namespace layernorm {

/// A number as an unevaluated sum.
struct TwoPart {
  double high, low;
};

/// a + b is sum + error exactly (Knuth's two-sum).
struct ExactSum {
  simd::F64x2 sum, error;

  ExactSum(simd::F64x2 a, simd::F64x2 b) : sum(a + b) {
    const simd::F64x2 added = sum - a;
    error = (a - (sum - added)) + (b - added);
  }
};

/// x - mean as its nearest float64 and the rest, which counts where the deviations are no larger than the mean's last bits.
struct Deviation {
  simd::F64x2 high, low;

  Deviation(simd::F64x2 x, simd::F64x2 minus_mean_high, simd::F64x2 mean_low) {
    const ExactSum difference(x, minus_mean_high);
    const simd::F64x2 rest = difference.error - mean_low;
    high = difference.sum + rest;
    low = rest - (high - difference.sum);
  }
};

/// A sum with the rounding errors of its additions beside it.
struct CompensatedSum {
  simd::F64x2 sum = simd::splat(0.0), error = simd::splat(0.0);

  void add(simd::F64x2 v) {
    const ExactSum next(sum, v);
    error = error + next.error;
    sum = next.sum;
  }

  /// Adds what is small against the sum.
  void add_rest(simd::F64x2 v) { error = error + v; }

  /// The sum as its nearest float64 and the rest.
  [[nodiscard]] TwoPart total() const {
    const double a = simd::lane(sum, 0);
    const double b = simd::lane(sum, 1);
    const double s = a + b;
    const double added = s - a;
    const double rest = ((a - (s - added)) + (b - added)) + simd::sum_lanes(error);
    const double high = s + rest;
    return {high, rest - (high - s)};
  }
};

/// The power of two at or below a positive finite v, as its exponent; -1023 for a subnormal.
inline int binary_exponent(double v) { return static_cast<int>(std::bit_cast<uint64_t>(v) >> 52) - 1023; }

/// 2^exponent for a normal result.
inline double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

/// a * b exactly, as the rounded product and its error (Dekker 1971): for magnitudes within 2^+-450. Beyond 2^900 the error
/// is not known and left out.
inline TwoPart exact_product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1;
  if (!(std::fabs(a) < 0x1p900 && std::fabs(b) < 0x1p900)) return {a * b, 0};
  const double a_scaled = a * kSplit;
  const double b_scaled = b * kSplit;
  const double a_high = a_scaled - (a_scaled - a);
  const double b_high = b_scaled - (b_scaled - b);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  const double high = a * b;
  return {high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

/// A power of two that brings values to magnitudes whose squares neither overflow nor vanish, not even those of the last bits
/// of a value. Where eps hides such small values altogether they are left.
inline double scale_for_squares(double largest, double eps) {
  if (!std::isfinite(largest) || largest == 0) return 1;
  const int exponent = binary_exponent(largest);
  if (exponent > 400) return power_of_two(exponent < 1022 ? -exponent : -1022);
  if (exponent >= -300 || eps >= 0x1p-500) return 1;
  const int eps_limit = eps == 0 ? 1000 : -binary_exponent(eps) / 2;
  const int up = -exponent < 1000 ? -exponent : 1000;
  return power_of_two(up < eps_limit ? up : eps_limit);
}

/// What normalizes a run once its statistics are known: y = ((x * scale - mean) * rstd) * w + b, where mean and rstd
/// are those of the scaled values, in two parts each.
struct NormalizerF64 {
  double rstd = 0;      // as reported
  double variance = 0;  // or the mean square, of the scaled values
  double scale = 1;
  TwoPart scaled_mean = {0, 0};
  TwoPart multiplier = {0, 0};

  [[nodiscard]] double mean() const { return scaled_mean.high / scale; }

  /// Sets what divides from the scale, which is set, and the variance (or mean square) of the scaled values.
  void set(const Scaling& scaling, double of_scaled) {
    variance = of_scaled;
    const double factor = scaling.factor(variance, scale);
    multiplier = {std::isinf(factor) ? 0 : factor, 0};
    // eps itself may vanish beside scaled values; it counts again where there is no variance.
    rstd = variance == 0 ? 1 / std::sqrt(scaling.eps) : multiplier.high * scale;
    if (scaling.op == Op::mean_variance_normalize) return;
    double total = variance;
    if (scaling.op == Op::l2_normalize) {
      total *= static_cast<double>(scaling.size);
      if (std::sqrt(total) < scaling.eps * scale) return;
    }
    refine(total, scaling.eps_inside() * scale * scale);
  }

  /// One Newton step in twice the precision: 1 - (v + its rounding error) * rstd^2, for v = variance + eps.
  void refine(double of_scaled, double eps) {
    const double v = of_scaled + eps;
    if (!(v > 0x1p-800 && v < 0x1p800)) return;
    const double v_error = of_scaled > eps ? eps - (v - of_scaled) : of_scaled - (v - eps);
    const TwoPart square = exact_product(multiplier.high, multiplier.high);
    const TwoPart one = exact_product(v, square.high);
    const double residual = ((1 - one.high) - one.low) - v * square.low - v_error * square.high;
    multiplier.low = 0.5 * multiplier.high * residual;
  }

  /// A normalized value.
  [[nodiscard]] double normalize_once(double x) const {
    const double d = (x * scale - scaled_mean.high) - scaled_mean.low;
    return d * multiplier.high + d * multiplier.low;
  }

  void normalize(const double* x, size_t n, TwoPart* to) const {
    for (size_t i = 0; i < n; ++i) to[i] = normalize(x[i]);
  }

  /// A normalized value with what its rounding left.
  [[nodiscard]] TwoPart normalize(double x) const {
    const double v = x * scale;
    const double high = v - scaled_mean.high;
    const double added = high - v;
    const double rest = ((v - (high - added)) - (scaled_mean.high + added)) - scaled_mean.low;
    const TwoPart product = exact_product(high, multiplier.high);
    return {product.high, product.low + (high * multiplier.low + rest * multiplier.high)};
  }

  template <bool kCentered>
  [[gnu::noinline]] void write(const double* x, ParameterBlocks<double>& weight, ParameterBlocks<double>& bias,
                               double* y, size_t n, size_t begin = 0) const {
    using namespace simd;
    const F64x2 scales = splat(scale);
    const F64x2 minus_mean_high = splat(-scaled_mean.high);
    const F64x2 mean_low = splat(scaled_mean.low);
    const F64x2 high = splat(multiplier.high);
    const F64x2 low = splat(multiplier.low);
    const auto normalize = [&](F64x2 v, F64x2 w, F64x2 b) {
      v = v * scales;
      if constexpr (kCentered) {
        const Deviation d(v, minus_mean_high, mean_low);
        v = mul_add(d.high, high, mul_add(d.high, low, d.low * high));
      } else {
        v = mul_add(v, high, v * low);
      }
      return mul_add(v, w, b);
    };
    for (size_t block = 0; block < n; block += kBlock) {
      const size_t size = n - block < kBlock ? n - block : kBlock;
      const double* w = weight.at(begin + block, size);
      const double* b = bias.at(begin + block, size);
      const double* from = x + block;
      double* to = y + block;
      size_t i = 0;
      for (; i + F64x2::kLanes <= size; i += F64x2::kLanes) {
        store(to + i, normalize(load(from + i), load(w + i), load(b + i)));
      }
      if (i < size) {
        store_partial(
            to + i, 1,
            normalize(load_partial(from + i, 1, 0.0), load_partial(w + i, 1, 0.0), load_partial(b + i, 1, 0.0)));
      }
    }
  }
};

/// The statistics of one run, taken in as many passes over its values as it needs.
class RunF64 {
 public:
  using Element = double;

  explicit RunF64(const Scaling& scaling, double /*weight_bound*/ = 1, bool /*contiguous*/ = true)
      : scaling_(scaling), centered_(is_centered(scaling.op)) {}

  /// A run whose statistics are given needs no values. A weight that all of them share becomes part of the factor.
  void give(double mean, double variance, double weight) {
    // Beside such a mean x - mean may overflow.
    const double scale = std::fabs(mean) < 0x1p900 ? 1 : 0.25;
    normalizer_.scale = scale;
    normalizer_.scaled_mean = {mean * scale, 0};
    normalizer_.set(scaling_, variance * scale * scale);
    normalizer_.multiplier.high *= weight;
    normalizer_.multiplier.low *= weight;
  }

  void add(const double* x, size_t n);

  /// Whether the values are needed once more. When not, normalizer() stands, and more values do not change it.
  [[nodiscard]] bool next_pass();

  [[nodiscard]] const NormalizerF64& normalizer() const { return normalizer_; }

  void write(const double* x, ParameterBlocks<double>& weight, ParameterBlocks<double>& bias, double* y, size_t n,
             size_t begin) const {
    centered_ ? normalizer_.write<true>(x, weight, bias, y, n, begin)
              : normalizer_.write<false>(x, weight, bias, y, n, begin);
  }

 private:
  enum class Pass : uint8_t { kSurvey, kSquares, kRefine, kSquaresAgain, kDone };

  void add_squares(const double* x, size_t n);

  // Calls visit(vector, only_values) for each vector; a lone last value stands beside a zero, and only_values keeps
  // what is made of it from what is made of the zero.
  template <class Visit>
  static void each_vector(const double* x, size_t n, const Visit& visit) {
    using namespace simd;
    for (const double* end = x + n / 2 * 2; x != end; x += F64x2::kLanes) visit(load(x), [](F64x2 v) { return v; });
    if (n % 2 != 0) visit(load_partial(x, 1, 0.0), [](F64x2 v) { return first_lane(v); });
  }

  // The nearest float64 and the rest.
  void set_mean(double high, double low) {
    mean_.high = high + low;
    mean_.low = low - (mean_.high - high);
  }

  [[nodiscard]] double wanted_scale() const {
    return scale_for_squares(simd::largest_lane(largest_), scaling_.eps_inside());
  }

  // For a norm of the scaled values.
  void set_norm(double norm) {
    pass_ = Pass::kDone;
    const double factor = scaling_.floored(norm + simd::sum_lanes(spoiled_), scale_);
    normalizer_.scale = scale_;
    normalizer_.multiplier = {std::isinf(factor) ? 0 : factor, 0};
  }

  void accept(double variance) {
    pass_ = Pass::kDone;
    normalizer_.scale = scale_;
    normalizer_.scaled_mean = mean_;
    normalizer_.set(scaling_, variance);
  }

  Scaling scaling_;
  bool centered_;
  Pass pass_ = Pass::kSurvey;
  double scale_ = 1;
  TwoPart mean_ = {0, 0};
  simd::F64x2 largest_ = simd::splat(0.0);
  simd::F64x2 spoiled_ = simd::splat(0.0);  // NaN where NaN or infinity is among the values
  CompensatedSum sum_, square_;
  NormalizerF64 normalizer_;
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_RUN_F64_H_
