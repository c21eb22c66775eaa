// One run of float32 values: its statistics and its normalization.
//
// Statistics are sums of d = x - shift and of d^2. The first attempt takes shift 0 and float32 sums of a block, added
// up in float64; what it gives is verified, and only a run that fails (a mean far from 0 against the deviation, squares
// that overflow or vanish) is read again: about its mean, and at last wholly in float64.
//
// A weight multiplies the error of the mean, also where the normalized value itself is near 0. Beside large weights the
// sum of d is therefore taken in float64 from the start (precise sums), and beside very large ones everything is.
//
// All these decisions depend on the run and on the weights alone, so the bits do as well.
#ifndef LAYERNORM_KERNELS_RUN_F32_H_
#define LAYERNORM_KERNELS_RUN_F32_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/parameter_blocks.h"
#include "kernels/scaling.h"
#include "kernels/sums_f32.h"
#include "simd/vec.h"

namespace layernorm {

/// What normalizes a run once its statistics are known. The mean is shift + d: as one float64 it would lose the last
/// bits of a very large one.
struct NormalizerF32 {
  float shift = 0;
  double d = 0;
  double variance = 0;    // or the mean square
  double rstd = 0;        // as reported: infinite where eps and the variance are 0
  double multiplier = 0;  // rstd, or 0 where that is infinite
  float mean_f32 = 0;
  float multiplier_f32 = 0;
  float correction = 0;  // the part of the mean that float32 cannot hold, times -rstd, where it counts
  bool wide = false;     // float32 arithmetic does not do: normalize in float64

  [[nodiscard]] double mean() const { return shift + d; }

  /// `weight` is the largest |weight| that the normalized values will meet, `is_wide` whether float64 was needed
  /// already.
  void set(float new_shift, double new_d, double new_variance, const Scaling& scaling, double weight, bool is_wide) {
    shift = new_shift;
    d = new_d;
    variance = new_variance < 0 ? 0 : new_variance;
    set_factor(scaling.factor(variance), weight, is_wide);
  }

  void set_factor(double factor, double weight, bool is_wide) {
    rstd = factor;
    multiplier = std::isinf(factor) ? 0 : factor;
    mean_f32 = static_cast<float>(mean());
    multiplier_f32 = static_cast<float>(multiplier);
    correction = -0.0F;  // adds nothing, not even to -0
    wide = is_wide;
    if (d == 0) return;  // the mean is a float32, or there is none
    const double rest = (static_cast<double>(mean_f32) - shift - d) * multiplier;
    // What is left out, and the rounding of what is not, must stay small against 2^-23 / weight.
    const double weighted = std::fabs(rest) * (weight > 1 ? weight : 1);
    // By bits: to choose a float, engines branch, and this goes either way.
    const uint32_t counts = simd::held(0U - static_cast<uint32_t>(weighted > 0x1p-28));
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(rest));
    correction = std::bit_cast<float>((bits & counts) | (0x80000000U & ~counts));
    wide = wide || !(weighted <= 0x1p-4);
  }

  /// Whether adding the correction changes anything.
  [[nodiscard]] bool is_corrected() const { return correction != 0; }

  /// How much of the mean there is to subtract.
  enum class Mean : uint8_t { kNone, kPlain, kCorrected };

  /// y = (x - mean) * rstd * w + b for one vector, in float32.
  template <Mean kMean>
  struct Narrow {
    static constexpr bool kUnrolled = true;
    simd::F32x4 mean, multiplier, correction;

    explicit Narrow(const NormalizerF32& of)
        : mean(simd::splat(of.mean_f32)),
          multiplier(simd::splat(of.multiplier_f32)),
          correction(simd::splat(of.correction)) {}

    [[nodiscard]] simd::F32x4 operator()(simd::F32x4 x, simd::F32x4 w, simd::F32x4 b) const {
      if constexpr (kMean != Mean::kNone) x = x - mean;
      x = kMean == Mean::kCorrected ? simd::mul_add(x, multiplier, correction) : x * multiplier;
      return simd::mul_add(x, w, b);
    }
  };

  /// The same in float64, rounded once.
  struct Wide {
    static constexpr bool kUnrolled = false;
    simd::F64x2 shift, d, multiplier;

    explicit Wide(const NormalizerF32& of)
        : shift(simd::splat(static_cast<double>(of.shift))),
          d(simd::splat(of.d)),
          multiplier(simd::splat(of.multiplier)) {}

    [[nodiscard]] simd::F64x2 normalize(simd::F64x2 x) const { return ((x - shift) - d) * multiplier; }

    [[nodiscard]] simd::F32x4 operator()(simd::F32x4 x, simd::F32x4 w, simd::F32x4 b) const {
      using namespace simd;
      const F64x2 low = mul_add(normalize(promote_low(x)), promote_low(w), promote_low(b));
      const F64x2 high = mul_add(normalize(promote_high(x)), promote_high(w), promote_high(b));
      return demote(low, high);
    }
  };

  /// x and y are at position `begin` of the parameters.
  void write(const float* x, ParameterBlocks<float>& weight, ParameterBlocks<float>& bias, float* y, size_t n,
             size_t begin) const;

  /// Normalized values in float64, whose rounding does not count.
  void normalize(const float* x, size_t n, double* to) const;

  template <class Normalize>
  static void write_vector(const Normalize& normalize, const float* x, const float* w, const float* b, float* y) {
    simd::store(y, normalize(simd::load(x), simd::load(w), simd::load(b)));
  }

  template <class Normalize>
  [[gnu::always_inline]] static void write_strided(const Normalize& normalize, const float* x, Strided<float> w,
                                                   Strided<float> b, float* y, size_t n) {
    using namespace simd;
    size_t i = 0;
    if constexpr (Normalize::kUnrolled) {
      const size_t w_step = kStep * w.step;
      const size_t b_step = kStep * b.step;
      LAYERNORM_ROLLED
      for (; i + kStep <= n; i += kStep, w.data += w_step, b.data += b_step) {
        for (size_t k = 0; k < kStep; k += F32x4::kLanes) {
          write_vector(normalize, x + i + k, w.data + k, b.data + k, y + i + k);
        }
      }
    }
    LAYERNORM_ROLLED
    for (; i + F32x4::kLanes <= n; i += F32x4::kLanes) {
      write_vector(normalize, x + i, w.data, b.data, y + i);
      w.data += F32x4::kLanes * w.step;
      b.data += F32x4::kLanes * b.step;
    }
    if (i < n) write_partial(normalize, x + i, w.data, b.data, y + i, n - i);
  }

  template <class Normalize>
  [[gnu::noinline]] static void write_partial(const Normalize& normalize, const float* x, const float* w,
                                              const float* b, float* y, size_t n) {
    using namespace simd;
    store_partial(y, n, normalize(load_partial(x, n, 0.0F), load_partial(w, n, 0.0F), load_partial(b, n, 0.0F)));
  }

  /// x and y are at position `begin` of the parameters. Inline: a call costs as much as the arithmetic of a few values.
  template <class Normalize>
  [[gnu::always_inline]] static void write_all(const Normalize& normalize, const float* x,
                                               ParameterBlocks<float>& weight, ParameterBlocks<float>& bias, float* y,
                                               size_t n, size_t begin) {
    for (size_t i = 0, size = 0; i < n; i += size) {
      size = ParameterBlocks<float>::longest(weight, bias, begin + i, n - i);
      write_strided(normalize, x + i, weight.from(begin + i, size), bias.from(begin + i, size), y + i, size);
    }
  }
};

/// Sums of runs of up to this many values, less than a flush, are taken in float64: what else there is to do takes as long.
inline constexpr size_t kShortRun = kFlush - 1;
/// Runs of fewer are written in float64 as well.
inline constexpr size_t kLeastNarrow = kStep;
/// Of weights that are not read for it.
inline constexpr double kLargeWeight = 0x1p14;

/// The power of two above a positive number; NaN and infinity stay what they are, or become infinite.
inline double power_above(float v) { return std::bit_cast<float>((std::bit_cast<uint32_t>(v) & 0x7f800000U)) * 2.0; }

/// Whether a run of layer_norm takes precise sums: where a float32 sum's mean, off by a third of 2^-23 deviations at worst,
/// does not do.
inline bool wants_precise_sums(double weight_bound) { return !(weight_bound <= 2); }

/// The largest |weight| as far as it counts, for float32 runs about their mean: 2, or the power of two above, so that most
/// runs agree.
template <class T>
double weigh(ParameterBlocks<T>& weight, const Scaling& scaling) {
  if constexpr (sizeof(T) == 4) {
    if (!is_centered(scaling.op)) return 1;
    const float bound = weight.bound(scaling.size);
    return bound <= 2 ? 2 : power_above(bound);
  }
  return 1;
}

/// Of d = x - shift: mean, mean square, variance.
struct Moments {
  bool centered;
  double d, second, variance;

  Moments(double d_sum, double square_sum, size_t size, bool is_centered)
      : centered(is_centered),
        d(centered ? d_sum / static_cast<double>(size) : 0),
        second(square_sum / static_cast<double>(size)),
        variance(second - d * d) {}

  /// Float32 squares round to a multiple of 2^-149: a least variance of 2^-100 leaves them 49 bits below.
  [[nodiscard]] bool hold_in_f32(double eps) const {
    return d * d <= variance / 4 && variance + eps >= 0x1p-100 && std::isfinite(second);
  }

  /// Whether float32 does to write with such sums of float64: where squares neither vanish nor overflow.
  [[nodiscard]] bool write_in_f32(double eps) const { return variance + eps >= 0x1p-100 && second < 0x1p126; }

  /// Float64 sums lose 2 * 5 of their 53 bits at most when the mean is 2^5 deviations off the shift.
  [[nodiscard]] bool hold_in_f64() const { return !centered || d * d <= variance * 0x1p10; }
};

/// The statistics of one run, taken in as many passes over its values as it needs.
class RunF32 {
 public:
  using Element = float;

  /// The bits of a run whose values are `contiguous` depend on it alone; others are added segment by segment, in float64.
  RunF32(const Scaling& scaling, double weight_bound, bool contiguous = true)
      : scaling_(scaling),
        centered_(is_centered(scaling.op)),
        weight_bound_(weight_bound),
        pass_(contiguous && scaling.size > kShortRun ? Pass::kPlain : Pass::kWide) {}

  /// A run whose plain sums were taken elsewhere, in the order of `add`, and did not do.
  static RunF32 after_plain(const Scaling& scaling, double weight_bound, const SumsF32& sums, float first) {
    RunF32 run(scaling, weight_bound);
    run.sums_ = sums;
    run.first_ = first;
    return run;
  }

  /// A run whose statistics are given needs no values. A weight that all of them share becomes part of the factor.
  void give(float mean, float variance, float weight) {
    normalizer_.set(mean, 0, variance, scaling_, 1, false);
    const double factor = normalizer_.multiplier * weight;
    // Where x - mean, the factor or its rounding leave what float32 holds.
    const double size = std::fabs(factor);
    normalizer_.wide = !(size < 0x1p126) || (size < 0x1p-100 && factor != 0) || !(std::fabs(mean) < 0x1p100F);
    normalizer_.multiplier = factor;
    normalizer_.multiplier_f32 = static_cast<float>(factor);
  }

  void add(const float* x, size_t n);

  /// Whether the values are needed once more. When not, normalizer() stands.
  [[nodiscard]] bool next_pass();

  [[nodiscard]] const NormalizerF32& normalizer() const { return normalizer_; }

  void write(const float* x, ParameterBlocks<float>& weight, ParameterBlocks<float>& bias, float* y, size_t n,
             size_t begin) const {
    normalizer_.write(x, weight, bias, y, n, begin);
  }

  /// Sets the normalizer from the first sums of a run, about 0, if they hold: in float32 for runs longer than
  /// kShortRun, wide otherwise. What most runs need, without the state of a RunF32.
  template <bool kWide>
  static bool accept_first(const SumsF32& sums, const Scaling& scaling, double weight_bound, NormalizerF32& out) {
    const Moments moments(sums.d(), sums.square(), scaling.size, is_centered(scaling.op));
    if (kWide ? !moments.hold_in_f64() : !moments.hold_in_f32(scaling.eps_inside())) return false;
    out.set(0, moments.d, moments.variance, scaling, weight_bound, kWide && writes_wide(moments, scaling));
    return true;
  }

  /// Whether sums of float64 are followed by float64 to write: where float32 does not do, or gains nothing.
  static bool writes_wide(const Moments& moments, const Scaling& scaling) {
    return scaling.size < kLeastNarrow || !moments.write_in_f32(scaling.eps_inside());
  }

 private:
  enum class Pass : uint8_t { kPlain, kShifted, kWide, kWideAgain };

  Scaling scaling_;
  bool centered_;
  double weight_bound_;
  size_t added_ = 0;
  Pass pass_;
  float shift_ = 0;
  float first_ = 0;
  SumsF32 sums_;
  NormalizerF32 normalizer_;
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_RUN_F32_H_
