// One kind of run behind one interface, so that the loops over a view are written, and compiled, once.
#ifndef LAYERNORM_KERNELS_RUNNER_H_
#define LAYERNORM_KERNELS_RUNNER_H_

#include "kernels/affine.h"
#include "kernels/rows.h"
#include "kernels/run_f32.h"
#include "kernels/run_f64.h"

namespace layernorm {

struct RunStatistics {
  double mean, variance, rstd;
};

/// Values are of the arithmetic type.
class Runner {
 public:
  /// Goes to the next run, or to another segment of it: where the parameters stand.
  virtual void move_to(const Offsets& offsets) = 0;
  virtual void begin() = 0;
  virtual void add(const void* x, size_t n) = 0;
  /// Whether the values are needed once more. When not, they can be written.
  virtual bool next_pass() = 0;
  /// n values from a position along the inner dimensions on.
  virtual void write(const void* x, void* y, size_t position, size_t n) = 0;
  /// Only goes to where the parameters stand, within runs of one weight bound.
  virtual void place(const Offsets& offsets) = 0;
  /// Whole contiguous runs; `steps` places the parameters of each, unless they share them.
  virtual void rows(const void* x, void* y, size_t rows, double* mean, double* rstd, RowSteps* steps) = 0;
  /// The largest weight that a run meets, as far as it counts. Goes nowhere but to that weight.
  virtual double weight_bound(const Offsets& offsets) = 0;
  /// Whether that is the same for every run.
  [[nodiscard]] virtual bool has_one_bound() const = 0;
  [[nodiscard]] virtual RunStatistics statistics() const = 0;

 protected:
  ~Runner() = default;
};

inline RunStatistics statistics_of(const NormalizerF32& normalizer) {
  return {normalizer.mean(), normalizer.variance, normalizer.rstd};
}
inline RunStatistics statistics_of(const NormalizerF64& normalizer) {
  return {normalizer.mean(), normalizer.variance / normalizer.scale / normalizer.scale, normalizer.rstd};
}

/// The given statistics of channels, by their offsets.
template <class T>
struct Given {
  ParameterBlocks<T> mean, var, weight;
  Operand weight_role;

  Given(const Call& call, const Affine<T>& affine, size_t first, size_t last)
      : mean(call, Operand::running_mean, 0, 0, first, last),
        var(call, Operand::running_var, 1, 0, first, last),
        weight(call, affine.given_weight() ? affine.weight_role() : Operand::x, 1,
               affine.weight_role() == Operand::scale ? 1 : call.weight_offset, first, last),
        weight_role(affine.weight_role()) {}

  void move_to(const Offsets& offsets) {
    mean.move_to(offsets.of(Operand::running_mean));
    var.move_to(offsets.of(Operand::running_var));
    weight.move_to(offsets.of(weight_role));
  }
};

/// Runs of one class; `first` is the first of the inner dimensions, along which a run's values are contiguous.
template <class Run>
class RunnerOf final : public Runner {
  using T = typename Run::Element;

 public:
  RunnerOf(const Call& call, size_t first, uint64_t run_size, bool contiguous)
      : scaling_{call.op, call.eps, static_cast<size_t>(run_size)},
        contiguous_(contiguous),
        affine_(call, first, call.rank),
        given_(call, affine_, call.rank, call.rank),
        inner_(inner_size(call, first)),
        weighed_(weighs(call, first)),
        run_(scaling_, 1, contiguous) {
    find_one_bound(call);
  }

  void place(const Offsets& offsets) override {
    affine_.move_to(offsets);
    if (is_given()) given_.move_to(offsets);
  }

  void move_to(const Offsets& offsets) override {
    place(offsets);
    weight_bound(offsets);
  }

  [[nodiscard]] bool has_one_bound() const override { return has_one_bound_; }

  double weight_bound(const Offsets& offsets) override {
    if (has_one_bound_) return weight_bound_;
    const uint64_t base = offsets.of(affine_.weight_role());
    if (base != weighed_at_) {
      weighed_at_ = base;
      affine_.weight.move_to(base);
      weight_bound_ = weigh();
    }
    return weight_bound_;
  }

  void begin() override {
    run_ = Run(scaling_, weight_bound_, contiguous_);
    if (is_given()) run_.give(given_.mean.value(), given_.var.value(), given_.weight.value());
  }

  void add(const void* x, size_t n) override {
    if (!is_given()) run_.add(static_cast<const T*>(x), n);
  }
  bool next_pass() override { return !is_given() && run_.next_pass(); }

  void write(const void* x, void* y, size_t position, size_t n) override {
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(y);
    if (!affine_.has_steps()) {
      run_.write(from, affine_.weight, affine_.bias, to, n, position);
    } else {
      const auto& normalizer = run_.normalizer();
      typename Affine<T>::Normalized normalized[kBlock];
      for (size_t i = 0; i < n; i += kBlock) {
        const size_t size = n - i < kBlock ? n - i : kBlock;
        normalizer.normalize(from + i, size, normalized);
        affine_.apply(normalized, position + i, size, to + i);
      }
    }
    affine_.activate(to, n);
  }

  void rows(const void* x, void* y, size_t rows, double* mean, double* rstd, RowSteps* steps) override {
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(y);
    const size_t n = scaling_.size;
    if (has_rows(scaling_.op) && !affine_.has_steps()) {
      affine_.expand(n, rows, steps != nullptr);
      const RowsJob<T> job = {scaling_, rows, from, to, affine_.weight, affine_.bias, weight_bound_, mean, rstd, steps};
      normalize_rows(job);
      affine_.activate(to, rows * n);
      return;
    }
    for (size_t row = 0; row < rows; ++row, from += n, to += n) {
      if (steps != nullptr) steps->move_to(row);
      begin();
      do {
        add(from, n);
      } while (next_pass());
      const RunStatistics found = statistics();
      if (mean != nullptr) mean[row] = found.mean;
      if (rstd != nullptr) rstd[row] = found.rstd;
      write(from, to, 0, n);
    }
  }

  [[nodiscard]] RunStatistics statistics() const override { return statistics_of(run_.normalizer()); }

 private:
  [[nodiscard]] bool is_given() const { return scaling_.op == Op::batch_norm; }

  static size_t inner_size(const Call& call, size_t first) {
    uint64_t size = 1;
    for (size_t d = first; d < call.rank; ++d) size *= call.dims[d].size;
    return static_cast<size_t>(size);
  }

  // Many short runs, each with weights of its own, would else take longer for this than for their arithmetic.
  void find_one_bound(const Call& call) {
    has_one_bound_ = true;
    if (is_given() || sizeof(T) != 4 || !is_centered(scaling_.op)) return;
    // Where the weight differs between the segments of a run it is not asked how large it is, nor where a scale beside a weight
    // and a bias multiplies what is left where these cancel.
    if (!weighed_ || affine_.has_steps()) {
      weight_bound_ = kLargeWeight;
    } else if (affine_.weight.is_below_2(call.parameter(affine_.weight_role()).size)) {
      weight_bound_ = 2;
    } else {
      has_one_bound_ = false;
    }
  }

  double weigh() { return layernorm::weigh(affine_.weight, {scaling_.op, 0, inner_}); }

  bool weighs(const Call& call, size_t first) const {
    for (size_t d = 0; d < first; ++d) {
      if (call.dims[d].reduced && call.strides[static_cast<size_t>(affine_.weight_role())][d] != 0) return false;
    }
    return true;
  }

  Scaling scaling_;
  bool contiguous_;
  Affine<T> affine_;
  Given<T> given_;
  size_t inner_;
  bool weighed_;
  uint64_t weighed_at_ = ~uint64_t{0};
  double weight_bound_ = 1;
  bool has_one_bound_;
  Run run_;
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_RUNNER_H_
