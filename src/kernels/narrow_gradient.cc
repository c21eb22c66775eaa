#include "kernels/narrow_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace layernorm {
namespace {

// What counts must neither overflow nor vanish: of a run its rstd and the sum of its gradients, of equal weights those as well.
constexpr double kSmallest = 0x1p-40;
constexpr double kLargest = 0x1p60;
// The largest deviation from the mean, where there is any.
constexpr double kSmallestDeviation = 0x1p-60;
// Sums for the gradient of a parameter.
constexpr double kSmallestSum = 0x1p-80;
constexpr double kLargestSum = 0x1p100;
// The mean of products may cancel, while an outlier multiplies its error: deviations up to which float32 sums do.
constexpr double kFarthest = 5;

bool is_between(double least, double value, double most) { return value >= least && value <= most; }

// How many positions in turn have one element.
size_t repeat(const Call& call, Operand operand, size_t first) {
  if (call.parameter(operand).kind != Parameter::Kind::vector) return SIZE_MAX;
  ParameterPlaces places;
  places.set(call, operand, first, call.rank);
  return places.repeat();
}

}  // namespace

NarrowGradient::NarrowGradient(const Call& call, const Layout& layout, const Scaling& scaling, Gradients& gradients)
    : scaling_(scaling),
      gradients_(gradients),
      repeats_{repeat(call, Operand::weight, layout.inner), repeat(call, Operand::bias, layout.inner)},
      is_equal_(std::min(repeats_[0], repeats_[1]) >= kBlock),
      weight_(call, Operand::weight, 1, call.weight_offset, layout.inner, call.rank) {}

bool NarrowGradient::begin(TwoPart mean, double rstd, double part_of_product) {
  run_->set(mean.high, mean.low, rstd);
  sums_.clear();
  grad_ = product_ = 0;
  product_part_ = part_of_product;
  is_moderate_ = std::fabs(run_->center) <= kLargest && is_between(kSmallest, rstd, 1 / kSmallest);
  has_affine_ = false;
  return is_moderate_;
}

void NarrowGradient::move_to(const Offsets& offsets) {
  base_ = offsets.of(Operand::weight);
  weight_.move_to(base_);
}

// Brings the weights of n elements to the scratch, and makes room for the sums beside them.
void NarrowGradient::hold(size_t position, size_t n) {
  if (base_ == held_base_ && position == held_position_ && n == held_) return;
  held_base_ = base_;
  held_position_ = position;
  held_ = n;
  const size_t most = weight_.is_direct() ? n : kBlock;
  for (size_t i = 0; i < n; i += most) {
    const size_t size = std::min(most, n - i);
    std::memcpy(scratch_.weights + i, weight_.at(position + i, size), size * sizeof(float));
  }
  if (n <= cleared_) return;
  for (float* sums : {scratch_.products, scratch_.grads}) {
    std::fill(sums + cleared_, sums + n + NarrowScratch::kPadding, 0.0F);
  }
  cleared_ = n;
}

// How many of n positions from one on are gone through at once.
size_t NarrowGradient::together(size_t position, size_t n) const {
  n = std::min(n, kMost - position % kMost);
  if (!is_equal_) return n;
  for (const size_t repeat : repeats_) n = std::min(n, repeat - position % repeat);
  return n;
}

void NarrowGradient::add(const float* x, const float* grad, size_t position, size_t n) {
  for (size_t i = 0, size = 0; i < n; i += size) {
    const size_t at = position + i;
    size = together(at, n - i);
    if (is_equal_) {
      add_equal(x + i, grad + i, at, size);
    } else {
      hold(at, size);
      add_narrow(*run_, x + i, grad + i, scratch_.weights, size, scratch_.normalized[waiting_], sums_);
    }
  }
}

// Their sums are the gradients of weight and bias, which are right whatever becomes of the run.
void NarrowGradient::add_equal(const float* x, const float* grad, size_t position, size_t n) {
  NarrowSums sums;
  layernorm::add_equal(*run_, x, grad, n, sums);
  sums_.deviation_bits = simd::max_of_doubled(sums_.deviation_bits, sums.deviation_bits);
  if (!is_between(kSmallestSum, std::fabs(sums.product(*run_)), kLargestSum)) {
    float ones[kBlock];
    std::fill_n(ones, kBlock, 1.0F);
    sums.clear();
    for (size_t i = 0; i < n; i += kBlock) {
      layernorm::add_precise(*run_, x + i, grad + i, ones, std::min(kBlock, n - i), sums);
    }
  }
  const double product = sums.product(*run_);
  gradients_.of(Operand::bias).add(position, sums.grad());
  gradients_.of(Operand::weight).add(position, product);
  has_affine_ = true;
  const double weight = *weight_.at(position, 1);
  is_moderate_ = is_moderate_ && (weight == 0 || is_between(kSmallest, std::fabs(weight), 1 / kSmallest));
  grad_ += weight * sums.grad();
  product_ += weight * product;
}

bool NarrowGradient::wants_precise() {
  const float deviation = sums_.deviation();
  is_moderate_ = is_moderate_ && (deviation >= kSmallestDeviation || (deviation == 0 && run_->rest == 0));
  return !(deviation * run_->rstd <= kFarthest);
}

void NarrowGradient::begin_precise() {
  sums_.clear();
  grad_ = product_ = 0;
}

void NarrowGradient::add_precise(const float* x, const float* grad, size_t position, size_t n) {
  for (size_t i = 0, size = 0; i < n; i += size) {
    size = std::min(kBlock, together(position + i, n - i));
    layernorm::add_precise(*run_, x + i, grad + i, weight_.at(position + i, size), size, sums_);
  }
}

bool NarrowGradient::end() {
  const double grad = grad_ + sums_.grad();
  const double product = product_ + sums_.product(*run_);
  const double part = -1 / static_cast<double>(scaling_.size);
  run_->constant = is_centered(scaling_.op) ? grad * part * run_->rstd : 0;
  run_->slope = product * product_part_ * run_->rstd;
  return is_moderate_ && is_between(kSmallest, std::fabs(grad) + std::fabs(product), kLargest);
}

void NarrowGradient::write(const float* x, const float* grad, size_t position, size_t n, float* y) {
  for (size_t i = 0, size = 0; i < n; i += size) {
    const size_t at = position + i;
    size = together(at, n - i);
    if (is_equal_) {
      write_equal(*run_, *weight_.at(at, 1), x + i, grad + i, size, y + i);
      continue;
    }
    NarrowSums again;
    hold(at, size);
    add_narrow(*run_, x + i, grad + i, scratch_.weights, size, scratch_.normalized[0], again);
    const NarrowRow row = {run_, grad + i, y + i};
    write_narrow(&row, 1, size, scratch_);
    gradients_.of(Operand::weight).drain(at, size, scratch_.products);
    gradients_.of(Operand::bias).drain(at, size, scratch_.grads);
  }
}

void NarrowGradient::write_rows(size_t n) {
  if (waiting_ != 0) write_narrow(rows_, waiting_, n, scratch_);
  waiting_ = 0;
  run_ = runs_;
}

bool NarrowGradient::end_rows(size_t n) {
  const bool finite = are_finite(scratch_, n);
  if (!finite) {
    for (float* sums : {scratch_.products, scratch_.grads}) std::fill_n(sums, n, 0.0F);
  }
  gradients_.of(Operand::weight).drain(0, n, scratch_.products);
  gradients_.of(Operand::bias).drain(0, n, scratch_.grads);
  return finite;
}

}  // namespace layernorm
