// The statistics of runs as their gradients need them.
#ifndef LAYERNORM_KERNELS_BACKWARD_STATISTICS_H_
#define LAYERNORM_KERNELS_BACKWARD_STATISTICS_H_

#include <cmath>
#include <new>

#include "kernels/kernels.h"
#include "kernels/scaling.h"

namespace layernorm {

/// What a run is normalized with: (x * scale - mean) * factor, the mean in two parts. Gradients are multiplied by rstd and then
/// by `back`: as one number it may be subnormal.
struct RunConstants {
  double scale = 1;
  TwoPart mean = {0, 0};
  TwoPart factor = {0, 0};  // 0 where rstd is infinite
  TwoPart rstd = {0, 0};
  double back = 1;
  bool floored = false;  // divided by eps, not by the norm
};

inline RunConstants constants_of(const NormalizerF32& normalizer, const Scaling& scaling) {
  const TwoPart factor = {normalizer.multiplier, 0};
  const bool floored = scaling.is_floored(normalizer.variance, 1);
  return {1, {normalizer.shift, normalizer.d}, factor, factor, 1, floored};
}

inline RunConstants constants_of(const NormalizerF64& normalizer, const Scaling& scaling) {
  const TwoPart factor = normalizer.multiplier;
  const bool floored = scaling.is_floored(normalizer.variance, normalizer.scale);
  RunConstants found = {normalizer.scale, normalizer.scaled_mean, factor, factor, normalizer.scale, floored};
  const TwoPart whole = {factor.high * found.scale, factor.low * found.scale};
  if (whole.high > 0x1p-900 && whole.high < 0x1p900) {
    found.rstd = whole;
    found.back = 1;
  }
  // Beside scaled values eps may have vanished.
  if (normalizer.variance == 0 && scaling.op != Op::l2_normalize) {
    found.rstd = {std::isinf(normalizer.rstd) ? 0 : normalizer.rstd, 0};
    found.back = 1;
  }
  return found;
}

/// What a sum of products of gradients and normalized values is multiplied with, for one to add.
inline double product_part(const Scaling& scaling, bool floored) {
  if (scaling.op == Op::l2_normalize) return floored ? 0.0 : -1.0;
  return -1 / static_cast<double>(scaling.size);
}

/// The statistics of some runs side by side.
class Statistics {
 public:
  virtual void begin(size_t runs, bool contiguous) = 0;
  /// A row of one run, or rows of columns of which `fold` in turn are of one.
  virtual void add(const std::byte* x, size_t stride, size_t rows, size_t columns, size_t fold) = 0;
  virtual bool next_pass() = 0;
  [[nodiscard]] virtual RunConstants constants(size_t run) const = 0;
  /// Of running statistics.
  [[nodiscard]] virtual RunConstants given(double mean, double variance) const = 0;

 protected:
  ~Statistics() = default;
};

template <class Run>
class StatisticsOf final : public Statistics {
  using T = typename Run::Element;

 public:
  explicit StatisticsOf(const Scaling& scaling) : scaling_(scaling) {}

  // As beside a large weight, so that the mean is as good as float64 has it: a value near it contributes little to the
  // gradient of the weight, but that has to be right.
  void begin(size_t runs, bool contiguous) override {
    count_ = runs;
    for (size_t r = 0; r < runs; ++r) {
      new (&this->runs()[r]) Run(scaling_, kLargeWeight, contiguous);
      done_[r] = false;
    }
  }

  void add(const std::byte* x, size_t stride, size_t rows, size_t columns, size_t fold) override {
    const T* values = reinterpret_cast<const T*>(x);
    if (fold == 0) {
      runs()[0].add(values, columns);
      return;
    }
    // Column by column, each gathered.
    T gathered[kBlock];
    for (size_t c = 0; c < columns; ++c) {
      if (done_[c / fold]) continue;
      for (size_t i = 0; i < rows; ++i) gathered[i] = values[i * stride + c];
      runs()[c / fold].add(gathered, rows);
    }
  }

  bool next_pass() override {
    bool more = false;
    for (size_t r = 0; r < count_; ++r) {
      done_[r] = done_[r] || !runs()[r].next_pass();
      more = more || !done_[r];
    }
    return more;
  }

  [[nodiscard]] RunConstants constants(size_t run) const override {
    const auto* runs = std::launder(reinterpret_cast<const Run*>(memory_));
    return constants_of(runs[run].normalizer(), scaling_);
  }

  [[nodiscard]] RunConstants given(double mean, double variance) const override {
    Run run(scaling_, 1, false);
    run.give(static_cast<T>(mean), static_cast<T>(variance), 1);
    return constants_of(run.normalizer(), scaling_);
  }

 private:
  Run* runs() { return std::launder(reinterpret_cast<Run*>(memory_)); }

  Scaling scaling_;
  size_t count_ = 0;
  bool done_[kBlock];
  alignas(Run) std::byte memory_[kBlock * sizeof(Run)];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_BACKWARD_STATISTICS_H_
