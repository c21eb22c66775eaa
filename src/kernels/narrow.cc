#include "kernels/narrow.h"

#include "kernels/parameter_blocks.h"

namespace layernorm {
namespace {

using simd::F32x4;
using simd::F64x2;

constexpr size_t kLanes = F32x4::kLanes;
// Elements that are summed in float32 before they are flushed to float64.
constexpr size_t kPiece = 32;

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

void flush(F32x4 sum, F64x2 (&to)[2]) {
  to[0] = to[0] + simd::promote_low(sum);
  to[1] = to[1] + simd::promote_high(sum);
}

// Calls visit(i, size) for blocks.
template <class Visit>
[[gnu::always_inline]] inline void each_block(size_t n, const Visit& visit) {
  for (size_t i = 0; i < n; i += kBlock) visit(i, n - i < kBlock ? n - i : kBlock);
}

// A block of two rows; products and gradients of the two are stored, or added to what is there. n is a multiple of the lanes.
[[gnu::noinline]] void write_pair(const NarrowRun* runs, const float* x, const float* grad, size_t stride,
                                  const float* weight, size_t n, float* y, bool adds, float* products, float* grads) {
  const Constants a(runs[0]);
  const Constants b(runs[1]);
  LAYERNORM_ROLLED
  for (size_t i = 0; i < n; i += kLanes) {
    const F32x4 w = simd::load(weight + i);
    const F32x4 normalized_a = a.normalize(simd::load(x + i));
    const F32x4 grad_a = simd::load(grad + i);
    const F32x4 normalized_b = b.normalize(simd::load(x + stride + i));
    const F32x4 grad_b = simd::load(grad + stride + i);
    F32x4 product = grad_a * normalized_a + grad_b * normalized_b;
    F32x4 sum = grad_a + grad_b;
    simd::store(y + i, a.gradient(grad_a * w, normalized_a));
    simd::store(y + stride + i, b.gradient(grad_b * w, normalized_b));
    if (adds) {
      product = simd::load(products + i) + product;
      sum = simd::load(grads + i) + sum;
    }
    simd::store(products + i, product);
    simd::store(grads + i, sum);
  }
}

// A block of one row, whole vectors.
[[gnu::noinline]] void write_vectors(const NarrowRun& run, const float* x, const float* grad, const float* weight,
                                     size_t n, float* y, float* products) {
  const Constants of(run);
  LAYERNORM_ROLLED
  for (size_t i = 0; i < n; i += kLanes) {
    const F32x4 normalized = of.normalize(simd::load(x + i));
    const F32x4 g = simd::load(grad + i);
    simd::store(products + i, g * normalized);
    simd::store(y + i, of.gradient(g * simd::load(weight + i), normalized));
  }
}

// A vector of the first n < kLanes elements beside zeros.
struct Padded {
  float values[kLanes] = {};
  Padded(const float* from, size_t n) { std::memcpy(values, from, n * sizeof(float)); }
};

}  // namespace

void add_narrow(const NarrowRun& run, const float* x, const float* grad, NarrowWeights weights, size_t n,
                NarrowSums& sums) {
  const F32x4 mean = simd::splat(run.mean);
  NarrowSums found = sums;
  // Lanes beyond the end have a gradient of 0, and the mean for a value.
  const auto add = [&](F32x4 v, F32x4 g, F32x4 w, F32x4& to_grad, F32x4& to_product) {
    const F32x4 weighted = g * w;
    const F32x4 deviation = v - mean;
    found.grad_bits = simd::max_of_doubled(found.grad_bits, simd::doubled_bits(g));
    found.deviation_bits = simd::max_of_doubled(found.deviation_bits, simd::doubled_bits(deviation));
    to_grad = to_grad + weighted;
    to_product = to_product + weighted * deviation;
    return weighted;
  };
  each_block(n, [&](size_t begin, size_t size) {
    const float* weight = weights.from(begin);
    const float* v = x + begin;
    const float* g = grad + begin;
    // Two chains, eight vectors at most: with more, registers spill.
    for (size_t i = 0; i < size;) {
      const size_t end = size - i < kPiece ? size : i + kPiece;
      F32x4 grads[2] = {simd::splat(0.0F), simd::splat(0.0F)};
      F32x4 products[2] = {simd::splat(0.0F), simd::splat(0.0F)};
      LAYERNORM_ROLLED
      for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
        const F32x4 weighted = add(simd::load(v + i), simd::load(g + i), simd::load(weight + i), grads[0], products[0]);
        found.weighted_bits = simd::max_of_doubled(found.weighted_bits, simd::doubled_bits(weighted));
        const size_t at = i + kLanes;
        add(simd::load(v + at), simd::load(g + at), simd::load(weight + at), grads[1], products[1]);
      }
      LAYERNORM_ROLLED
      for (; i < end; i += kLanes) {
        const size_t rest = end - i < kLanes ? end - i : kLanes;
        const F32x4 weighted = add(simd::load_partial(v + i, rest, run.mean), simd::load_partial(g + i, rest, 0.0F),
                                   simd::load_partial(weight + i, rest, 0.0F), grads[0], products[0]);
        found.weighted_bits = simd::max_of_doubled(found.weighted_bits, simd::doubled_bits(weighted));
      }
      i = end;
      flush(grads[0] + grads[1], found.grads);
      flush(products[0] + products[1], found.products);
    }
  });
  sums = found;
}

void write_narrow(const NarrowRun& run, const float* x, const float* grad, NarrowWeights weights, size_t n, float* y,
                  float* products) {
  each_block(n, [&](size_t i, size_t size) {
    const float* weight = weights.from(i);
    const size_t whole = size / kLanes * kLanes;
    write_vectors(run, x + i, grad + i, weight, whole, y + i, products + i);
    if (whole == size) return;
    const size_t at = i + whole;
    const size_t rest = size - whole;
    Padded to(y, 0);
    Padded product(y, 0);
    write_vectors(run, Padded(x + at, rest).values, Padded(grad + at, rest).values, Padded(weight + whole, rest).values,
                  kLanes, to.values, product.values);
    std::memcpy(y + at, to.values, rest * sizeof(float));
    std::memcpy(products + at, product.values, rest * sizeof(float));
  });
}

void write_quad(const NarrowRun* runs, const float* x, const float* grad, size_t stride, NarrowWeights weights,
                size_t n, float* y, double* products, double* grads) {
  each_block(n, [&](size_t i, size_t size) {
    float of_products[kBlock];
    float of_grads[kBlock];
    const float* weight = weights.from(i);
    const size_t whole = size / kLanes * kLanes;
    for (size_t r = 0; r < kQuad; r += 2) {
      const size_t at = i + r * stride;
      write_pair(runs + r, x + at, grad + at, stride, weight, whole, y + at, r != 0, of_products, of_grads);
    }
    if (whole != size) {
      // The rest as a block of its own.
      const size_t rest = size - whole;
      float block[3][kQuad * kLanes] = {};
      for (size_t r = 0; r < kQuad; ++r) {
        std::memcpy(block[0] + r * kLanes, x + i + whole + r * stride, rest * sizeof(float));
        std::memcpy(block[1] + r * kLanes, grad + i + whole + r * stride, rest * sizeof(float));
      }
      const Padded last(weight + whole, rest);
      for (size_t r = 0; r < kQuad; r += 2) {
        const size_t at = r * kLanes;
        write_pair(runs + r, block[0] + at, block[1] + at, kLanes, last.values, kLanes, block[2] + at, r != 0,
                   of_products + whole, of_grads + whole);
      }
      for (size_t r = 0; r < kQuad; ++r) {
        std::memcpy(y + i + whole + r * stride, block[2] + r * kLanes, rest * sizeof(float));
      }
    }
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
