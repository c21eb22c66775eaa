#include "kernels/narrow.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace layernorm {
namespace {

using simd::F32x4;
using simd::F64x2;

constexpr size_t kLanes = F32x4::kLanes;
// Vectors that a chain adds in float32 before it is flushed to float64.
constexpr size_t kTurns = 8;
constexpr size_t kPair = 2 * kLanes;
static_assert(kPair == NarrowScratch::kPadding);

// A few elements, and what stands for those beyond the end.
template <size_t kSize>
struct Padded {
  float values[kSize];
  Padded(const float* from, size_t n, float rest) {
    LAYERNORM_ROLLED
    for (float& value : values) value = rest;
    std::memcpy(values, from, n * sizeof(float));
  }
};

// Adds whole steps of kChains vectors, each to its chain.
template <bool kWeighted, size_t kChains>
[[gnu::noinline]] void add_steps(const NarrowRun& run, const float* x, const float* grad, const float* weight, size_t n,
                                 float* normalized, NarrowSums& sums) {
  constexpr size_t kStep = kChains * kLanes;
  const F32x4 center = simd::splat(run.center);
  const F32x4 rest = simd::splat(static_cast<float>(run.rest));
  const F32x4 factor = simd::splat(run.factor);
  NarrowSums found = sums;
  for (const float* last = x + n; x != last;) {
    const float* end = x + std::min<size_t>(kTurns * kStep, static_cast<size_t>(last - x));
    F32x4 grads[kChains], products[kChains];
    for (size_t k = 0; k < kChains; ++k) grads[k] = products[k] = simd::splat(0.0F);
    LAYERNORM_ROLLED
    for (; x != end; x += kStep, grad += kStep) {
      for (size_t k = 0; k < kChains; ++k) {
        const F32x4 deviation = simd::load(x + k * kLanes) - center;
        found.deviation_bits = simd::max_of_doubled(found.deviation_bits, simd::doubled_bits(deviation));
        F32x4 g = simd::load(grad + k * kLanes);
        if constexpr (kWeighted) {
          simd::store(normalized + k * kLanes, (deviation - rest) * factor);
          g = g * simd::load(weight + k * kLanes);
        }
        grads[k] = grads[k] + g;
        products[k] = products[k] + g * deviation;
      }
      if constexpr (kWeighted) {
        normalized += kStep;
        weight += kStep;
      }
    }
    const auto flush = [](const F32x4* of, F64x2* to) {
      F32x4 sum = of[0] + of[1];
      if constexpr (kChains == 4) sum = sum + (of[2] + of[3]);
      to[0] = to[0] + simd::promote_low(sum);
      to[1] = to[1] + simd::promote_high(sum);
    };
    flush(grads, found.grads);
    flush(products, found.products);
  }
  sums = found;
}

// Values beyond the end are the center, with a gradient of 0.
template <bool kWeighted, size_t kChains>
void add_all(const NarrowRun& run, const float* x, const float* grad, const float* weight, size_t n, float* normalized,
             NarrowSums& sums) {
  constexpr size_t kStep = kChains * kLanes;
  const size_t whole = n / kStep * kStep;
  add_steps<kWeighted, kChains>(run, x, grad, weight, whole, normalized, sums);
  if (whole == n) return;
  const size_t rest = n - whole;
  const Padded<kStep> values(x + whole, rest, run.center);
  const Padded<kStep> grads(grad + whole, rest, 0);
  const Padded<kStep> weights(kWeighted ? weight + whole : grad, rest, 0);
  add_steps<kWeighted, kChains>(run, values.values, grads.values, weights.values, kStep, normalized + whole, sums);
}

struct Constants {
  F32x4 factor, constant, slope;

  explicit Constants(const NarrowRun& run)
      : factor(simd::splat(run.factor)),
        constant(simd::splat(static_cast<float>(run.constant))),
        slope(simd::splat(static_cast<float>(run.slope))) {}

  [[nodiscard]] F32x4 gradient(F32x4 weighted, F32x4 normalized) const {
    return weighted * factor + (constant + normalized * slope);
  }
};

// Whole steps of two vectors, from one on.
template <size_t kRows>
[[gnu::noinline]] void write_steps(const NarrowRow* rows, size_t begin, size_t n, NarrowScratch* scratch) {
  const Constants a(*rows[0].run);
  const Constants b(*rows[kRows - 1].run);
  const float* grad_a = rows[0].grad;
  const float* grad_b = rows[kRows - 1].grad;
  float* y_a = rows[0].y;
  float* y_b = rows[kRows - 1].y;
  // The scratch as it is seen from each step.
  auto* at = reinterpret_cast<NarrowScratch*>(scratch->weights + begin);
  LAYERNORM_ROLLED
  for (const float* end = grad_a + n; grad_a != end;) {
    for (size_t k = 0; k < kPair; k += kLanes) {
      const F32x4 w = simd::load(at->weights + k);
      const F32x4 values = simd::load(at->normalized[0] + k);
      const F32x4 g = simd::load(grad_a + k);
      F32x4 product = g * values;
      F32x4 grad = g;
      simd::store(y_a + k, a.gradient(g * w, values));
      if constexpr (kRows == 2) {
        const F32x4 others = simd::load(at->normalized[1] + k);
        const F32x4 h = simd::load(grad_b + k);
        product = product + h * others;
        grad = grad + h;
        simd::store(y_b + k, b.gradient(h * w, others));
      }
      simd::store(at->products + k, simd::load(at->products + k) + product);
      simd::store(at->grads + k, simd::load(at->grads + k) + grad);
    }
    at = reinterpret_cast<NarrowScratch*>(at->weights + kPair);
    grad_a += kPair;
    grad_b += kPair;
    y_a += kPair;
    y_b += kPair;
  }
}

void write_steps(const NarrowRow* rows, size_t count, size_t begin, size_t n, NarrowScratch* scratch) {
  count == 2 ? write_steps<2>(rows, begin, n, scratch) : write_steps<1>(rows, begin, n, scratch);
}

// Whole steps of four vectors: gradients are grad * factor + (x * slope + constant), about the center.
[[gnu::noinline]] void write_equal_steps(float center, float factor, float slope, float constant,
                                         const float* x, const float* grad, size_t n, float* y) {
  const F32x4 centers = simd::splat(center);
  const F32x4 factors = simd::splat(factor);
  const F32x4 slopes = simd::splat(slope);
  const F32x4 constants = simd::splat(constant);
  LAYERNORM_ROLLED
  for (const float* end = x + n; x != end; x += 4 * kLanes, grad += 4 * kLanes, y += 4 * kLanes) {
    for (size_t k = 0; k < 4 * kLanes; k += kLanes) {
      const F32x4 linear = (simd::load(x + k) - centers) * slopes + constants;
      simd::store(y + k, simd::load(grad + k) * factors + linear);
    }
  }
}

}  // namespace

void add_narrow(const NarrowRun& run, const float* x, const float* grad, const float* weight, size_t n,
                float* normalized, NarrowSums& sums) {
  add_all<true, 2>(run, x, grad, weight, n, normalized, sums);
}

void add_equal(const NarrowRun& run, const float* x, const float* grad, size_t n, NarrowSums& sums) {
  add_all<false, 4>(run, x, grad, nullptr, n, nullptr, sums);
}

void add_precise(const NarrowRun& run, const float* x, const float* grad, const float* weight, size_t n,
                 NarrowSums& sums) {
  const F64x2 center = simd::splat(static_cast<double>(run.center));
  NarrowSums found = sums;
  LAYERNORM_ROLLED
  for (size_t i = 0; i < n; i += kLanes) {
    const size_t rest = std::min(n - i, kLanes);
    const F32x4 v = simd::load_partial(x + i, rest, run.center);
    const F32x4 g = simd::load_partial(grad + i, rest, 0.0F);
    const F32x4 w = simd::load_partial(weight + i, rest, 0.0F);
    const F64x2 low = simd::promote_low(g) * simd::promote_low(w);
    const F64x2 high = simd::promote_high(g) * simd::promote_high(w);
    found.grads[0] = found.grads[0] + low;
    found.grads[1] = found.grads[1] + high;
    found.products[0] = found.products[0] + low * (simd::promote_low(v) - center);
    found.products[1] = found.products[1] + high * (simd::promote_high(v) - center);
  }
  sums = found;
}

void write_narrow(const NarrowRow* rows, size_t count, size_t n, NarrowScratch& scratch) {
  const size_t whole = n / kPair * kPair;
  write_steps(rows, count, 0, whole, &scratch);
  if (whole == n) return;
  const size_t rest = n - whole;
  Padded<kPair> grads[2] = {{rows[0].grad + whole, rest, 0}, {rows[count - 1].grad + whole, rest, 0}};
  const NarrowRow last[2] = {{rows[0].run, grads[0].values, grads[0].values},
                             {rows[count - 1].run, grads[1].values, grads[1].values}};
  write_steps(last, count, whole, kPair, &scratch);
  for (size_t r = 0; r < count; ++r) std::memcpy(rows[r].y + whole, grads[r].values, rest * sizeof(float));
}

void write_equal(const NarrowRun& run, float weight, const float* x, const float* grad, size_t n, float* y) {
  constexpr size_t kStep = 4 * kLanes;
  const auto factor = static_cast<float>(weight * run.rstd);
  const double slope = run.slope * run.rstd;
  const double constant = run.constant - run.rest * slope;
  const size_t whole = n / kStep * kStep;
  write_equal_steps(run.center, factor, static_cast<float>(slope), static_cast<float>(constant), x, grad, whole, y);
  if (whole == n) return;
  const size_t rest = n - whole;
  const Padded<kStep> values(x + whole, rest, 0);
  Padded<kStep> grads(grad + whole, rest, 0);
  write_equal_steps(run.center, factor, static_cast<float>(slope), static_cast<float>(constant), values.values, grads.values, kStep, grads.values);
  std::memcpy(y + whole, grads.values, rest * sizeof(float));
}

bool are_finite(const NarrowScratch& scratch, size_t n) {
  // Where neither is, nor is their product; where that overflows by itself, the answer is only careful.
  F32x4 sum = simd::splat(0.0F);
  LAYERNORM_ROLLED
  for (size_t i = 0; i < n; i += kLanes) {
    sum = sum + simd::load(scratch.products + i) * simd::load(scratch.grads + i);
  }
  return std::isfinite(simd::sum_lanes(simd::promote_low(sum) + simd::promote_high(sum)));
}

void drain(float* from, double* to, size_t n) {
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + kLanes <= n; i += kLanes) {
    const F32x4 v = simd::load(from + i);
    simd::store(from + i, simd::splat(0.0F));
    simd::store(to + i, simd::load(to + i) + simd::promote_low(v));
    simd::store(to + i + 2, simd::load(to + i + 2) + simd::promote_high(v));
  }
  LAYERNORM_ROLLED
  for (; i < n; ++i) {
    to[i] += from[i];
    from[i] = 0;
  }
}

}  // namespace layernorm
