// Runs that lie side by side: statistics over the rows of a matrix, a run for each column or for each few columns in turn.
// Vectors go along the columns, so nothing is transposed.
#ifndef LAYERNORM_KERNELS_COLUMNS_H_
#define LAYERNORM_KERNELS_COLUMNS_H_

#include <algorithm>
#include <cmath>
#include <new>

#include "kernels/runner.h"

namespace layernorm {

/// Columns of one panel. Values are of the arithmetic type; strides are in elements.
class Columns {
 public:
  /// Starts with columns [first, first + count) of the inner dimensions.
  virtual void begin(const Offsets& offsets, size_t first, size_t count) = 0;
  virtual void add(const void* x, size_t stride, size_t rows) = 0;
  virtual bool next_pass() = 0;
  /// Writes a row; the offsets are its own.
  virtual void write(const void* x, void* y, const Offsets& offsets) = 0;
  /// Of the run that begins with a column of the panel.
  [[nodiscard]] virtual RunStatistics statistics(size_t column) const = 0;
  /// Columns that a panel holds at most.
  [[nodiscard]] virtual size_t capacity() const = 0;

 protected:
  ~Columns() = default;
};

/// What both kinds share: the parameters, and where the panel stands.
template <class T>
class Panel : public Columns {
 public:
  using Element = T;

 protected:
  Panel(const Call& call, size_t first, size_t rows, size_t fold)
      : scaling_{call.op, call.eps, rows * fold},
        fold_(fold),
        affine_(call, first, call.rank),
        given_(call, affine_, first, call.rank) {}

  void place(const Offsets& offsets, size_t first, size_t count) {
    first_ = first;
    count_ = count;
    if (scaling_.op == Op::batch_norm) given_.move_to(offsets);
  }

  // Gives each column of a batch_norm its statistics: set(column, mean, var, weight).
  template <class Set>
  void give(const Set& set) {
    for (size_t i = 0; i < count_; i += kBlock) {
      const size_t n = std::min(kBlock, count_ - i);
      const T* mean = given_.mean.at(first_ + i, n);
      const T* var = given_.var.at(first_ + i, n);
      const T* weight = given_.weight.at(first_ + i, n);
      for (size_t c = 0; c < n; ++c) set(i + c, mean[c], var[c], weight[c]);
    }
  }

  Scaling scaling_;
  size_t fold_;
  Affine<T> affine_;
  Given<T> given_;
  size_t first_ = 0;
  size_t count_ = 0;
};

/// Float64 columns: each is gathered, block by block.
class ColumnsF64 final : public Panel<double> {
  static constexpr size_t kCapacity = 64;

 public:
  ColumnsF64(const Call& call, size_t first, size_t rows, size_t fold) : Panel(call, first, rows, fold) {}

  void begin(const Offsets& offsets, size_t first, size_t count) override {
    place(offsets, first, count);
    for (size_t c = 0; c < count; ++c) new (&runs()[c]) RunF64(scaling_);
    if (scaling_.op != Op::batch_norm) return;
    give([&](size_t c, double mean, double var, double weight) { runs()[c].give(mean, var, weight); });
  }

  void add(const void* x, size_t stride, size_t rows) override {
    if (scaling_.op == Op::batch_norm) return;
    const double* from = static_cast<const double*>(x);
    double block[kBlock];
    for (size_t row = 0; row < rows; row += kBlock) {
      const size_t n = std::min(kBlock, rows - row);
      for (size_t c = 0; c < count_; ++c) {
        const double* column = from + row * stride + c;
        for (size_t i = 0; i < n; ++i) block[i] = column[i * stride];
        runs()[c - c % fold_].add(block, n);
      }
    }
  }

  bool next_pass() override {
    if (scaling_.op == Op::batch_norm) return false;
    bool more = false;
    // Each run by itself: one that is done does not change by more values.
    for (size_t c = 0; c < count_; c += fold_) more = runs()[c].next_pass() || more;
    return more;
  }

  void write(const void* x, void* y, const Offsets& offsets) override {
    affine_.move_to(offsets);
    const double* from = static_cast<const double*>(x);
    double* to = static_cast<double*>(y);
    if (affine_.has_steps()) {
      TwoPart normalized[kBlock];
      for (size_t c = 0; c < count_; ++c) normalized[c] = of(c).normalize(from[c]);
      affine_.apply(normalized, first_, count_, to);
    } else {
      const double* w = affine_.weight.at(first_, count_);
      const double* b = affine_.bias.at(first_, count_);
      for (size_t c = 0; c < count_; ++c) to[c] = of(c).normalize_once(from[c]) * w[c] + b[c];
    }
    affine_.activate(to, count_);
  }

  [[nodiscard]] RunStatistics statistics(size_t column) const override {
    return statistics_of(runs()[column].normalizer());
  }
  [[nodiscard]] size_t capacity() const override { return kCapacity; }

 private:
  // What normalizes a column.
  [[nodiscard]] const NormalizerF64& of(size_t column) const { return runs()[column - column % fold_].normalizer(); }

  RunF64* runs() { return std::launder(reinterpret_cast<RunF64*>(memory_)); }
  [[nodiscard]] const RunF64* runs() const { return std::launder(reinterpret_cast<const RunF64*>(memory_)); }

  static_assert(kCapacity <= kBlock);
  alignas(RunF64) std::byte memory_[kCapacity * sizeof(RunF64)];
};

/// Float32 columns, sums in float64 about the first value of each run, and about its mean where that does not do.
class ColumnsF32 final : public Panel<float> {
  static constexpr size_t kCapacity = 512;
  static constexpr size_t kRows = 8;  // rows at a time: their cache lines stay near while sums go from column to column

 public:
  ColumnsF32(const Call& call, size_t first, size_t rows, size_t fold)
      : Panel(call, first, rows, fold), centered_(is_centered(call.op)), weight_bound_(weigh(call)) {}

  void begin(const Offsets& offsets, size_t first, size_t count) override {
    place(offsets, first, count);
    started_ = false;
    again_ = false;
    const size_t padded = (count + 3) / 4 * 4;
    for (size_t c = 0; c < padded; ++c) {
      shift_[c] = 0;
      d_[c] = square_[c] = 0;
    }
    if (scaling_.op == Op::batch_norm) {
      wide_ = false;
      give([&](size_t c, float mean, float var, float weight) {
        RunF32 run(scaling_, 1, false);
        run.give(mean, var, weight);
        set_column(c, 1, run.normalizer());
      });
    }
  }

  void add(const void* x, size_t stride, size_t rows) override {
    if (scaling_.op == Op::batch_norm) return;
    const float* from = static_cast<const float*>(x);
    if (!started_) {
      started_ = true;
      if (centered_) {
        for (size_t c = 0; c < count_; ++c) shift_[c] = from[c - c % fold_];
      }
    }
    for (size_t row = 0; row < rows; row += kRows, from += kRows * stride) {
      add_rows(from, stride, std::min(kRows, rows - row));
    }
  }

  bool next_pass() override {
    if (scaling_.op == Op::batch_norm) return false;
    bool more = false;
    wide_ = false;
    if (is_norm(scaling_.op)) {
      set_norms();
      return false;
    }
    const auto size = static_cast<double>(scaling_.size);
    for (size_t c = 0; c < count_; c += fold_) {
      double d = 0;
      double square = 0;
      for (size_t i = c; i < c + fold_; ++i) {
        d += d_[i];
        square += square_[i];
      }
      d = centered_ ? d / size : 0;
      square /= size;
      const double variance = square - d * d;
      const double mean = shift_[c] + d;
      const auto mean_f32 = static_cast<float>(mean);
      // As in RunF32, but that a second shift is the last.
      if (!again_ && !(d * d <= variance * 0x1p10)) {
        more = true;
        next_shift_[c] = std::isfinite(mean_f32) ? mean_f32 : shift_[c];
        continue;
      }
      next_shift_[c] = shift_[c];
      NormalizerF32 normalizer;
      const bool narrow = variance + scaling_.eps_inside() >= 0x1p-100 && square < 0x1p126;
      normalizer.set(shift_[c], d, variance, scaling_, weight_bound_, false);
      normalizer.wide = normalizer.wide || !narrow;
      set_column(c, fold_, normalizer);
    }
    if (!more) return false;
    again_ = true;
    for (size_t c = 0; c < count_; ++c) {
      shift_[c] = next_shift_[c - c % fold_];
      d_[c] = square_[c] = 0;
    }
    return true;
  }

  void write(const void* x, void* y, const Offsets& offsets) override {
    affine_.move_to(offsets);
    const float* from = static_cast<const float*>(x);
    float* to = static_cast<float*>(y);
    for (size_t i = 0; i < count_; i += kBlock) {
      const size_t n = std::min(kBlock, count_ - i);
      write_block(from + i, to + i, i, n);
    }
    affine_.activate(to, count_);
  }

  [[nodiscard]] RunStatistics statistics(size_t column) const override {
    const size_t c = column;
    return {shift_[c] + mean_rest_[c], variance_[c], rstd_[c]};
  }
  [[nodiscard]] size_t capacity() const override { return kCapacity; }

 private:
  double weigh(const Call& call) {
    if (!centered_ || call.op == Op::batch_norm) return 1;
    // Over all of it, where all of it is seen by every run or is no larger than a run.
    const Parameter& weight = call.parameter(affine_.weight_role());
    if (weight.kind != Parameter::Kind::vector) return affine_.weight.bound(1);
    if (affine_.weight_role() != Operand::weight || weight.size > kLongestWeighedRun) return kLargeWeight;
    double largest = 2;
    double room[kBlock];
    for (size_t i = 0; i < weight.size; i += kBlock) {
      const size_t n = std::min(kBlock, weight.size - i);
      const void* block = room;
      if (call.is_remote(Operand::weight)) {
        call.transfer->read(Operand::weight, i, n, room);
      } else {
        block = static_cast<const std::byte*>(weight.data) + i * element_size(weight.dtype);
      }
      for (size_t k = 0; k < n; ++k) {
        const double magnitude = std::fabs(element(weight.dtype, block, k) + call.weight_offset);
        if (!(magnitude <= largest)) largest = magnitude;
      }
    }
    return largest;
  }

  void add_rows(const float* x, size_t stride, size_t rows);

  // As SumsF32::add_magnitudes.
  void add_magnitudes(const float* x, size_t stride, size_t rows);

  void set_norms() {
    const bool largest = scaling_.op == Op::max_normalize;
    for (size_t c = 0; c < count_; c += fold_) {
      double norm = 0;
      double spoiled = 0;
      for (size_t i = c; i < c + fold_; ++i) {
        spoiled += d_[i];
        norm = largest ? std::max(norm, square_[i]) : norm + square_[i];
      }
      NormalizerF32 normalizer;
      normalizer.set_factor(scaling_.floored(norm + spoiled, 1), 1, true);
      set_column(c, fold_, normalizer);
    }
  }

  template <size_t kVectors, bool kPartial>
  void add_columns(const float* x, size_t stride, size_t rows, size_t c, size_t n);

  void set_column(size_t first, size_t n, const NormalizerF32& normalizer) {
    wide_ = wide_ || normalizer.wide;
    for (size_t c = first; c < first + n; ++c) {
      mean_[c] = normalizer.mean_f32;
      factor_[c] = normalizer.multiplier_f32;
      correction_[c] = normalizer.correction;
      is_wide_[c] = normalizer.wide;
      shift_[c] = normalizer.shift;
      mean_rest_[c] = normalizer.d;
      multiplier_[c] = normalizer.multiplier;
      variance_[c] = normalizer.variance;
      rstd_[c] = normalizer.rstd;
    }
  }

  void write_block(const float* x, float* y, size_t first, size_t n);

  [[nodiscard]] double normalize_wide(float x, size_t c) const {
    return ((static_cast<double>(x) - shift_[c]) - mean_rest_[c]) * multiplier_[c];
  }

  [[nodiscard]] float write_one(float x, float w, float b, size_t c) const {
    return ((x - mean_[c]) * factor_[c] + correction_[c]) * w + b;
  }

  // Of others the mean is taken to be 0, which changes no bits.
  bool centered_;
  bool started_ = false;
  bool again_ = false;
  bool wide_ = false;  // whether any column is
  double weight_bound_;
  // Of each column; sums are padded to whole vectors.
  float shift_[kCapacity], next_shift_[kCapacity];
  double d_[kCapacity], square_[kCapacity];
  float mean_[kCapacity], factor_[kCapacity], correction_[kCapacity];
  bool is_wide_[kCapacity];
  double mean_rest_[kCapacity], multiplier_[kCapacity], variance_[kCapacity], rstd_[kCapacity];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_COLUMNS_H_
