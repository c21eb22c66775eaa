// Runs that lie side by side: statistics over the rows of a matrix, a run for each column or for each few columns in turn.
// Vectors go along the columns, so nothing is transposed.
#ifndef LAYERNORM_KERNELS_COLUMNS_H_
#define LAYERNORM_KERNELS_COLUMNS_H_

#include <algorithm>
#include <cmath>
#include <new>

#include "kernels/runner.h"

namespace layernorm {

/// Where the parameters of a panel's rows stand.
class RowOffsets {
 public:
  RowOffsets(const Axes& rows, const Offsets& panel) : rows_(rows), panel_(panel), row_(panel) {}

  const Offsets& at(uint64_t row) {
    rows_.move(row_, row, panel_);
    return row_;
  }

 private:
  const Axes& rows_;
  const Offsets& panel_;
  Offsets row_;
};

/// Columns of one panel. Values are of the arithmetic type; strides are in elements.
class Columns {
 public:
  /// Starts with columns [first, first + count) of the inner dimensions.
  virtual void begin(const Offsets& offsets, size_t first, size_t count) = 0;
  virtual void add(const void* x, size_t stride, size_t rows) = 0;
  virtual bool next_pass() = 0;
  /// Rows that `write` takes at a time where they follow each other.
  [[nodiscard]] virtual size_t rows_at_once() const { return 1; }
  /// Writes rows [row, row + rows).
  virtual void write(const void* x, void* y, RowOffsets& offsets, uint64_t row, size_t rows) = 0;
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

  void write(const void* x, void* y, RowOffsets& offsets, uint64_t row, size_t /*rows*/) override {
    affine_.move_to(offsets.at(row));
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

/// Rows that are added at a time: their cache lines stay near while sums go from column to column, and float32 sums are added
/// up in float64 after them.
inline constexpr size_t kColumnRows = 8;
/// Shorter runs in columns take float64 sums: half an ulp, and little slower.
inline constexpr size_t kShortColumn = 64;

/// Float32 columns. As for rows, sums of a few values are taken in float32 about 0 and added up in float64, and what they give
/// is verified; runs that fail, and all beside large weights, take sums in float64 about their mean, or their first value.
class ColumnsF32 final : public Panel<float> {
  static constexpr size_t kCapacity = 512;
  static constexpr size_t kTogether = 8;           // columns whose sums are in registers
  static constexpr uint64_t kMostWeighed = 65536;  // elements of a weight, one by one
  // Elements of short rows that are written at a time: to begin to write takes as long as half as many.
  static constexpr size_t kAtOnce = 128;

 public:
  ColumnsF32(const Call& call, size_t first, size_t rows, size_t fold)
      : Panel(call, first, rows, fold),
        centered_(is_centered(call.op)),
        shared_bound_(weigh(call, first)),
        narrow_(scaling_.size >= kShortColumn && shared_bound_ <= 2 && !is_norm(call.op)),
        same_rows_(!affine_.has_steps() && is_same(call, affine_.weight_role(), first) &&
                   is_same(call, affine_.bias_role(), first)),
        uniform_rows_(!affine_.has_steps() && affine_.weight.has_one() && affine_.bias.has_one()) {}

  void begin(const Offsets& offsets, size_t first, size_t count) override {
    place(offsets, first, count);
    weigh_columns(offsets);
    started_ = false;
    repeated_ = false;
    pass_ = narrow_ ? Pass::kNarrow : Pass::kWide;
    wide_ = false;
    for (size_t c = 0; c < (count + kTogether - 1) / kTogether * kTogether; ++c) {
      done_[c] = false;
      sum_shift_[c] = 0;
      d_[c] = square_[c] = 0;
    }
    if (scaling_.op == Op::batch_norm) {
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
      for (size_t c = 0; c < count_; ++c) first_value_[c] = from[c - c % fold_];
      if (centered_ && pass_ == Pass::kWide) std::copy_n(first_value_, count_, sum_shift_);
    }
    for (size_t row = 0; row < rows; row += kColumnRows, from += kColumnRows * stride) {
      add_rows(from, stride, std::min(kColumnRows, rows - row));
    }
  }

  bool next_pass() override {
    if (scaling_.op == Op::batch_norm) return false;
    if (is_norm(scaling_.op)) {
      set_norms();
      return false;
    }
    bool more = false;
    for (size_t c = 0; c < count_; c += fold_) {
      if (!done_[c]) more = !take(c) || more;
    }
    pass_ = pass_ == Pass::kNarrow ? Pass::kWide : Pass::kWideAgain;
    return more;
  }

  [[nodiscard]] size_t rows_at_once() const override {
    return (same_rows_ || uniform_rows_) && !wide_ ? std::max<size_t>(1, kAtOnce / count_) : 1;
  }

  void write(const void* x, void* y, RowOffsets& offsets, uint64_t row, size_t rows) override {
    const float* from = static_cast<const float*>(x);
    float* to = static_cast<float*>(y);
    if (rows > 1) {
      set_rows(offsets, row, rows);
      write_plain(from, to, 0, rows * count_, weights_, biases_);
    } else if (uniform_rows_ && !wide_) {
      const Offsets& there = offsets.at(row);
      write_uniform(from, affine_.weight_at(there), affine_.bias_at(there), to);
    } else {
      affine_.move_to(offsets.at(row));
      for (size_t i = 0; i < count_; i += kBlock) write_block(from + i, to + i, i, std::min(kBlock, count_ - i));
    }
    affine_.activate(to, rows * count_);
  }

  [[nodiscard]] RunStatistics statistics(size_t column) const override {
    const size_t c = column;
    return {shift_[c] + mean_rest_[c], variance_[c], rstd_[c]};
  }
  [[nodiscard]] size_t capacity() const override { return kCapacity; }

 private:
  // The bound on the weights that all runs share, or 0 where each has its own. Bits of a run may depend on its own only.
  double weigh(const Call& call, size_t first) {
    if (!centered_ || call.op == Op::batch_norm) return 1;
    const Operand role = affine_.weight_role();
    const Parameter& weight = call.parameter(role);
    if (weight.kind != Parameter::Kind::vector) return affine_.weight.bound(1);
    if (role != Operand::weight) return kLargeWeight;
    bool differs_by_row = false;
    bool differs_by_run = false;
    for (size_t d = 0; d < call.rank; ++d) {
      if (call.strides[static_cast<size_t>(role)][d] == 0) continue;
      (d < first && call.dims[d].reduced ? differs_by_row : differs_by_run) = true;
    }
    if (!differs_by_row) return 0;
    if (differs_by_run || weight.size > kMostWeighed) return kLargeWeight;
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

  // Whether a parameter is the same for all rows of a panel.
  static bool is_same(const Call& call, Operand role, size_t first) {
    for (size_t d = 0; d < first; ++d) {
      if (call.dims[d].reduced && call.strides[static_cast<size_t>(role)][d] != 0) return false;
    }
    return true;
  }

  // Sets the bound of each run of the panel.
  void weigh_columns(const Offsets& offsets) {
    std::fill_n(weight_bound_, count_, static_cast<float>(shared_bound_));
    if (shared_bound_ != 0) return;
    affine_.move_to(offsets);
    for (size_t i = 0; i < count_; i += kBlock) {
      const size_t n = std::min(kBlock, count_ - i);
      const float* weight = affine_.weight.at(first_ + i, n);
      for (size_t k = i; k < i + n; ++k) {
        float& bound = weight_bound_[k - k % fold_];
        const float magnitude = std::fabs(weight[k - i]);
        if (k % fold_ == 0) bound = 2;
        if (!(magnitude <= bound)) bound = magnitude;
      }
    }
  }

  enum class Pass : uint8_t { kNarrow, kWide, kWideAgain };

  // Sets a run's normalizer by the sums of its columns, or, where these do not do, the shift of the next ones. As RunF32, but
  // that a second wide shift is the last.
  bool take(size_t first);

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

  void add_wide(const float* x, size_t stride, size_t rows, size_t c);
  void add_narrow(const float* x, size_t stride, size_t rows, size_t c);

  void set_column(size_t first, size_t n, const NormalizerF32& normalizer) {
    wide_ = wide_ || normalizer.wide;
    for (size_t c = first; c < first + n; ++c) {
      done_[c] = true;
      of_column_[c] = normalizer.mean_f32;
      of_column_[c + kCapacity] = normalizer.multiplier_f32;
      of_column_[c + 2 * kCapacity] = normalizer.correction;
      is_wide_[c] = normalizer.wide;
      shift_[c] = normalizer.shift;
      mean_rest_[c] = normalizer.d;
      multiplier_[c] = normalizer.multiplier;
      variance_[c] = normalizer.variance;
      rstd_[c] = normalizer.rstd;
    }
  }

  // Makes what so many rows from one on are written with, side by side.
  void set_rows(RowOffsets& offsets, uint64_t row, size_t rows);
  void write_block(const float* x, float* y, size_t first, size_t n);
  void write_plain(const float* x, float* y, size_t first, size_t n, const float* w, const float* b);
  void write_uniform(const float* x, float w, float b, float* y);

  [[nodiscard]] double normalize_wide(float x, size_t c) const {
    return ((static_cast<double>(x) - shift_[c]) - mean_rest_[c]) * multiplier_[c];
  }

  [[nodiscard]] float write_one(float x, float w, float b, size_t c) const {
    return ((x - of_column_[c]) * of_column_[c + kCapacity] + of_column_[c + 2 * kCapacity]) * w + b;
  }

  // Of others the mean is taken to be 0, which changes no bits.
  bool centered_;
  double shared_bound_;
  bool narrow_;  // whether float32 sums are tried first
  // Whether all rows are written with the same parameters, or each with one weight and one bias.
  bool same_rows_, uniform_rows_;
  bool repeated_ = false;  // what rows have side by side
  float weights_[kAtOnce], biases_[kAtOnce];
  Pass pass_ = Pass::kWide;
  bool started_ = false;
  bool wide_ = false;  // whether any column is
  // Of each column; sums are padded to kTogether columns.
  float weight_bound_[kCapacity];  // of the first column of a run
  float sum_shift_[kCapacity], first_value_[kCapacity];
  double d_[kCapacity], square_[kCapacity];
  bool done_[kCapacity];
  float shift_[kCapacity];
  float of_column_[3 * kCapacity];
  bool is_wide_[kCapacity];
  double mean_rest_[kCapacity], multiplier_[kCapacity], variance_[kCapacity], rstd_[kCapacity];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_COLUMNS_H_
