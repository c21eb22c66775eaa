#include "kernels/narrow_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/narrow_derivative.h"
#include "kernels/wide_gradient.h"

namespace layernorm {
namespace {

// What counts must neither overflow nor vanish: of a run its rstd and the sum of its gradients, of equal weights those as well.
constexpr double kSmallest = 0x1p-40;
constexpr double kLargest = 0x1p60;
// The largest deviation from the mean, where there is any.
constexpr double kSmallestDeviation = 0x1p-60;
// The largest of weights that differ: beside it the gradients of a result do not vanish either.
constexpr float kLargestWeight = 0x1p20F;
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

bool NarrowGradient::may_do(const Call& call, const Layout& layout) {
  // 1 + scale rounds, which before an activation could be all that is left.
  const bool has_one_step = !is_conditional(call) || (folds(call) && call.activation == Activation::none);
  return call.dtype != DType::float64 && !layout.columns && has_one_step && call.op != Op::batch_norm;
}

NarrowGradient::NarrowGradient(const Call& call, const Layout& layout, const Scaling& scaling, Gradients& gradients)
    : layout_(layout),
      scaling_(scaling),
      gradients_(gradients),
      activation_(call.activation),
      weight_role_(weight_role(call)),
      bias_role_(bias_role(call)),
      repeats_{repeat(call, weight_role_, layout.inner), repeat(call, bias_role_, layout.inner)},
      weight_(call, weight_role_, 1, weight_offset(call), layout.inner, call.rank),
      bias_(call, has_activation() ? bias_role_ : Operand::x, -0.0F, 0, layout.inner, call.rank),
      is_equal_(std::min(repeats_[0], repeats_[1]) >= kBlock) {}

bool NarrowGradient::begin(TwoPart mean, double rstd, double part_of_product) {
  run_->set(mean.high, mean.low, rstd);
  begin_precise();
  product_part_ = part_of_product;
  is_moderate_ = std::fabs(run_->center) <= kLargest && is_between(kSmallest, rstd, 1 / kSmallest);
  has_affine_ = false;
  return is_moderate_;
}

void NarrowGradient::move_to(const Offsets& offsets) {
  bias_.move_to(offsets.of(bias_role_));
  const uint64_t base = offsets.of(weight_role_);
  if (base == base_) return;
  base_ = base;
  held_ = 0;
  weight_.move_to(base);
  if (!is_equal_) weights_bound_ = weight_.bound(static_cast<size_t>(layout_.size));
}

// Brings the weights of n elements to the scratch, and makes room for the sums beside them.
void NarrowGradient::hold(size_t position, size_t n) {
  if (position == held_position_ && n == held_) return;
  held_position_ = position;
  held_ = n;
  std::memset(scratch_.weights + n, 0, NarrowScratch::kPadding * sizeof(float));
  const size_t most = weight_.is_direct() ? n : kBlock;
  for (size_t i = 0; i < n; i += most) {
    const size_t size = std::min(most, n - i);
    std::memcpy(scratch_.weights + i, weight_.at(position + i, size), size * sizeof(float));
  }
  // Sums that nobody asks for are made as well.
  if (n <= cleared_) return;
  begin_rows(n);
  cleared_ = n;
}

// How many of n positions from one on are gone through at once.
size_t NarrowGradient::together(size_t position, size_t n) const {
  n = std::min(n, kMost - position % kMost);
  if (!is_equal_) return n;
  for (const size_t repeat : repeats_) n = std::min(n, repeat - position % repeat);
  return n;
}

void NarrowGradient::step_back(const float* x, const float* grad, size_t position, size_t n, float* to) {
  for (size_t i = 0; i < n; i += kBlock) {
    const size_t size = std::min(kBlock, n - i);
    const float* weight = weight_.at(position + i, size);
    const float* bias = bias_.at(position + i, size);
    const bool stays = layernorm::step_back(activation_, *run_, x + i, weight, bias, grad + i, size, to + i);
    is_moderate_ = is_moderate_ && stays;
  }
}

void NarrowGradient::add(const float* x, const float* grad, size_t position, size_t n) {
  for (size_t i = 0, size = 0; i < n; i += size) {
    const size_t at = position + i;
    size = together(at, n - i);
    if (is_equal_) {
      add_equal(x + i, grad + i, at, size);
    } else {
      is_moderate_ = is_moderate_ && weights_bound_ <= kLargestWeight;
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
  PreciseSums found = {sums.grad(), sums.product(*run_)};
  if (!is_between(kSmallestSum, std::fabs(found.product * run_->rstd), kLargestSum)) {
    float ones[kBlock];
    std::fill_n(ones, kBlock, 1.0F);
    found = {};
    for (size_t i = 0; i < n; i += kBlock) found.add(*run_, x + i, grad + i, ones, std::min(kBlock, n - i));
  }
  gradients_.of(bias_role_).add(position, found.grad);
  gradients_.of(weight_role_).add(position, found.product * run_->rstd);
  has_affine_ = true;
  const double weight = *weight_.at(position, 1);
  is_moderate_ = is_moderate_ && (weight == 0 || is_between(kSmallest, std::fabs(weight), 1 / kSmallest));
  precise_.grad += weight * found.grad;
  precise_.product += weight * found.product;
}

bool NarrowGradient::wants_precise() {
  const float deviation = sums_.deviation();
  is_moderate_ = is_moderate_ && (deviation >= kSmallestDeviation || (deviation == 0 && run_->rest == 0));
  return !(deviation * run_->rstd <= kFarthest);
}

void NarrowGradient::begin_precise() {
  sums_.clear();
  precise_ = {};
}

void NarrowGradient::add_precise(const float* x, const float* grad, size_t position, size_t n) {
  for (size_t i = 0, size = 0; i < n; i += size) {
    size = std::min(kBlock, together(position + i, n - i));
    precise_.add(*run_, x + i, grad + i, weight_.at(position + i, size), size);
  }
}

bool NarrowGradient::end() {
  const double grad = precise_.grad + sums_.grad();
  const double product = (precise_.product + sums_.product(*run_)) * run_->rstd;
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
    add_affine(grad + i, at, size);
    write_alone({run_, grad + i, y + i}, scratch_.weights, scratch_.normalized[0], size);
  }
}

// Adds what a run contributes alone, which may be beyond float32, to the gradients of weight and bias.
void NarrowGradient::add_affine(const float* grad, size_t position, size_t n) {
  WideBlock grads;
  WideBlock products;
  for (size_t i = 0; i < n; i += kBlock) {
    const size_t size = std::min(kBlock, n - i);
    widen_products(scratch_.normalized[0] + i, grad + i, size, products.high, grads.high);
    gradients_.of(weight_role_).add(position + i, size, products);
    gradients_.of(bias_role_).add(position + i, size, grads);
  }
}

void NarrowGradient::write_rows(size_t n) {
  if (waiting_ == 0) return;
  if (waiting_ == 1) {
    // Beside it one of zeros, which stay.
    float* zeros = scratch_.normalized[1];
    std::memset(zeros, 0, (n + NarrowScratch::kPadding) * sizeof(float));
    rows_[1] = {&none_, zeros, zeros};
  }
  write_narrow(rows_, n, scratch_);
  waiting_ = 0;
  run_ = runs_;
}

void NarrowGradient::begin_rows(size_t n) {
  for (float* sums : {scratch_.products, scratch_.grads}) {
    std::memset(sums, 0, (n + NarrowScratch::kPadding) * sizeof(float));
  }
}

bool NarrowGradient::end_rows(size_t n) {
  if (!are_finite(scratch_, n)) return false;
  gradients_.of(weight_role_).add_first(n, scratch_.products);
  gradients_.of(bias_role_).add_first(n, scratch_.grads);
  return true;
}

bool NarrowGradient::log_rows(size_t n, std::byte* log) const {
  const size_t bytes = n * sizeof(float);
  std::memcpy(log, scratch_.products, bytes);
  std::memcpy(log + bytes, scratch_.grads, bytes);
  return are_finite(scratch_, n);
}

void NarrowGradient::add_logged(size_t count, size_t n, const std::byte* log, size_t stride) {
  const auto* sums = reinterpret_cast<const float*>(log);
  gradients_.of(weight_role_).add_first_of(count, n, sums, stride / sizeof(float));
  gradients_.of(bias_role_).add_first_of(count, n, sums + n, stride / sizeof(float));
}

}  // namespace layernorm
