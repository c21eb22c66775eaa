// Reference results in long double, and the bound that results are held to.
#ifndef LAYERNORM_TESTS_CPP_REFERENCE_H_
#define LAYERNORM_TESTS_CPP_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "layernorm/layernorm.h"

namespace layernorm::test {

/// xorshift32 (Marsaglia 2003): the same numbers on every platform.
class Generator {
 public:
  explicit Generator(uint32_t seed) : state_(seed) {}

  uint32_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }

  /// Uniform in [-1, 1), in steps of 2^-23.
  double uniform() { return static_cast<double>(static_cast<int32_t>(bits()) >> 8) * 0x1p-23; }

 private:
  uint32_t state_;
};

template <class T>
std::vector<T> uniform_values(uint32_t seed, size_t n, double mean = 0, double deviation = 1) {
  Generator generator(seed);
  std::vector<T> values(n);
  for (T& value : values) value = static_cast<T>(mean + deviation * generator.uniform());
  return values;
}

/// The mean is shift + rest: as one long double it would lose the last bits of a large one.
struct Statistics {
  long double shift, rest, rstd;

  [[nodiscard]] long double mean() const { return shift + rest; }
  [[nodiscard]] long double deviation(long double x) const { return (x - shift) - rest; }
};

template <class T>
Statistics statistics(Op op, std::span<const T> row, double eps) {
  const auto n = static_cast<long double>(row.size());
  Statistics of = {0, 0, 0};
  if (op == Op::layer_norm) {
    of.shift = row[0];
    long double sum = 0;
    for (const T x : row) sum += x - of.shift;
    of.rest = sum / n;
  }
  long double square = 0;
  for (const T x : row) square += of.deviation(x) * of.deviation(x);
  of.rstd = 1 / std::sqrt(square / n + eps);
  return of;
}

inline long double element_of(const Parameter& parameter, size_t i, long double absent) {
  switch (parameter.kind) {
    case Parameter::Kind::none:
      return absent;
    case Parameter::Kind::number:
      return parameter.number;
    case Parameter::Kind::vector:
      return parameter.dtype == DType::float32 ? static_cast<const float*>(parameter.data)[i]
                                               : static_cast<const double*>(parameter.data)[i];
  }
  return absent;
}

/// The largest error of y in units of eps * M, which must not exceed 3: M is the largest magnitude among 1, the exact
/// result, weight * normalized and bias.
template <class T>
long double largest_error(Op op, std::span<const T> x, size_t features, const Options& options, std::span<const T> y) {
  constexpr bool kIsFloat = std::numeric_limits<T>::digits == 24;
  const long double eps = std::numeric_limits<T>::epsilon();
  const auto rounded = [](long double v) { return kIsFloat ? static_cast<long double>(static_cast<float>(v)) : v; };
  long double largest = 0;
  for (size_t row = 0; row < x.size() / features; ++row) {
    const std::span<const T> run = x.subspan(row * features, features);
    const Statistics of = statistics(op, run, options.eps);
    for (size_t i = 0; i < features; ++i) {
      const bool has_weight = options.weight.kind != Parameter::Kind::none;
      const long double w =
          rounded(element_of(options.weight, i, 1)) + (has_weight ? rounded(options.weight_offset) : 0);
      const long double b = rounded(element_of(options.bias, i, 0));
      const long double deviation = of.deviation(run[i]);
      const long double scaled = deviation == 0 ? 0 : deviation * of.rstd * w;
      const long double exact = scaled + b;
      const long double m = std::max({1.0L, std::fabs(exact), std::fabs(scaled), std::fabs(b)});
      const long double error = std::fabs(y[row * features + i] - exact) / (eps * m);
      if (!(error <= largest)) largest = std::isnan(error) ? std::numeric_limits<long double>::infinity() : error;
    }
  }
  return largest;
}

/// FNV-1a over bytes, 64 bits.
inline uint64_t hash_bytes(const void* data, size_t size, uint64_t hash = 0xcbf29ce484222325U) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3U;
  return hash;
}

}  // namespace layernorm::test

#endif  // LAYERNORM_TESTS_CPP_REFERENCE_H_
