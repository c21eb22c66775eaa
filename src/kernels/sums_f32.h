// Sums of float32 values: in float32 over a flush, in float64 beyond, or in float64 throughout.
#ifndef LAYERNORM_KERNELS_SUMS_F32_H_
#define LAYERNORM_KERNELS_SUMS_F32_H_

#include <cstddef>
#include <cstdint>

#include "kernels/parameter_blocks.h"
#include "simd/vec.h"

namespace layernorm {

/// A loop takes four vectors at a time, one for each of four chains of additions, which hide their latency.
inline constexpr size_t kChains = 4;
inline constexpr size_t kStep = kChains * simd::F32x4::kLanes;
static_assert(kStep <= kRepeated);

/// Elements that sums are taken of in float32 before they are flushed to float64: the fewer, the less their rounding
/// counts. 32 costs a tenth of the speed at 512x768.
inline constexpr size_t kFlush = 64;
static_assert(kBlock % kFlush == 0);

/// How a kernel takes its sums: about the mean at all, and if so with the sum of d in float64 from the start.
enum class Sums : uint8_t { kSquares, kPlain, kPrecise };

/// Float32 sums of d = x - shift and of d^2 over one flush.
struct ChainsF32 {
  simd::F32x4 d[kChains], square[kChains];

  ChainsF32() {
    for (size_t chain = 0; chain < kChains; ++chain) d[chain] = square[chain] = simd::splat(0.0F);
  }
};

/// Float64 sums of d and d^2, four lanes each. The first is kept only where centered.
struct SumsF32 {
  simd::F64x2 d_low = simd::splat(0.0), d_high = simd::splat(0.0);
  simd::F64x2 square_low = simd::splat(0.0), square_high = simd::splat(0.0);

  [[nodiscard]] double d() const { return simd::sum_lanes(d_low + d_high); }
  [[nodiscard]] double square() const { return simd::sum_lanes(square_low + square_high); }

  template <Sums kSum, bool kShifted>
  void add_vector(ChainsF32& chains, size_t chain, simd::F32x4 v, simd::F32x4 shift) {
    if constexpr (kSum == Sums::kPrecise) add_precise<kShifted>(v, shift);
    if constexpr (kShifted) v = v - shift;
    if constexpr (kSum == Sums::kPlain) chains.d[chain] = chains.d[chain] + v;
    chains.square[chain] = simd::mul_add(v, v, chains.square[chain]);
  }

  template <Sums kSum>
  void flush(const ChainsF32& chains) {
    using namespace simd;
    if constexpr (kSum == Sums::kPlain) {
      // Each pair by itself: the larger the float32 sums, the more they round.
      for (size_t chain = 0; chain < kChains; chain += 2) {
        const F32x4 sum = chains.d[chain] + chains.d[chain + 1];
        d_low = d_low + promote_low(sum);
        d_high = d_high + promote_high(sum);
      }
    }
    const F32x4 sum = (chains.square[0] + chains.square[1]) + (chains.square[2] + chains.square[3]);
    square_low = square_low + promote_low(sum);
    square_high = square_high + promote_high(sum);
  }

  template <Sums kSum, bool kShifted>
  void add(const float* x, size_t n, float shift) {
    size_t i = 0;
    LAYERNORM_ROLLED
    for (; i + kFlush <= n; i += kFlush, x += kFlush) add_flush<kSum, kShifted>(x, simd::splat(shift));
    if (i < n) add_tail<kSum, kShifted>(x, n - i, shift);
  }

  /// Adds the last n elements, fewer than a flush.
  template <Sums kSum, bool kShifted>
  void add_tail(const float* x, size_t n, float shift) {
    *this = *this + tail<kSum, kShifted>(x, n, shift);
  }

  /// Adds magnitudes, or keeps the largest: `square` is then the norm. d becomes NaN where NaN or infinity is among them.
  void add_magnitudes(const float* x, size_t n, bool largest) {
    using namespace simd;
    const auto add_vector = [&](F32x4 v) {
      const F64x2 low = abs(promote_low(v));
      const F64x2 high = abs(promote_high(v));
      d_low = d_low + low * splat(0.0);
      d_high = d_high + high * splat(0.0);
      square_low = largest ? larger(square_low, low) : square_low + low;
      square_high = largest ? larger(square_high, high) : square_high + high;
    };
    size_t i = 0;
    LAYERNORM_ROLLED
    for (; i + F32x4::kLanes <= n; i += F32x4::kLanes) add_vector(load(x + i));
    if (i < n) add_vector(load_partial(x + i, n - i, 0.0F));
  }

  /// The norm that they have, or NaN.
  [[nodiscard]] double norm(bool largest) const {
    return d() + (largest ? simd::largest_lane(simd::larger(square_low, square_high)) : square());
  }

  /// Adds n elements in float64 throughout.
  void add_wide(const float* x, size_t n, float shift) {
    using namespace simd;
    const F64x2 shifts = splat(static_cast<double>(shift));
    const auto add_vector = [&](F32x4 v) {
      const F64x2 low = promote_low(v) - shifts;
      const F64x2 high = promote_high(v) - shifts;
      d_low = d_low + low;
      d_high = d_high + high;
      square_low = mul_add(low, low, square_low);
      square_high = mul_add(high, high, square_high);
    };
    size_t i = 0;
    for (; i + F32x4::kLanes <= n; i += F32x4::kLanes) add_vector(load(x + i));
    if (i < n) add_vector(load_partial(x + i, n - i, shift));
  }

 private:
  template <Sums kSum, bool kShifted>
  void add_flush(const float* x, simd::F32x4 shift) {
    ChainsF32 chains;
    LAYERNORM_ROLLED
    for (const float* end = x + kFlush; x != end; x += kStep) {
      for (size_t k = 0; k < kChains; ++k) add_vector<kSum, kShifted>(chains, k, simd::load(x + 4 * k), shift);
    }
    flush<kSum>(chains);
  }

  /// d in float64: the difference rounds in float32, and not to either side alike.
  template <bool kShifted>
  void add_precise(simd::F32x4 v, simd::F32x4 shift) {
    simd::F64x2 low = simd::promote_low(v);
    simd::F64x2 high = simd::promote_high(v);
    if constexpr (kShifted) {
      low = low - simd::promote_low(shift);
      high = high - simd::promote_high(shift);
    }
    d_low = d_low + low;
    d_high = d_high + high;
  }

  // By value, so that the sums of the loops before stay in registers. The last step is padded with the shift, which adds exact
  // zeros.
  template <Sums kSum, bool kShifted>
  [[gnu::noinline]] static SumsF32 tail(const float* x, size_t n, float shift) {
    constexpr size_t kLanes = simd::F32x4::kLanes;
    float padded[kStep];
    SumsF32 sums;
    ChainsF32 chains;
    LAYERNORM_ROLLED
    for (const float* end = x + n; x < end; x += kStep) {
      const auto left = static_cast<size_t>(end - x);
      if (left < kStep) {
        LAYERNORM_ROLLED
        for (size_t i = 0; i < kStep; i += kLanes) {
          simd::store(padded + i, i < left ? simd::load_partial(x + i, left - i, shift) : simd::splat(shift));
        }
        x = padded;
        end = padded + kStep;
      }
      for (size_t k = 0; k < kChains; ++k) {
        sums.add_vector<kSum, kShifted>(chains, k, simd::load(x + k * kLanes), simd::splat(shift));
      }
    }
    sums.flush<kSum>(chains);
    return sums;
  }

  SumsF32 operator+(const SumsF32& other) const {
    return {d_low + other.d_low, d_high + other.d_high, square_low + other.square_low, square_high + other.square_high};
  }
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_SUMS_F32_H_
