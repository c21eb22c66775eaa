#include "kernels/columns.h"

#include "kernels/kernels.h"

namespace layernorm {

// Sums in float64.
[[gnu::always_inline]] void ColumnsF32::add_wide(const float* x, size_t stride, size_t rows, size_t c) {
  using namespace simd;
  F64x2 shift[kTogether / 2], d[kTogether / 2], square[kTogether / 2];
  for (size_t k = 0; k < kTogether / 4; ++k) {
    const F32x4 shifts = load(sum_shift_ + c + 4 * k);
    shift[2 * k] = promote_low(shifts);
    shift[2 * k + 1] = promote_high(shifts);
  }
  for (size_t k = 0; k < kTogether / 2; ++k) {
    d[k] = load(d_ + c + 2 * k);
    square[k] = load(square_ + c + 2 * k);
  }
  LAYERNORM_ROLLED
  for (size_t row = 0; row < rows; ++row, x += stride) {
    for (size_t k = 0; k < kTogether / 4; ++k) {
      const F32x4 v = load(x + 4 * k);
      const F64x2 low = promote_low(v) - shift[2 * k];
      const F64x2 high = promote_high(v) - shift[2 * k + 1];
      d[2 * k] = d[2 * k] + low;
      d[2 * k + 1] = d[2 * k + 1] + high;
      square[2 * k] = mul_add(low, low, square[2 * k]);
      square[2 * k + 1] = mul_add(high, high, square[2 * k + 1]);
    }
  }
  for (size_t k = 0; k < kTogether / 2; ++k) {
    store(d_ + c + 2 * k, d[k]);
    store(square_ + c + 2 * k, square[k]);
  }
}

// Two chains of float32 sums, of every other row: at most four values each before they are joined.
[[gnu::always_inline]] void ColumnsF32::add_narrow(const float* x, size_t stride, size_t rows, size_t c) {
  using namespace simd;
  F32x4 d[kTogether / 2], square[kTogether / 2];
  for (size_t k = 0; k < kTogether / 2; ++k) d[k] = square[k] = splat(0.0F);
  const auto add_row = [&](size_t chain) {
    for (size_t k = chain; k < kTogether / 2; k += 2) {
      const F32x4 v = load(x + 2 * (k - chain));
      d[k] = d[k] + v;
      square[k] = mul_add(v, v, square[k]);
    }
    x += stride;
  };
  LAYERNORM_ROLLED
  for (size_t row = 0; row + 1 < rows; row += 2) {
    add_row(0);
    add_row(1);
  }
  if (rows % 2 != 0) add_row(0);
  const auto flush = [](double* to, F32x4 sum) {
    store(to, load(to) + promote_low(sum));
    store(to + 2, load(to + 2) + promote_high(sum));
  };
  for (size_t k = 0; k < kTogether / 4; ++k) {
    flush(d_ + c + 4 * k, d[2 * k] + d[2 * k + 1]);
    flush(square_ + c + 4 * k, square[2 * k] + square[2 * k + 1]);
  }
}

void ColumnsF32::add_rows(const float* x, size_t stride, size_t rows) {
  if (is_norm(scaling_.op)) return add_magnitudes(x, stride, rows);
  constexpr size_t kLanes = simd::F32x4::kLanes;
  float padded[kColumnRows * kTogether] = {};
  for (size_t c = 0; c < count_; c += kTogether, x += kTogether) {
    if (count_ - c < kTogether) {
      const size_t rest = count_ - c;
      LAYERNORM_ROLLED
      for (size_t row = 0; row < rows; ++row) {
        const float* from = x + row * stride;
        simd::store(padded + row * kTogether, simd::load_partial(from, rest, 0.0F));
        if (rest <= kLanes) continue;
        simd::store(padded + row * kTogether + kLanes, simd::load_partial(from + kLanes, rest - kLanes, 0.0F));
      }
      x = padded;
      stride = kTogether;
    }
    pass_ == Pass::kNarrow ? add_narrow(x, stride, rows, c) : add_wide(x, stride, rows, c);
  }
}

void ColumnsF32::add_magnitudes(const float* x, size_t stride, size_t rows) {
  for (size_t c = 0; c < count_; ++c) {
    for (size_t row = 0; row < rows; ++row) {
      const double magnitude = std::fabs(static_cast<double>(x[row * stride + c]));
      d_[c] += magnitude * 0;
      if (scaling_.op == Op::l1_normalize) {
        square_[c] += magnitude;
      } else if (magnitude > square_[c]) {
        square_[c] = magnitude;
      }
    }
  }
}

void ColumnsF32::write_uniform(const float* x, float w, float b, float* y) {
  using namespace simd;
  const F32x4 weight = splat(w);
  const F32x4 bias = splat(b);
  const float* mean = of_column_;
  size_t c = 0;
  // Pointers with distances that are known, so that a vector takes no instructions to find its operands.
  LAYERNORM_ROLLED
  for (; c + 8 <= count_; c += 8, x += 8, y += 8, mean += 8) {
    for (size_t k = 0; k < 8; k += 4) {
      const float* m = mean + k;
      const F32x4 v = (load(x + k) - load(m)) * load(m + kCapacity) + load(m + 2 * kCapacity);
      store(y + k, mul_add(v, weight, bias));
    }
  }
  for (size_t k = 0; c < count_; ++c, ++k) y[k] = write_one(x[k], w, b, c);
}

void ColumnsF32::write_block(const float* x, float* y, size_t first, size_t n) {
  if (affine_.has_steps()) {
    double normalized[kBlock];
    for (size_t i = 0; i < n; ++i) normalized[i] = normalize_wide(x[i], first + i);
    affine_.apply(normalized, first_ + first, n, y);
    return;
  }
  const float* w = affine_.weight.at(first_ + first, n);
  const float* b = affine_.bias.at(first_ + first, n);
  if (wide_) {
    for (size_t i = 0; i < n; ++i) {
      const size_t c = first + i;
      y[i] = is_wide_[c] ? static_cast<float>(normalize_wide(x[i], c) * w[i] + b[i]) : write_one(x[i], w[i], b[i], c);
    }
    return;
  }
  write_plain(x, y, first, n, w, b);
}

void ColumnsF32::write_plain(const float* x, float* y, size_t first, size_t n, const float* w, const float* b) {
  using namespace simd;
  const float* mean = of_column_ + first;
  const float* factor = mean + kCapacity;
  const float* correction = factor + kCapacity;
  size_t i = 0;
  LAYERNORM_ROLLED
  for (; i + 4 <= n; i += 4) {
    const F32x4 v = (load(x + i) - load(mean + i)) * load(factor + i) + load(correction + i);
    store(y + i, mul_add(v, load(w + i), load(b + i)));
  }
  for (; i < n; ++i) y[i] = write_one(x[i], w[i], b[i], first + i);
}

[[gnu::noinline]] void ColumnsF32::set_rows(RowOffsets& offsets, uint64_t row, size_t rows) {
  if (!repeated_) {
    repeated_ = true;
    affine_.move_to(offsets.at(row));
    const float* w = affine_.weight.at(first_, count_);
    const float* b = affine_.bias.at(first_, count_);
    LAYERNORM_ROLLED
    for (size_t c = 0; c < kAtOnce; ++c) {
      const bool repeats = c >= count_;
      weights_[c] = repeats ? weights_[c - count_] : w[c];
      biases_[c] = repeats ? biases_[c - count_] : b[c];
      if (!repeats) continue;
      LAYERNORM_ROLLED
      for (size_t k = c; k < 3 * kCapacity; k += kCapacity) of_column_[k] = of_column_[k - count_];
    }
  }
  if (!uniform_rows_) return;
  LAYERNORM_ROLLED
  for (size_t j = 0, i = 0; j < rows; ++j) {
    const Offsets& there = offsets.at(row + j);
    const float w = affine_.weight_at(there);
    const float b = affine_.bias_at(there);
    LAYERNORM_ROLLED
    for (const size_t end = i + count_; i < end; ++i) {
      weights_[i] = w;
      biases_[i] = b;
    }
  }
}

bool ColumnsF32::take(size_t first) {
  double d = 0;
  double square = 0;
  LAYERNORM_ROLLED
  for (size_t c = first; c < first + fold_; ++c) {
    d += d_[c];
    square += square_[c];
    d_[c] = square_[c] = 0;
  }
  const float shift = sum_shift_[first];
  const Moments moments(d, square, scaling_.size, centered_);
  const float bound = weight_bound_[first];
  const bool narrow = bound <= 2 && moments.hold_in_f32(scaling_.eps_inside());
  if (pass_ == Pass::kNarrow ? narrow : moments.hold_in_f64() || pass_ == Pass::kWideAgain) {
    NormalizerF32 normalizer;
    normalizer.set(shift, moments.d, moments.variance, scaling_, bound, !moments.write_in_f32(scaling_.eps_inside()));
    set_column(first, fold_, normalizer);
    return true;
  }
  const auto mean = static_cast<float>(shift + moments.d);
  const float next = !centered_ ? 0 : std::isfinite(mean) ? mean : first_value_[first];
  LAYERNORM_ROLLED
  for (size_t c = first; c < first + fold_; ++c) sum_shift_[c] = next;
  return false;
}

}  // namespace layernorm
