#include "kernels/wide.h"

#include <limits>

#include "simd/math.h"

namespace layernorm {
namespace {

using simd::F64x2;
using simd::Parts;

constexpr size_t kLanes = F64x2::kLanes;

Parts load_parts(const double* high, const double* low) { return {simd::load(high), simd::load(low)}; }

// The nearest float64 and the rest.
Parts in_parts(F64x2 sum, F64x2 rest) {
  using namespace simd;
  const F64x2 high = sum + rest;
  const F64x2 low = rest - (high - sum);
  const I64x2 finite = abs(sum) < splat(std::numeric_limits<double>::infinity());
  return {select(finite, high, sum), as_floats(as_bits(low) & finite)};
}

Parts add_parts(Parts a, Parts b) {
  const ExactSum exact(a.hi, b.hi);
  return in_parts(exact.sum, exact.error + (a.lo + b.lo));
}

Parts multiply_parts(Parts a, Parts b) {
  // Where a factor has no upper bits or infinite ones, the plain product says what it is.
  const Parts exact = simd::multiply(a, b.hi);
  const F64x2 plain = a.hi * b.hi;
  return in_parts(plain, (exact.hi - plain) + (exact.lo + a.hi * b.lo));
}

TwoPart lanes(Parts of) { return {simd::lane(of.hi, 0), simd::lane(of.lo, 0)}; }
Parts splat_parts(TwoPart of) { return {simd::splat(of.high), simd::splat(of.low)}; }

[[gnu::noinline]] TwoPart sum(TwoPart a, TwoPart b) { return lanes(add_parts(splat_parts(a), splat_parts(b))); }

}  // namespace

void multiply(bool two, const WideBlock& a, const WideBlock& b, WideBlock& to, size_t n) {
  LAYERNORM_ROLLED
  for (size_t i = 0; i < n; i += kLanes) {
    if (!two) {
      simd::store(to.high + i, simd::load(a.high + i) * simd::load(b.high + i));
      continue;
    }
    const Parts result = multiply_parts(load_parts(a.high + i, a.low + i), load_parts(b.high + i, b.low + i));
    simd::store(to.high + i, result.hi);
    simd::store(to.low + i, result.lo);
  }
}

void add(bool two, const WideBlock& a, const WideBlock& b, WideBlock& to, size_t n) {
  if (&to != &a) to = a;
  accumulate(two, b.high, b.low, to.high, to.low, (n + 1) / kLanes * kLanes);
}

void accumulate(bool two, const double* high, const double* low, double* to_high, double* to_low, size_t n) {
  const auto one = [&](size_t i) {
    if (!two) {
      to_high[i] += high[i];
      return;
    }
    const TwoPart result = sum({to_high[i], to_low[i]}, {high[i], low[i]});
    to_high[i] = result.high;
    to_low[i] = result.low;
  };
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + kLanes <= n; i += kLanes) {
    if (!two) {
      simd::store(to_high + i, simd::load(to_high + i) + simd::load(high + i));
      continue;
    }
    const Parts result = add_parts(load_parts(to_high + i, to_low + i), load_parts(high + i, low + i));
    simd::store(to_high + i, result.hi);
    simd::store(to_low + i, result.lo);
  }
  if (i < n) one(i);
}

TwoPart total(bool two, const WideBlock& of, size_t begin, size_t n) {
  TwoPart found = of.at(begin);
  for (size_t i = begin + 1; i < begin + n; ++i) {
    if (two) {
      found = sum(found, of.at(i));
    } else {
      found.high += of.high[i];
    }
  }
  if (!two) found.low = 0;
  return found;
}

TwoPart product(TwoPart a, TwoPart b) { return lanes(multiply_parts(splat_parts(a), splat_parts(b))); }

void widen(bool two, const void* from, WideBlock& to, size_t n) {
  if (two) {
    std::memcpy(to.high, from, n * sizeof(double));
    std::memset(to.low, 0, n * sizeof(double));
  } else {
    const auto* values = static_cast<const float*>(from);
    size_t i = 0;
    LAYERNORM_ROLLED
    for (; i + 4 <= n; i += 4) {
      const simd::F32x4 v = simd::load(values + i);
      simd::store(to.high + i, simd::promote_low(v));
      simd::store(to.high + i + 2, simd::promote_high(v));
    }
    for (; i < n; ++i) to.high[i] = values[i];
  }
  if (n % 2 != 0) to.set(n, {0, 0});
}

void narrow(bool two, const WideBlock& from, void* to, size_t n) {
  if (two) {
    std::memcpy(to, from.high, n * sizeof(double));
    return;
  }
  auto* values = static_cast<float*>(to);
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + 4 <= n; i += 4) {
    simd::store(values + i, simd::demote(simd::load(from.high + i), simd::load(from.high + i + 2)));
  }
  for (; i < n; ++i) values[i] = static_cast<float>(from.high[i]);
}

}  // namespace layernorm
