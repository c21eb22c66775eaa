#include "kernels/wide_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/derivative.h"

namespace layernorm {
namespace {

// What gradients beside float64 are scaled by where sums of them overflow, or products may vanish.
constexpr double kDown = 0x1p-100;
constexpr double kUp = 0x1p600;

}  // namespace

WideGradient::WideGradient(const Call& call, const Layout& layout, const Scaling& scaling, Gradients& gradients)
    : call_(call),
      layout_(layout),
      scaling_(scaling),
      gradients_(gradients),
      two_(call.dtype == DType::float64),
      has_steps_(has_steps(call)),
      gate_(call, Operand::gate, layout.inner, call.rank),
      weight_(call, Operand::weight, layout.inner, call.rank, call.weight_offset),
      bias_(call, Operand::bias, layout.inner, call.rank),
      scale_(call, Operand::scale, layout.inner, call.rank, 1),
      shift_(call, Operand::shift, layout.inner, call.rank) {}

void WideGradient::move_to(const Offsets& offsets) {
  for (WideParameter* each : {&gate_, &weight_, &bias_, &scale_, &shift_}) each->move_to(offsets);
}

// Constants go to each lane.
void WideGradient::begin(const RunConstants* constants, size_t columns) {
  constants_ = constants;
  lanes_each_ = static_cast<size_t>(layout_.columns ? layout_.fold : std::min<uint64_t>(kBlock, layout_.size));
  lanes_ = layout_.columns ? columns : lanes_each_;
  scales_ = false;
  had_ = 1;
  for (size_t k = 0; k < lanes_; ++k) {
    const RunConstants& found = constants[k / lanes_each_];
    run_scale_[k] = found.scale;
    run_back_[k] = found.back;
    grad_scale_[k] = grad_back_[k] = 1;
    minus_mean_.set(k, {-found.mean.high, -found.mean.low});
    factor_.set(k, found.factor);
    run_rstd_.set(k, found.rstd);
  }
  if (lanes_ % 2 == 0) return;
  // The lane beside the last.
  for (WideBlock* each : {&minus_mean_, &factor_, &run_rstd_}) each->set(lanes_, {0, 0});
}

void WideGradient::begin_means() {
  mean_grad_.fill({0, 0}, kBlock);
  mean_product_.fill({0, 0}, kBlock);
}

void WideGradient::add_means(const WidePiece& piece) {
  prepare(piece);
  multiply(two_, of_normalized_, normalized_, scratch_, piece.n);
  accumulate(two_, scratch_.high, scratch_.low, mean_product_.high, mean_product_.low, piece.n);
  if (!is_centered_op()) return;
  accumulate(two_, of_normalized_.high, of_normalized_.low, mean_grad_.high, mean_grad_.low, piece.n);
}

// Nothing is wider than float64: runs whose sums overflow, or whose products may vanish, are scaled by a power of two and
// summed again. Products of what had only cancelled to nearly nothing may then overflow.
bool WideGradient::end_means() {
  const TwoPart part = {-1 / static_cast<double>(scaling_.size), 0};
  // The mean of a run, with the sign to add by, in each of its lanes.
  for (size_t k = 0; k < lanes_; k += lanes_each_) {
    spread(mean_grad_, k, lanes_each_, part);
    spread(mean_product_, k, lanes_each_, {product_part(scaling_, constants_[k / lanes_each_].floored), 0});
  }
  return two_ && rescale();
}

// Chooses anew for runs that had a scale; whether any is another now.
bool WideGradient::rescale() {
  const double had = had_;
  had_ = kUp;
  bool changes = false;
  LAYERNORM_ROLLED
  for (size_t k = 0; k < lanes_; ++k) {
    if (grad_scale_[k] != had) continue;
    const double most = std::fabs(mean_grad_.high[k]) + std::fabs(mean_product_.high[k]);
    double scale = had;
    if (!(most < std::numeric_limits<double>::infinity())) {
      scale = had == 1 ? kDown : 1;
    } else if (most < 0x1p-700) {
      scale = kUp;
    }
    if (scale == had) continue;
    changes = true;
    grad_scale_[k] = scale;
    // Both ways back at once, unless together they vanish.
    const bool was_apart = grad_back_[k] != 1;
    grad_back_[k] = 1;
    if (was_apart) continue;
    if (run_back_[k] * (had / scale) < 0x1p-1000) {
      grad_back_[k] = had / scale;
    } else {
      run_back_[k] *= had / scale;
    }
  }
  scales_ = scales_ || changes;
  return changes;
}

void WideGradient::spread(WideBlock& block, size_t begin, size_t lanes, TwoPart part) const {
  const TwoPart mean = product(total(two_, block, begin, lanes), part);
  for (size_t k = begin; k < begin + lanes; ++k) block.set(k, mean);
}

// The normalized values of a piece and the gradients of them and of what follows them.
[[gnu::noinline]] void WideGradient::prepare(const WidePiece& piece) {
  const size_t n = piece.n;
  widen(two_, piece.x, normalized_, n);
  if (two_) {
    for (size_t k = 0; k < n; ++k) normalized_.high[k] *= run_scale_[k];
  }
  if (is_centered_op()) {
    accumulate(two_, minus_mean_.high, minus_mean_.low, normalized_.high, normalized_.low, n);
    if (!two_) accumulate(false, minus_mean_.low, nullptr, normalized_.high, nullptr, n);
  }
  multiply(two_, normalized_, factor_, normalized_, n);
  widen(two_, piece.grad, of_affine_, n);
  if (has_steps_) step_back(piece.position, n);
  of_normalized_ = of_affine_;
  if (scales_) scale_by(grad_scale_, of_normalized_, n);
  if (weight_.is_there()) multiply(two_, of_normalized_, weight_.at(piece.position, n), of_normalized_, n);
}

// By a power of two for each lane.
[[gnu::noinline]] void WideGradient::scale_by(const double* scales, WideBlock& block, size_t n) {
  LAYERNORM_ROLLED
  for (size_t k = 0; k < n; ++k) {
    block.high[k] *= scales[k];
    block.low[k] *= scales[k];
  }
}

// Back through the activation, scale and shift.
void WideGradient::step_back(size_t position, size_t n) {
  if (weight_.is_there()) {
    multiply(two_, normalized_, weight_.at(position, n), affine_, n);
  } else {
    affine_ = normalized_;
  }
  if (bias_.is_there()) add(two_, affine_, bias_.at(position, n), affine_, n);
  of_result_ = of_affine_;
  if (call_.activation != Activation::none) {
    WideBlock& result = scratch_;
    result = affine_;
    if (scale_.is_there()) multiply(two_, result, scale_.at(position, n), result, n);
    if (shift_.is_there()) add(two_, result, shift_.at(position, n), result, n);
    if (!two_) std::memset(result.low, 0, sizeof(result.low));
    const size_t even = (n + 1) / 2 * 2;
    derivative(call_.activation, result.high, result.low, result.high, even);
    std::memset(result.low, 0, sizeof(result.low));
    multiply(two_, of_result_, result, of_result_, n);
  }
  of_affine_ = of_result_;
  if (scale_.is_there()) multiply(two_, of_result_, scale_.at(position, n), of_affine_, n);
}

void WideGradient::write(const WidePiece& piece, bool has_affine, std::byte* to) {
  prepare(piece);
  const size_t n = piece.n;
  if (!has_affine) {
    add_product(Operand::weight, piece, of_affine_, normalized_);
    add_gradient(Operand::bias, piece, of_affine_);
    add_product(Operand::scale, piece, of_result_, affine_);
    add_gradient(Operand::shift, piece, of_result_);
  }
  WideBlock& result = of_normalized_;
  if (has_means()) {
    multiply(two_, normalized_, mean_product_, normalized_, n);
    if (is_centered_op()) add(two_, result, mean_grad_, result, n);
    add(two_, result, normalized_, result, n);
  }
  multiply(two_, result, run_rstd_, result, n);
  for (size_t k = 0; k < n; ++k) {
    if (run_rstd_.high[k] == 0) result.set(k, {0, 0});
  }
  if (scales_) scale_by(grad_back_, result, n);
  if (two_) scale_by(run_back_, result, n);
  if (piece.grad_sum != nullptr) {
    widen(two_, piece.grad_sum, scratch_, n);
    add(two_, result, scratch_, result, n);
  }
  add_gradient(Operand::residual, piece, result);
  add_gradient(Operand::sum_bias, piece, result);
  if (piece.own != nullptr) {
    widen(two_, piece.own, scratch_, n);
    multiply(two_, scratch_, result, scratch_, n);
    add_gradient(Operand::gate, piece, scratch_);
  }
  if (gate_.is_there()) multiply(two_, result, gate_.at(piece.position, n), result, n);
  narrow(two_, result, to, n);
}

void WideGradient::add_product(Operand of, const WidePiece& piece, const WideBlock& a, const WideBlock& b) {
  if (!gradients_.of(of).is_wanted()) return;
  multiply(two_, a, b, scratch_, piece.n);
  gradients_.of(of).add(piece.position, piece.n, scratch_);
}

void WideGradient::add_gradient(Operand of, const WidePiece& piece, const WideBlock& values) {
  gradients_.of(of).add(piece.position, piece.n, values);
}

}  // namespace layernorm
