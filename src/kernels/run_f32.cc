#include "kernels/run_f32.h"

namespace layernorm {
namespace {

template <class Normalize>
void write_with(const NormalizerF32& normalizer, const float* x, ParameterBlocks<float>& weight,
                ParameterBlocks<float>& bias, float* y, size_t n, size_t begin) {
  const Normalize normalize(normalizer);
  NormalizerF32::write_all(normalize, x, weight, bias, y, n, begin);
}

}  // namespace

void NormalizerF32::write(const float* x, ParameterBlocks<float>& weight, ParameterBlocks<float>& bias, float* y,
                          size_t n, size_t begin) const {
  if (wide) {
    write_with<Wide>(*this, x, weight, bias, y, n, begin);
  } else if (is_corrected()) {
    write_with<Narrow<Mean::kCorrected>>(*this, x, weight, bias, y, n, begin);
  } else {
    write_with<Narrow<Mean::kPlain>>(*this, x, weight, bias, y, n, begin);
  }
}

void NormalizerF32::normalize(const float* x, size_t n, double* to) const {
  const Wide of(*this);
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + simd::F64x2::kLanes <= n; i += simd::F64x2::kLanes) {
    simd::store(to + i, of.normalize(simd::load_wide(x + i)));
  }
  if (i < n) to[i] = ((static_cast<double>(x[i]) - shift) - d) * multiplier;
}

void RunF32::add(const float* x, size_t n) {
  if (added_ == 0 && n > 0) first_ = x[0];
  added_ += n;
  if (is_norm(scaling_.op)) {
    sums_.add_magnitudes(x, n, scaling_.op == Op::max_normalize);
  } else if (pass_ >= Pass::kWide) {
    sums_.add_wide(x, n, shift_);
  } else if (!centered_) {
    sums_.add<Sums::kSquares, false>(x, n, 0);
  } else if (pass_ == Pass::kShifted || wants_precise_sums(weight_bound_)) {
    // At first the shift is 0, which changes nothing.
    sums_.add<Sums::kPrecise, true>(x, n, shift_);
  } else {
    sums_.add<Sums::kPlain, false>(x, n, 0);
  }
}

bool RunF32::next_pass() {
  if (is_norm(scaling_.op)) {
    normalizer_.set_factor(scaling_.floored(sums_.norm(scaling_.op == Op::max_normalize), 1), 1, true);
    return false;
  }
  const Moments moments(sums_.d(), sums_.square(), scaling_.size, centered_);
  const bool wide = pass_ >= Pass::kWide;
  if (wide ? moments.hold_in_f64() || pass_ == Pass::kWideAgain : moments.hold_in_f32(scaling_.eps_inside())) {
    normalizer_.set(shift_, moments.d, moments.variance, scaling_, weight_bound_,
                    wide && writes_wide(moments, scaling_));
    return false;
  }
  const double mean = shift_ + moments.d;
  const auto mean_f32 = static_cast<float>(mean);
  if (centered_ && pass_ == Pass::kPlain && std::isfinite(moments.second)) {
    pass_ = Pass::kShifted;
  } else {
    pass_ = wide ? Pass::kWideAgain : Pass::kWide;
  }
  shift_ = !centered_ ? 0 : std::isfinite(mean_f32) ? mean_f32 : first_;
  sums_ = {};
  added_ = 0;
  return true;
}

}  // namespace layernorm
