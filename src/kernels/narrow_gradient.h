// The gradients of runs in float32, where that does: what most runs of float32 and of 16-bit types need.
#ifndef LAYERNORM_KERNELS_NARROW_GRADIENT_H_
#define LAYERNORM_KERNELS_NARROW_GRADIENT_H_

#include "kernels/backward_statistics.h"
#include "kernels/gradient.h"
#include "kernels/layout.h"
#include "kernels/narrow.h"

namespace layernorm {

/// Of a run that is added and written piece by piece, or of rows that share their parameters, two of which are written at a time.
class NarrowGradient {
 public:
  /// Elements of a row.
  static constexpr size_t kMost = NarrowScratch::kMost;
  /// Rows whose contributions to the gradients of parameters are summed in float32.
  static constexpr size_t kRows = 8;

  /// Whether runs of a call may be done so, those of a sum aside.
  static bool may_do(const Call& call, const Layout& layout);

  NarrowGradient(const Call& call, const Layout& layout, const Scaling& scaling, Gradients& gradients);

  /// Whether elements of x in turn have sums in turn.
  [[nodiscard]] bool has_contiguous_sums() const {
    return gradients_.of(weight_role_).is_contiguous() && gradients_.of(bias_role_).is_contiguous();
  }
  /// Whether elements in turn have one weight and one bias.
  [[nodiscard]] bool is_equal() const { return is_equal_; }

  /// A run, by its mean in two parts. Whether it can be done at all.
  [[nodiscard]] bool begin(TwoPart mean, double rstd, double part_of_product);
  void move_to(const Offsets& offsets);
  /// Whether gradients have to go back through an activation before they are added and written, and the way there.
  [[nodiscard]] bool has_activation() const { return activation_ != Activation::none; }
  void step_back(const float* x, const float* grad, size_t position, size_t n, float* to);
  /// Adds to its sums; where weights are equal, to the gradients of weight and bias as well.
  void add(const float* x, const float* grad, size_t position, size_t n);
  /// Whether the sums have to be better: they are then taken anew.
  [[nodiscard]] bool wants_precise();
  void begin_precise();
  void add_precise(const float* x, const float* grad, size_t position, size_t n);
  /// Whether float32 does. If not, whether the gradients of weight and bias have it already.
  [[nodiscard]] bool end();
  [[nodiscard]] bool has_affine() const { return has_affine_; }
  /// y may be grad.
  void write(const float* x, const float* grad, size_t position, size_t n, float* y);

  /// Takes the run, which was added at once, as a row.
  void add_row(const float* grad, float* y) {
    rows_[waiting_++] = {run_, grad, y};
    run_ = runs_ + waiting_ % 2;
  }
  /// How many rows wait to be written: at most two.
  [[nodiscard]] size_t waiting() const { return waiting_; }
  /// Room where the values of the row after those may be brought to, or anything where none wait.
  [[nodiscard]] float* room(size_t row) { return scratch_.normalized[row]; }
  void write_rows(size_t n);
  /// The sums over rows of so many elements.
  void begin_rows(size_t n);
  /// Adds what the rows have contributed, unless that has overflown.
  [[nodiscard]] bool end_rows(size_t n);
  /// The same in two steps: their contributions in memory, of which `log_size` says how much, to be added by `add_logged`.
  [[nodiscard]] static constexpr size_t log_size(size_t n) { return 2 * n * sizeof(float); }
  [[nodiscard]] bool log_rows(size_t n, std::byte* log) const;
  /// Of several, so many bytes from one to the next.
  void add_logged(size_t count, size_t n, const std::byte* log, size_t stride);

 private:
  void hold(size_t position, size_t n);
  void add_affine(const float* grad, size_t position, size_t n);
  [[nodiscard]] size_t together(size_t position, size_t n) const;
  void add_equal(const float* x, const float* grad, size_t position, size_t n);

  NarrowScratch scratch_;
  NarrowSums sums_;
  PreciseSums precise_;  // beside those: of equal weights, or all
  double product_part_ = 0;
  NarrowRun runs_[2];
  NarrowRun none_;
  uint64_t base_ = ~uint64_t{0};  // of the weights

  const Layout& layout_;
  const Scaling& scaling_;
  Gradients& gradients_;
  Activation activation_;
  Operand weight_role_, bias_role_;
  size_t repeats_[2];  // positions in turn that have one weight, and one bias
  ParameterBlocks<float> weight_;
  ParameterBlocks<float> bias_;          // before an activation
  size_t held_position_ = 0, held_ = 0;  // of the weights in the scratch
  size_t cleared_ = 0;
  NarrowRun* run_ = runs_;
  NarrowRow rows_[2];
  size_t waiting_ = 0;
  float weights_bound_ = 0;
  bool is_equal_;
  bool is_moderate_ = false;
  bool has_affine_ = false;
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_NARROW_GRADIENT_H_
