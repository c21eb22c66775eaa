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

/// a * b exactly, as the rounded product and its error (Dekker 1971): for magnitudes within 2^+-450.
inline TwoPart exact_product(double a, double b) {
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

/// What normalizes a run once its statistics are known: y = ((x * scale - mean) * rstd) * w + b, where mean and rstd
/// are those of the scaled values, in two parts each.
struct NormalizerF64 {
  double rstd = 0;  // as reported
  double scale = 1;
  TwoPart scaled_mean = {0, 0};
  TwoPart multiplier = {0, 0};

  [[nodiscard]] double mean() const { return scaled_mean.high / scale; }

  template <bool kCentered>
  [[gnu::noinline]] void write(const double* x, ParameterBlocks<double>& weight, ParameterBlocks<double>& bias,
                               double* y, size_t n) const {
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

  RunF64(size_t size, double eps, double /*weight_bound*/) : size_(size), eps_(eps) {}

  [[gnu::noinline]] void add(const double* x, size_t n) {
    using namespace simd;
    const F64x2 scales = splat(scale_);
    const F64x2 minus_high = splat(-mean_.high);
    const F64x2 low = splat(mean_.low);
    switch (pass_) {
      case Pass::kSurvey:
        each_vector(x, n, [&](F64x2 v, [[maybe_unused]] auto only_values) {
          largest_ = larger(largest_, abs(v));
          if constexpr (kCentered) sum_.add(only_values(v * scales));
        });
        break;
      case Pass::kRefine:
        each_vector(
            x, n, [&](F64x2 v, [[maybe_unused]] auto only_values) { sum_.add(only_values(v * scales + minus_high)); });
        break;
      case Pass::kSquares:
      case Pass::kSquaresAgain:
        each_vector(x, n, [&](F64x2 v, [[maybe_unused]] auto only_values) {
          v = v * scales;
          if constexpr (kCentered) {
            const Deviation d(v, minus_high, low);
            const F64x2 counted = only_values(d.high);
            square_.add(counted * counted);
            square_.add_rest((counted + counted) * d.low);
          } else {
            square_.add(only_values(v * v));
          }
        });
        break;
    }
  }

  /// Whether the values are needed once more. When not, normalizer() stands.
  [[gnu::noinline]] bool next_pass() {
    const auto count = static_cast<double>(size_);
    switch (pass_) {
      case Pass::kSurvey: {
        const double wanted = wanted_scale();
        if (wanted != scale_) {
          scale_ = wanted;
          sum_ = {};
          if (kCentered) return true;  // the sum may have overflowed
        }
        const TwoPart total = sum_.total();
        const double high = total.high / count;
        const TwoPart back = exact_product(high, count);
        set_mean(high, ((total.high - back.high) - back.low + total.low) / count);
        pass_ = Pass::kSquares;
        return true;
      }
      case Pass::kSquares: {
        const double variance = square_.total().high / count;
        // Where values differ in their last bits only, a sum of the values is too coarse, and one of differences exact.
        if (kCentered && variance > 0 && variance < 0x1p-70 * mean_.high * mean_.high) {
          sum_ = {};
          square_ = {};
          pass_ = Pass::kRefine;
          return true;
        }
        accept(variance);
        return false;
      }
      case Pass::kRefine:
        set_mean(mean_.high, sum_.total().high / count);
        pass_ = Pass::kSquaresAgain;
        return true;
      case Pass::kSquaresAgain:
        accept(square_.total().high / count);
        return false;
    }
    return false;
  }

  [[nodiscard]] const NormalizerF64& normalizer() const { return normalizer_; }

 private:
  enum class Pass : uint8_t { kSurvey, kSquares, kRefine, kSquaresAgain };

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

  // Between these magnitudes squares neither overflow nor vanish, not even those of the last bits of a value.
  [[nodiscard]] double wanted_scale() const {
    const double a = simd::lane(largest_, 0);
    const double b = simd::lane(largest_, 1);
    const double largest = a > b ? a : b;
    if (!std::isfinite(largest) || largest == 0) return 1;
    const int exponent = binary_exponent(largest);
    if (exponent > 400) return power_of_two(exponent < 1022 ? -exponent : -1022);
    // A larger eps hides such small variances altogether.
    if (exponent >= -300 || eps_ >= 0x1p-500) return 1;
    const int eps_limit = eps_ == 0 ? 1000 : -binary_exponent(eps_) / 2;
    const int up = -exponent < 1000 ? -exponent : 1000;
    return power_of_two(up < eps_limit ? up : eps_limit);
  }

  void accept(double variance) {
    const double eps = eps_ * scale_ * scale_;
    const double v = variance + eps;
    NormalizerF64& out = normalizer_;
    out.scale = scale_;
    out.scaled_mean = mean_;
    out.multiplier = {v == 0 ? 0 : 1 / std::sqrt(v), 0};
    if (v > 0x1p-800 && v < 0x1p800) {
      // One Newton step in twice the precision: 1 - (v + its rounding error) * rstd^2.
      const double v_error = variance > eps ? eps - (v - variance) : variance - (v - eps);
      const TwoPart square = exact_product(out.multiplier.high, out.multiplier.high);
      const TwoPart one = exact_product(v, square.high);
      const double residual = ((1 - one.high) - one.low) - v * square.low - v_error * square.high;
      out.multiplier.low = 0.5 * out.multiplier.high * residual;
    }
    // eps itself may vanish beside scaled values; it counts again where there is no variance.
    out.rstd = variance == 0 ? 1 / std::sqrt(eps_) : out.multiplier.high * scale_;
  }

  size_t size_;
  double eps_;
  Pass pass_ = Pass::kSurvey;
  double scale_ = 1;
  TwoPart mean_ = {0, 0};
  simd::F64x2 largest_ = simd::splat(0.0);
  CompensatedSum sum_, square_;
  NormalizerF64 normalizer_;
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_RUN_F64_H_
