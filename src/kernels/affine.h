// What follows the normalization of a value: weight and bias, scale and shift, an activation.
#ifndef LAYERNORM_KERNELS_AFFINE_H_
#define LAYERNORM_KERNELS_AFFINE_H_

#include <cmath>
#include <type_traits>

#include "kernels/activation.h"
#include "kernels/offsets.h"
#include "kernels/parameter_blocks.h"
#include "kernels/roles.h"
#include "kernels/run_f64.h"
#include "kernels/scaling.h"

namespace layernorm {

/// y = (normalized * w + b) * (1 + scale) + shift in float64, rounded once.
void finish_all(const double* normalized, const float* w, const float* b, const float* scale, const float* shift,
                size_t n, float* y);

/// The parameters along the inner dimensions of a view.
template <class T>
class Affine {
 public:
  Affine(const Call& call, size_t first, size_t last)
      : call_(call),
        rounded_(call.round_normalized && is_16_bit(call.dtype)),
        steps_(rounded_ || (is_conditional(call) && !folds(call))),
        weight_role_(layernorm::weight_role(call)),
        bias_role_(layernorm::bias_role(call)),
        weight(call, given_weight() ? Operand::x : weight_role_, 1, weight_offset(call), first, last),
        bias(call, bias_role_, T(-0.0), 0, first, last),
        scale_(call, steps_ && !folds(call) ? Operand::scale : Operand::x, 0, 0, first, last),
        shift_(call, steps_ && !folds(call) ? Operand::shift : Operand::x, T(-0.0), 0, first, last) {}

  void move_to(const Offsets& offsets) {
    weight.move_to(offsets.of(weight_role_));
    bias.move_to(offsets.of(bias_role_));
    scale_.move_to(offsets.of(Operand::scale));
    shift_.move_to(offsets.of(Operand::shift));
  }

  /// Where each has one element for all positions.
  [[nodiscard]] T weight_at(const Offsets& offsets) const { return weight.one(offsets.of(weight_role_)); }
  [[nodiscard]] T bias_at(const Offsets& offsets) const { return bias.one(offsets.of(bias_role_)); }

  /// Whether more is to do than `normalized * weight + bias`, which the kernels do by themselves.
  [[nodiscard]] bool has_steps() const { return steps_; }

  /// Whether the weight, the same for all values of a run, is part of what a run is multiplied by: batch_norm, whose
  /// statistics are given.
  [[nodiscard]] bool given_weight() const {
    if (call_.op != Op::batch_norm || steps_) return false;
    for (size_t d = 0; d < call_.rank; ++d) {
      if (call_.dims[d].reduced && call_.strides[static_cast<size_t>(weight_role_)][d] != 0) return false;
    }
    return true;
  }

  [[nodiscard]] Operand weight_role() const { return weight_role_; }
  [[nodiscard]] Operand bias_role() const { return bias_role_; }

  /// Before a job of several rows of n values: converts weight and bias once rather than for every row.
  void expand(size_t n, size_t rows, bool in_steps) {
    if (in_steps || rows < 2 || n > kExpanded) return;
    weight.expand(n, expanded_[0]);
    bias.expand(n, expanded_[1]);
  }

  /// A normalized value in more than T's precision, so that nothing is lost where a step cancels what the one before has
  /// rounded.
  using Normalized = std::conditional_t<sizeof(T) == 4, double, TwoPart>;

  /// n <= kBlock normalized values at a position of the parameters to results, but for the activation.
  void apply(Normalized* normalized, size_t position, size_t n, T* y) {
    if (rounded_) round(normalized, n);
    const T* w = weight.at(position, n);
    const T* b = bias.at(position, n);
    const T* scale = scale_.at(position, n);
    const T* shift = shift_.at(position, n);
    if constexpr (sizeof(T) == 4) {
      finish_all(normalized, w, b, scale, shift, n, y);
    } else {
      for (size_t i = 0; i < n; ++i) y[i] = finish(normalized[i], w[i], b[i], scale[i], shift[i]);
    }
  }

  void activate(T* y, size_t n) const {
    if (call_.activation != Activation::none) layernorm::activate(call_.activation, y, n);
  }

 private:
  static double finish(TwoPart v, double w, double b, double scale, double shift) {
    const TwoPart product = exact_product(v.high, w);
    const double sum = product.high + b;
    const double added = sum - product.high;
    const double rest = (product.high - (sum - added)) + (b - added) + (product.low + v.low * w);
    // Infinite sums have no rest.
    const double factor = 1 + scale;
    return sum * factor + (shift + (std::isfinite(sum) ? rest * factor : 0));
  }

  void round(double* values, size_t n) const {
    float wide[kBlock];
    uint16_t stored[kBlock];
    for (size_t i = 0; i < n; ++i) wide[i] = static_cast<float>(values[i]);
    from_float32(call_.dtype, wide, stored, n);
    to_float32(call_.dtype, stored, wide, n);
    for (size_t i = 0; i < n; ++i) values[i] = wide[i];
  }
  static void round(TwoPart* /*values*/, size_t /*n*/) {}  // float64 is none of the types that are rounded to

  const Call& call_;
  bool rounded_;
  bool steps_;
  Operand weight_role_;
  Operand bias_role_;

 public:
  ParameterBlocks<T> weight, bias;

 private:
  ParameterBlocks<T> scale_, shift_;
  static constexpr size_t kExpanded = 16384 / sizeof(T);
  T expanded_[2][kExpanded];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_AFFINE_H_
