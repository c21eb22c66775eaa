// One run of float64 values: its statistics and its normalization.
//
// No wider type is left, so the sums that decide are compensated (each addition's rounding error is kept, Knuth's
// two-sum), about a shift near the mean, and rstd is kept in two float64 parts. Values whose squares would overflow or
// vanish are scaled by a power of two, which is exact.
#ifndef LAYERNORM_KERNELS_RUN_F64_H_
#define LAYERNORM_KERNELS_RUN_F64_H_

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/parameter_blocks.h"
#include "simd/vec.h"

namespace layernorm {

/// A sum with the rounding errors of its additions beside it.
struct CompensatedSum {
  simd::F64x2 sum = simd::splat(0.0), error = simd::splat(0.0);

  void add(simd::F64x2 v) {
    const simd::F64x2 next = sum + v;
    const simd::F64x2 added = next - sum;
    error = error + ((sum - (next - added)) + (v - added));
    sum = next;
  }

  [[nodiscard]] double total() const {
    const double a = simd::lane(sum, 0);
    const double b = simd::lane(sum, 1);
    const double s = a + b;
    const double added = s - a;
    return s + (((a - (s - added)) + (b - added)) + simd::sum_lanes(error));
  }
};

/// The power of two at or below a positive finite v, as its exponent; -1023 for a subnormal.
inline int binary_exponent(double v) { return static_cast<int>(std::bit_cast<uint64_t>(v) >> 52) - 1023; }

/// 2^exponent for a normal result.
inline double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

/// a * b exactly, as the rounded product and its error (Dekker 1971): for magnitudes within 2^+-450.
struct Product {
  double high, low;
};
inline Product exact_product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1;
  const double a_scaled = a * kSplit;
  const double b_scaled = b * kSplit;
  const double a_high = a_scaled - (a_scaled - a);
  const double b_high = b_scaled - (b_scaled - b);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  const double high = a * b;
  return {high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

/// What normalizes a run once its statistics are known: y = ((x * scale - shift) * rstd - rest) * w + b, where rstd and
/// the rest of the mean are those of the scaled values.
struct NormalizerF64 {
  double mean = 0;
  double rstd = 0;  // as reported
  double scale = 1;
  double shift = 0;
  double multiplier = 0;
  double multiplier_low = 0;
  double correction = 0;

  template <bool kCentered>
  [[gnu::noinline]] void write(const double* x, ParameterBlocks<double>& weight, ParameterBlocks<double>& bias,
                               double* y, size_t n) const {
    using namespace simd;
    const F64x2 scales = splat(scale);
    const F64x2 shifts = splat(shift);
    const F64x2 high = splat(multiplier);
    const F64x2 low = splat(multiplier_low);
    const F64x2 corrections = splat(correction);
    const auto normalize = [&](F64x2 v, F64x2 w, F64x2 b) {
      v = v * scales;
      if constexpr (kCentered) v = v - shifts;
      return mul_add(mul_add(v, high, mul_add(v, low, corrections)), w, b);
    };
    for (size_t block = 0; block < n; block += kBlock) {
      const size_t size = n - block < kBlock ? n - block : kBlock;
      const double* w = weight.at(block, size);
      const double* b = bias.at(block, size);
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
template <bool kCentered>
class RunF64 {
 public:
  using Element = double;

  RunF64(size_t size, double eps) : size_(size), eps_(eps), scaled_eps_(eps) {}

  [[gnu::noinline]] void add(const double* x, size_t n) {
    using namespace simd;
    const F64x2 scales = splat(scale_);
    const F64x2 shifts = splat(shift_);
    const bool survey = pass_ == Pass::kSurvey;
    const auto add_vector = [&](F64x2 v) {
      if (survey) {
        largest_ = larger(largest_, abs(v));
        estimate_ = estimate_ + v * scales;
        return;
      }
      const F64x2 d = v * scales - shifts;
      if constexpr (kCentered) d_.add(d);
      square_.add(d * d);
    };
    size_t i = 0;
    for (; i + F64x2::kLanes <= n; i += F64x2::kLanes) add_vector(load(x + i));
    if (i < n) add_last(x[i], add_vector);
  }

  /// Whether the values are needed once more. When not, normalizer() stands.
  [[gnu::noinline]] bool next_pass() {
    const auto count = static_cast<double>(size_);
    switch (pass_) {
      case Pass::kSurvey: {
        const double wanted = wanted_scale();
        if (wanted != scale_) {
          scale_ = wanted;
          scaled_eps_ = eps_ * scale_ * scale_;
          estimate_ = simd::splat(0.0);
          if (kCentered) return true;  // the sum may have overflowed
        }
        if (kCentered) shift_ = simd::sum_lanes(estimate_) / count;
        pass_ = Pass::kSums;
        return true;
      }
      case Pass::kSums:
      case Pass::kSumsAgain: {
        const double d = kCentered ? d_.total() / count : 0;
        const double variance = square_.total() / count - d * d;
        if (pass_ == Pass::kSums && !(d * d <= variance / 4)) {
          shift_ += d;
          d_ = {};
          square_ = {};
          pass_ = Pass::kSumsAgain;
          return true;
        }
        accept(d, variance);
        return false;
      }
    }
    return false;
  }

  [[nodiscard]] const NormalizerF64& normalizer() const { return normalizer_; }

 private:
  enum class Pass : uint8_t { kSurvey, kSums, kSumsAgain };

  // A lone last value, with a deviation of 0 beside it.
  template <class Add>
  void add_last(double x, const Add& add_vector) {
    const double lanes[2] = {x, 0};
    if (pass_ == Pass::kSurvey) {
      add_vector(simd::load(lanes));
      return;
    }
    const double d[2] = {x * scale_ - shift_, 0};
    if constexpr (kCentered) d_.add(simd::load(d));
    square_.add(simd::load(d) * simd::load(d));
  }

  // Between these magnitudes squares neither overflow nor vanish, not even those of the last bits of a value.
  [[nodiscard]] double wanted_scale() const {
    const double a = simd::lane(largest_, 0);
    const double b = simd::lane(largest_, 1);
    const double largest = a > b ? a : b;
    if (!std::isfinite(largest) || largest == 0) return 1;
    const int exponent = binary_exponent(largest);
    if (exponent > 400) return power_of_two(-exponent);
    // A larger eps hides such small variances altogether.
    if (exponent >= -300 || eps_ >= 0x1p-500) return 1;
    const int eps_limit = eps_ == 0 ? 1000 : -binary_exponent(eps_) / 2;
    const int up = -exponent < 1000 ? -exponent : 1000;
    return power_of_two(up < eps_limit ? up : eps_limit);
  }

  void accept(double d, double variance) {
    if (variance < 0) variance = 0;
    const double v = variance + scaled_eps_;
    NormalizerF64& out = normalizer_;
    out.scale = scale_;
    out.shift = shift_;
    out.mean = (shift_ + d) / scale_;
    out.multiplier = v == 0 ? 0 : 1 / std::sqrt(v);
    out.multiplier_low = 0;
    if (v > 0x1p-800 && v < 0x1p800) {
      // One Newton step in twice the precision: 1 - (v + its rounding error) * rstd^2.
      const double v_error = variance > scaled_eps_ ? scaled_eps_ - (v - variance) : variance - (v - scaled_eps_);
      const Product square = exact_product(out.multiplier, out.multiplier);
      const Product one = exact_product(v, square.high);
      const double residual = ((1 - one.high) - one.low) - v * square.low - v_error * square.high;
      out.multiplier_low = 0.5 * out.multiplier * residual;
    }
    out.correction = -d * out.multiplier;
    // eps itself may vanish beside scaled values; it counts again where there is no variance.
    out.rstd = variance == 0 ? 1 / std::sqrt(eps_) : out.multiplier * scale_;
  }

  size_t size_;
  double eps_;
  double scaled_eps_;
  Pass pass_ = Pass::kSurvey;
  double scale_ = 1;
  double shift_ = 0;
  simd::F64x2 largest_ = simd::splat(0.0), estimate_ = simd::splat(0.0);
  CompensatedSum d_, square_;
  NormalizerF64 normalizer_;
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_RUN_F64_H_
