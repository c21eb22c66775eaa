#include "kernels/columns.h"

#include "kernels/kernels.h"

namespace layernorm {
namespace {

// A last partial vector reads no further than the row.
template <bool kPartial>
simd::F32x4 load_columns(const float* x, size_t n) {
  if constexpr (kPartial) return simd::load_partial(x, n, 0.0F);
  return simd::load(x);
}

}  // namespace

template <size_t kVectors, bool kPartial>
[[gnu::always_inline]] void ColumnsF32::add_columns(const float* x, size_t stride, size_t rows, size_t c, size_t n) {
  using namespace simd;
  F64x2 shift[2 * kVectors], d[2 * kVectors], square[2 * kVectors];
  for (size_t k = 0; k < kVectors; ++k) {
    const F32x4 shifts = load(shift_ + c + 4 * k);
    shift[2 * k] = promote_low(shifts);
    shift[2 * k + 1] = promote_high(shifts);
  }
  for (size_t k = 0; k < 2 * kVectors; ++k) {
    d[k] = load(d_ + c + 2 * k);
    square[k] = load(square_ + c + 2 * k);
  }
  LAYERNORM_ROLLED
  for (size_t row = 0; row < rows; ++row, x += stride) {
    for (size_t k = 0; k < kVectors; ++k) {
      const F32x4 v = load_columns<kPartial>(x + 4 * k, n);
      F64x2 low = promote_low(v);
      F64x2 high = promote_high(v);
      low = low - shift[2 * k];
      high = high - shift[2 * k + 1];
      d[2 * k] = d[2 * k] + low;
      d[2 * k + 1] = d[2 * k + 1] + high;
      square[2 * k] = mul_add(low, low, square[2 * k]);
      square[2 * k + 1] = mul_add(high, high, square[2 * k + 1]);
    }
  }
  for (size_t k = 0; k < 2 * kVectors; ++k) {
    store(d_ + c + 2 * k, d[k]);
    store(square_ + c + 2 * k, square[k]);
  }
}

void ColumnsF32::add_rows(const float* x, size_t stride, size_t rows) {
  size_t c = 0;
  if (is_norm(scaling_.op)) return add_magnitudes(x, stride, rows);
  for (; c + 8 <= count_; c += 8) add_columns<2, false>(x + c, stride, rows, c, 0);
  for (; c + 4 <= count_; c += 4) add_columns<1, false>(x + c, stride, rows, c, 0);
  if (c < count_) add_columns<1, true>(x + c, stride, rows, c, count_ - c);
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
  const float* mean = mean_ + first;
  const float* factor = factor_ + first;
  const float* correction = correction_ + first;
  size_t i = 0;
  using namespace simd;
  LAYERNORM_ROLLED
  for (; i + 4 <= n; i += 4) {
    const F32x4 v = (load(x + i) - load(mean + i)) * load(factor + i) + load(correction + i);
    store(y + i, mul_add(v, load(w + i), load(b + i)));
  }
  for (; i < n; ++i) y[i] = write_one(x[i], w[i], b[i], first + i);
}

}  // namespace layernorm
