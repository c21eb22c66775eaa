// The gradients of runs computed wide, and by blocks: what any call can do with.
#ifndef LAYERNORM_KERNELS_WIDE_GRADIENT_H_
#define LAYERNORM_KERNELS_WIDE_GRADIENT_H_

#include "kernels/backward_statistics.h"
#include "kernels/gradient.h"
#include "kernels/layout.h"
#include "kernels/roles.h"
#include "kernels/wide_parameter.h"

namespace layernorm {

/// Whether more than weight and bias follows normalization.
inline bool has_steps(const Call& call) { return call.activation != Activation::none || is_conditional(call); }

/// A piece of a run, or of the runs of some columns. What is read is of the arithmetic type.
struct WidePiece {
  const std::byte* x;         // what is normalized
  const std::byte* grad;      // of the result
  const std::byte* grad_sum;  // or null
  const std::byte* own;       // x, where that is not what is normalized
  size_t position;            // along the inner dimensions
  size_t n;                   // at most a block
};

class WideGradient {
 public:
  WideGradient(const Call& call, const Layout& layout, const Scaling& scaling, Gradients& gradients);

  /// The runs of so many columns, or one run.
  void begin(const RunConstants* constants, size_t columns);
  void move_to(const Offsets& offsets);

  /// Whether the means of gradients are needed. They are taken between a call of `begin_means` and one of `end_means`, which says
  /// whether once more.
  [[nodiscard]] bool has_means() const { return call_.op != Op::batch_norm; }
  void begin_means();
  void add_means(const WidePiece& piece);
  [[nodiscard]] bool end_means();

  /// Adds to the gradients of the parameters, unless to those of what a run is scaled and shifted by, and writes that of x to `to`, which may
  /// be the gradient of the result.
  void write(const WidePiece& piece, bool has_affine, std::byte* to);

 private:
  [[nodiscard]] bool is_centered_op() const { return is_centered(call_.op); }
  void prepare(const WidePiece& piece);
  void step_back(size_t position, size_t n);
  void spread(WideBlock& block, size_t begin, size_t lanes, TwoPart part) const;
  [[nodiscard]] bool rescale();
  static void scale_by(const double* scales, WideBlock& block, size_t n);
  void add_product(Operand of, const WidePiece& piece, const WideBlock& a, const WideBlock& b);
  void add_gradient(Operand of, const WidePiece& piece, const WideBlock& values);

  const Call& call_;
  const Layout& layout_;
  const Scaling& scaling_;
  Gradients& gradients_;
  bool two_, has_steps_;
  WideParameter gate_, weight_, bias_, scale_, shift_;

  const RunConstants* constants_ = nullptr;
  // Of each column; of one run in each lane.
  size_t lanes_ = 0;
  size_t lanes_each_ = 0;  // of one run
  double run_scale_[kBlock], run_back_[kBlock];
  double grad_scale_[kBlock], grad_back_[kBlock];  // of the gradients of normalized values
  bool scales_ = false;                            // whether any is not 1
  double had_ = 1;                                 // the scale of those that may take another one
  WideBlock minus_mean_, factor_, run_rstd_, mean_grad_, mean_product_;
  // Of each value of a block.
  WideBlock normalized_, affine_, of_result_, of_affine_, of_normalized_, scratch_;
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_WIDE_GRADIENT_H_
