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
// All loops take two vectors at a time, for two chains of additions.
constexpr size_t kStep = 2 * kLanes;
static_assert(kStep == NarrowScratch::kPadding);

void flush(F32x4 sum, F64x2 (&to)[2]) {
  to[0] = to[0] + simd::promote_low(sum);
  to[1] = to[1] + simd::promote_high(sum);
}

// The last elements, fewer than a step, with something else behind them.
[[gnu::noinline]] void pad(const float* from, size_t n, float rest, float* to) {
  LAYERNORM_ROLLED
  for (size_t i = 0; i < kStep; ++i) to[i] = rest;
  LAYERNORM_ROLLED
  for (size_t i = 0; i < n; ++i) to[i] = from[i];
}

[[gnu::noinline]] void copy(const float* from, size_t n, float* to) {
  LAYERNORM_ROLLED
  for (size_t i = 0; i < n; ++i) to[i] = from[i];
}

// Adds whole steps.
template <bool kWeighted>
[[gnu::noinline]] void add_steps(const NarrowRun& run, const float* x, const float* grad, const float* weight, size_t n,
                                 float* normalized, NarrowSums& sums) {
  const F32x4 center = simd::splat(run.center);
  const F32x4 rest = simd::splat(static_cast<float>(run.rest));
  const F32x4 factor = simd::splat(run.factor);
  NarrowSums found = sums;
  for (const float* last = x + n; x != last;) {
    const float* end = x + std::min<size_t>(kTurns * kStep, static_cast<size_t>(last - x));
    F32x4 grads[2], products[2];
    grads[0] = grads[1] = products[0] = products[1] = simd::splat(0.0F);
    LAYERNORM_ROLLED
    for (; x != end; x += kStep, grad += kStep) {
      for (size_t k = 0; k < 2; ++k) {
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
    flush(grads[0] + grads[1], found.grads);
    flush(products[0] + products[1], found.products);
  }
  sums = found;
}

// Values beyond the end are the center, with a gradient of 0.
template <bool kWeighted>
void add_all(const NarrowRun& run, const float* x, const float* grad, const float* weight, size_t n, float* normalized,
             NarrowSums& sums) {
  const size_t whole = n / kStep * kStep;
  add_steps<kWeighted>(run, x, grad, weight, whole, normalized, sums);
  if (whole == n) return;
  float values[kStep];
  float grads[kStep];
  pad(x + whole, n - whole, run.center, values);
  pad(grad + whole, n - whole, 0, grads);
  if constexpr (kWeighted) {
    weight += whole;
    normalized += whole;
  }
  add_steps<kWeighted>(run, values, grads, weight, kStep, normalized, sums);
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

// Whole steps, from an element on.
[[gnu::noinline]] void write_steps(const NarrowRow* rows, size_t begin, size_t n, NarrowScratch* scratch) {
  const Constants a(*rows[0].run);
  const Constants b(*rows[1].run);
  const float* grad_a = rows[0].grad;
  const float* grad_b = rows[1].grad;
  float* y_a = rows[0].y;
  float* y_b = rows[1].y;
  // The scratch as it is seen from each step.
  auto* at = reinterpret_cast<NarrowScratch*>(scratch->weights + begin);
  LAYERNORM_ROLLED
  for (const float* end = grad_a + n; grad_a != end;) {
    for (size_t k = 0; k < kStep; k += kLanes) {
      const F32x4 w = simd::load(at->weights + k);
      const F32x4 values = simd::load(at->normalized[0] + k);
      const F32x4 g = simd::load(grad_a + k);
      simd::store(y_a + k, a.gradient(g * w, values));
      const F32x4 others = simd::load(at->normalized[1] + k);
      const F32x4 h = simd::load(grad_b + k);
      simd::store(y_b + k, b.gradient(h * w, others));
      simd::store(at->products + k, simd::load(at->products + k) + (g * values + h * others));
      simd::store(at->grads + k, simd::load(at->grads + k) + (g + h));
    }
    at = reinterpret_cast<NarrowScratch*>(at->weights + kStep);
    grad_a += kStep;
    grad_b += kStep;
    y_a += kStep;
    y_b += kStep;
  }
}

// Whole steps: gradients are grad * factor + (x * slope + constant), about the center.
[[gnu::noinline]] void write_equal_steps(float center, float factor, float slope, float constant, const float* x,
                                         const float* grad, size_t n, float* y) {
  const F32x4 centers = simd::splat(center);
  const F32x4 factors = simd::splat(factor);
  const F32x4 slopes = simd::splat(slope);
  const F32x4 constants = simd::splat(constant);
  LAYERNORM_ROLLED
  for (const float* end = x + n; x != end; x += kStep, grad += kStep, y += kStep) {
    for (size_t k = 0; k < kStep; k += kLanes) {
      const F32x4 linear = (simd::load(x + k) - centers) * slopes + constants;
      simd::store(y + k, simd::load(grad + k) * factors + linear);
    }
  }
}

}  // namespace

void add_narrow(const NarrowRun& run, const float* x, const float* grad, const float* weight, size_t n,
                float* normalized, NarrowSums& sums) {
  add_all<true>(run, x, grad, weight, n, normalized, sums);
}

void add_equal(const NarrowRun& run, const float* x, const float* grad, size_t n, NarrowSums& sums) {
  add_all<false>(run, x, grad, nullptr, n, nullptr, sums);
}

void NarrowSums::clear() {
  // As constants they would be stored by a call out of the module.
  const F64x2 zero = simd::held(simd::splat(0.0));
  grads[0] = grads[1] = products[0] = products[1] = zero;
  deviation_bits = {zero.v};
}

void PreciseSums::add(const NarrowRun& run, const float* x, const float* g, const float* weight, size_t n) {
  const double mean = run.center + run.rest;
  F64x2 grads = simd::splat(0.0);
  F64x2 products = simd::splat(0.0);
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + 2 <= n; i += 2) {
    const F64x2 weighted = simd::load_wide(g + i) * simd::load_wide(weight + i);
    grads = grads + weighted;
    products = products + weighted * (simd::load_wide(x + i) - simd::splat(mean));
  }
  grad += simd::sum_lanes(grads);
  product += simd::sum_lanes(products);
  if (i == n) return;
  const double weighted = static_cast<double>(g[i]) * weight[i];
  grad += weighted;
  product += weighted * (x[i] - mean);
}

void widen_products(const float* normalized, const float* grad, size_t n, double* products, double* grads) {
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + 2 <= n; i += 2) {
    const F64x2 g = simd::load_wide(grad + i);
    simd::store(grads + i, g);
    simd::store(products + i, g * simd::load_wide(normalized + i));
  }
  if (i == n) return;
  grads[i] = grad[i];
  products[i] = grads[i] * normalized[i];
}

void write_narrow(const NarrowRow* rows, size_t n, NarrowScratch& scratch) {
  const size_t whole = n / kStep * kStep;
  write_steps(rows, 0, whole, &scratch);
  if (whole == n) return;
  float grads[2][kStep];
  NarrowRow last[2];
  for (size_t r = 0; r < 2; ++r) {
    pad(rows[r].grad + whole, n - whole, 0, grads[r]);
    last[r] = {rows[r].run, grads[r], grads[r]};
  }
  write_steps(last, whole, kStep, &scratch);
  for (size_t r = 0; r < 2; ++r) copy(grads[r], n - whole, rows[r].y + whole);
}

void write_alone(const NarrowRow& row, const float* weight, const float* normalized, size_t n) {
  using namespace simd;
  const Constants of(*row.run);
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + kLanes <= n; i += kLanes) {
    store(row.y + i, of.gradient(load(row.grad + i) * load(weight + i), load(normalized + i)));
  }
  const size_t rest = n - i;
  store_partial(row.y + i, rest,
                of.gradient(load_partial(row.grad + i, rest, 0.0F) * load_partial(weight + i, rest, 0.0F),
                            load_partial(normalized + i, rest, 0.0F)));
}

void write_equal(const NarrowRun& run, float weight, const float* x, const float* grad, size_t n, float* y) {
  const auto factor = static_cast<float>(weight * run.rstd);
  const double slope = run.slope * run.rstd;
  const double constant = run.constant - run.rest * slope;
  const auto write = [&](const float* from, const float* of, size_t size, float* to) {
    write_equal_steps(run.center, factor, static_cast<float>(slope), static_cast<float>(constant), from, of, size, to);
  };
  const size_t whole = n / kStep * kStep;
  write(x, grad, whole, y);
  if (whole == n) return;
  float values[kStep];
  float grads[kStep];
  pad(x + whole, n - whole, 0, values);
  pad(grad + whole, n - whole, 0, grads);
  write(values, grads, kStep, grads);
  copy(grads, n - whole, y + whole);
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

void accumulate(const float* from, double* to, size_t n) {
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + kLanes <= n; i += kLanes) {
    const F32x4 v = simd::load(from + i);
    simd::store(to + i, simd::load(to + i) + simd::promote_low(v));
    simd::store(to + i + 2, simd::load(to + i + 2) + simd::promote_high(v));
  }
  LAYERNORM_ROLLED
  for (; i < n; ++i) to[i] += from[i];
}

void accumulate(const float* from, float* to, size_t n) {
  using namespace simd;
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + F32x4::kLanes <= n; i += F32x4::kLanes) store(to + i, load(to + i) + load(from + i));
  for (; i < n; ++i) to[i] += from[i];
}

void accumulate_in_turn(const float* from, size_t stride, size_t count, double* to, size_t n) {
  // A cache line of each, to sums that stay in registers.
  constexpr size_t kColumns = 16;
  for (size_t i = 0; i < n; i += kColumns) {
    if (n - i < kColumns) {
      for (size_t k = 0; k < count; ++k) accumulate(from + k * stride + i, to + i, n - i);
      return;
    }
    F64x2 sums[kColumns / 2];
    for (size_t c = 0; c < kColumns / 2; ++c) sums[c] = simd::load(to + i + 2 * c);
    const float* at = from + i;
    LAYERNORM_ROLLED
    for (size_t k = 0; k < count; ++k, at += stride) {
      for (size_t c = 0; c < kColumns; c += kLanes) {
        const F32x4 v = simd::load(at + c);
        sums[c / 2] = sums[c / 2] + simd::promote_low(v);
        sums[c / 2 + 1] = sums[c / 2 + 1] + simd::promote_high(v);
      }
    }
    for (size_t c = 0; c < kColumns / 2; ++c) simd::store(to + i + 2 * c, sums[c]);
  }
}

}  // namespace layernorm
