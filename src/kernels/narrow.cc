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

// Calls visit(i, size) for blocks.
template <class Visit>
[[gnu::always_inline]] inline void each_block(size_t n, const Visit& visit) {
  for (size_t i = 0; i < n; i += kBlock) visit(i, n - i < kBlock ? n - i : kBlock);
}

// A block of two rows; products and gradients of the two are stored, or added to what is there.
template <bool kAdds>
[[gnu::noinline]] void write_pair(const NarrowRun* runs, const float* x, const float* grad, size_t stride,
                                  const float* weight, size_t n, float* y, float* products, float* grads) {
  const Constants a(runs[0]);
  const Constants b(runs[1]);
  each_vector(n, [&](size_t i, const auto& load, const auto& store) {
    const F32x4 w = load(weight + i);
    const F32x4 normalized_a = a.normalize(load(x + i));
    const F32x4 grad_a = load(grad + i);
    const F32x4 normalized_b = b.normalize(load(x + stride + i));
    const F32x4 grad_b = load(grad + stride + i);
    F32x4 product = grad_a * normalized_a + grad_b * normalized_b;
    F32x4 sum = grad_a + grad_b;
    store(y + i, a.gradient(grad_a * w, normalized_a));
    store(y + stride + i, b.gradient(grad_b * w, normalized_b));
    if constexpr (kAdds) {
      product = simd::load(products + i) + product;
      sum = simd::load(grads + i) + sum;
    }
    simd::store(products + i, product);
    simd::store(grads + i, sum);
  });
}

}  // namespace

void add_narrow(const NarrowRun& run, const float* x, const float* grad, NarrowWeights weights, size_t n,
                NarrowSums& sums) {
  const F32x4 mean = simd::splat(run.mean);
  NarrowSums found = sums;
  // Lanes beyond the end have a gradient of 0, and the mean for a value.
  const auto add = [&](F32x4 v, F32x4 g, F32x4 w, F32x4& to_grad, F32x4& to_product) {
    const F32x4 weighted = g * w;
    const F32x4 deviation = v - mean;
    found.deviation_bits = simd::max(found.deviation_bits, simd::magnitude_bits(deviation));
    to_grad = to_grad + weighted;
    to_product = to_product + weighted * deviation;
    return weighted;
  };
  each_block(n, [&](size_t begin, size_t size) {
    const float* weight = weights.from(begin);
    const float* v = x + begin;
    const float* g = grad + begin;
    F32x4 grads[4];
    F32x4 products[4];
    for (size_t k = 0; k < 4; ++k) grads[k] = products[k] = simd::splat(0.0F);
    size_t i = 0;
    LAYERNORM_ROLLED
    for (; i + 4 * kLanes <= size; i += 4 * kLanes) {
      for (size_t k = 0; k < 4; ++k) {
        const size_t at = i + k * kLanes;
        const F32x4 weighted =
            add(simd::load(v + at), simd::load(g + at), simd::load(weight + at), grads[k], products[k]);
        if (k == 0) found.grad_bits = simd::max(found.grad_bits, simd::magnitude_bits(weighted));
      }
    }
    LAYERNORM_ROLLED
    for (; i < size; i += kLanes) {
      const size_t rest = size - i < kLanes ? size - i : kLanes;
      const F32x4 weighted = add(simd::load_partial(v + i, rest, run.mean), simd::load_partial(g + i, rest, 0.0F),
                                 simd::load_partial(weight + i, rest, 0.0F), grads[0], products[0]);
      found.grad_bits = simd::max(found.grad_bits, simd::magnitude_bits(weighted));
    }
    flush((grads[0] + grads[1]) + (grads[2] + grads[3]), found.grads);
    flush((products[0] + products[1]) + (products[2] + products[3]), found.products);
  });
  sums = found;
}

void write_narrow(const NarrowRun& run, const float* x, const float* grad, NarrowWeights weights, size_t n, float* y,
                  float* products) {
  const Constants of(run);
  each_block(n, [&](size_t begin, size_t size) {
    const float* weight = weights.from(begin);
    each_vector(size, [&](size_t i, const auto& load, const auto& store) {
      const F32x4 normalized = of.normalize(load(x + begin + i));
      const F32x4 g = load(grad + begin + i);
      store(products + begin + i, g * normalized);
      store(y + begin + i, of.gradient(g * load(weight + i), normalized));
    });
  });
}

void write_quad(const NarrowRun* runs, const float* x, const float* grad, size_t stride, NarrowWeights weights,
                size_t n, float* y, double* products, double* grads) {
  each_block(n, [&](size_t i, size_t size) {
    float of_products[kBlock];
    float of_grads[kBlock];
    const float* weight = weights.from(i);
    write_pair<false>(runs, x + i, grad + i, stride, weight, size, y + i, of_products, of_grads);
    const size_t next = i + 2 * stride;
    write_pair<true>(runs + 2, x + next, grad + next, stride, weight, size, y + next, of_products, of_grads);
    if (products != nullptr) accumulate(of_products, products + i, size);
    if (grads != nullptr) accumulate(of_grads, grads + i, size);
  });
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

double total(const float* of, size_t n) {
  F64x2 wide[2] = {simd::splat(0.0), simd::splat(0.0)};
  each_block(n, [&](size_t begin, size_t size) {
    F32x4 sums[2] = {simd::splat(0.0F), simd::splat(0.0F)};
    size_t i = begin;
    const size_t end = begin + size;
    LAYERNORM_ROLLED
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      sums[0] = sums[0] + simd::load(of + i);
      sums[1] = sums[1] + simd::load(of + i + kLanes);
    }
    LAYERNORM_ROLLED
    for (; i < end; i += kLanes) {
      sums[0] = sums[0] + simd::load_partial(of + i, end - i < kLanes ? end - i : kLanes, 0.0F);
    }
    flush(sums[0] + sums[1], wide);
  });
  return simd::sum_lanes(wide[0] + wide[1]);
}

}  // namespace layernorm
