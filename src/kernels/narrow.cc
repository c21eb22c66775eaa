#include "kernels/narrow.h"

#include "kernels/parameter_blocks.h"

namespace layernorm {
namespace {

using simd::F32x4;
using simd::F64x2;

constexpr size_t kLanes = F32x4::kLanes;

struct Constants {
  F32x4 mean, mean_rest, rstd, constant, slope;

  explicit Constants(const NarrowRun& run)
      : mean(simd::splat(run.mean)),
        mean_rest(simd::splat(run.mean_rest)),
        rstd(simd::splat(run.rstd)),
        constant(simd::splat(run.constant)),
        slope(simd::splat(run.slope)) {}

  [[nodiscard]] F32x4 normalize(F32x4 x) const { return ((x - mean) - mean_rest) * rstd; }
  [[nodiscard]] F32x4 gradient(F32x4 weighted, F32x4 normalized) const {
    return weighted * rstd + (constant + normalized * slope);
  }
};

// Calls visit(i, load, store) for each vector; those of the last, partial one read and write no further than n.
template <class Visit>
[[gnu::always_inline]] inline void each_vector(size_t n, const Visit& visit) {
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + kLanes <= n; i += kLanes) {
    visit(
        i, [](const float* p) { return simd::load(p); }, [](float* p, F32x4 v) { simd::store(p, v); });
  }
  if (i < n) {
    const size_t rest = n - i;
    visit(
        i, [rest](const float* p) { return simd::load_partial(p, rest, 0.0F); },
        [rest](float* p, F32x4 v) { simd::store_partial(p, rest, v); });
  }
}

void flush(F32x4 sum, F64x2 (&to)[2]) {
  to[0] = to[0] + simd::promote_low(sum);
  to[1] = to[1] + simd::promote_high(sum);
}

}  // namespace

void add_narrow(const NarrowRun& run, const float* x, const float* grad, const float* weight, size_t n,
                NarrowSums& sums) {
  const Constants of(run);
  // Lanes beyond the end have a gradient of 0, and the mean for a value.
  const auto add = [&](F32x4 v, F32x4 g, F32x4 w, F32x4& to_grad, F32x4& to_product) {
    const F32x4 weighted = g * w;
    const F32x4 normalized = of.normalize(v);
    sums.grad_bits = simd::max(sums.grad_bits, simd::magnitude_bits(weighted));
    sums.normalized_bits = simd::max(sums.normalized_bits, simd::magnitude_bits(normalized));
    to_grad = to_grad + weighted;
    to_product = to_product + weighted * normalized;
  };
  F32x4 grads[4];
  F32x4 products[4];
  for (size_t k = 0; k < 4; ++k) grads[k] = products[k] = simd::splat(0.0F);
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    for (size_t k = 0; k < 4; ++k) {
      const size_t at = i + k * kLanes;
      add(simd::load(x + at), simd::load(grad + at), simd::load(weight + at), grads[k], products[k]);
    }
  }
  LAYERNORM_ROLLED
  for (; i < n; i += kLanes) {
    const size_t rest = n - i < kLanes ? n - i : kLanes;
    add(simd::load_partial(x + i, rest, run.mean), simd::load_partial(grad + i, rest, 0.0F),
        simd::load_partial(weight + i, rest, 0.0F), grads[0], products[0]);
  }
  flush((grads[0] + grads[1]) + (grads[2] + grads[3]), sums.grad);
  flush((products[0] + products[1]) + (products[2] + products[3]), sums.product);
}

void write_narrow(const NarrowRun& run, const float* x, const float* grad, const float* weight, size_t n, float* y,
                  float* product) {
  const Constants of(run);
  each_vector(n, [&](size_t i, const auto& load, const auto& store) {
    const F32x4 normalized = of.normalize(load(x + i));
    const F32x4 g = load(grad + i);
    store(y + i, of.gradient(g * load(weight + i), normalized));
    simd::store(product + i, g * normalized);
  });
}

void write_quad(const NarrowRun* runs, const float* x, const float* grad, size_t stride, const float* weight, size_t n,
                float* y, size_t y_stride, double* products, double* grads) {
  const Constants of[kQuad] = {Constants(runs[0]), Constants(runs[1]), Constants(runs[2]), Constants(runs[3])};
  float of_weight[kBlock];
  float of_bias[kBlock];
  each_vector(n, [&](size_t i, const auto& load, const auto& store) {
    const F32x4 w = load(weight + i);
    F32x4 g[kQuad];
    F32x4 p[kQuad];
    for (size_t r = 0; r < kQuad; ++r) {
      const F32x4 normalized = of[r].normalize(load(x + r * stride + i));
      g[r] = load(grad + r * stride + i);
      p[r] = g[r] * normalized;
      store(y + r * y_stride + i, of[r].gradient(g[r] * w, normalized));
    }
    simd::store(of_weight + i, (p[0] + p[1]) + (p[2] + p[3]));
    simd::store(of_bias + i, (g[0] + g[1]) + (g[2] + g[3]));
  });
  if (products != nullptr) accumulate(of_weight, products, n);
  if (grads != nullptr) accumulate(of_bias, grads, n);
}

void accumulate(const float* from, double* to, size_t n) {
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + kLanes <= n; i += kLanes) {
    const F32x4 v = simd::load(from + i);
    simd::store(to + i, simd::load(to + i) + simd::promote_low(v));
    simd::store(to + i + 2, simd::load(to + i + 2) + simd::promote_high(v));
  }
  for (; i < n; ++i) to[i] += from[i];
}

double total(const float* of, size_t n) {
  F32x4 sums[2] = {simd::splat(0.0F), simd::splat(0.0F)};
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    sums[0] = sums[0] + simd::load(of + i);
    sums[1] = sums[1] + simd::load(of + i + kLanes);
  }
  LAYERNORM_ROLLED
  for (; i < n; i += kLanes) {
    sums[0] = sums[0] + simd::load_partial(of + i, n - i < kLanes ? n - i : kLanes, 0.0F);
  }
  F64x2 wide[2] = {simd::splat(0.0), simd::splat(0.0)};
  flush(sums[0] + sums[1], wide);
  return simd::sum_lanes(wide[0] + wide[1]);
}

}  // namespace layernorm
