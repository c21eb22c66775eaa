#include "kernels/run_f64.h"

namespace layernorm {

// Sums are kept in locals while values are added: as members they would go through memory at each.
void RunF64::add(const double* x, size_t n) {
  using namespace simd;
  const F64x2 scales = splat(scale_);
  const F64x2 minus_high = splat(-mean_.high);
  switch (pass_) {
    case Pass::kSurvey: {
      F64x2 largest = largest_;
      if (centered_) {
        CompensatedSum sum = sum_;
        each_vector(x, n, [&](F64x2 v, auto only_values) {
          largest = larger(largest, abs(v));
          sum.add(only_values(v * scales));
        });
        sum_ = sum;
      } else {
        F64x2 spoiled = spoiled_;
        each_vector(x, n, [&](F64x2 v, auto /*only_values*/) {
          largest = larger(largest, abs(v));
          spoiled = spoiled + v * splat(0.0);
        });
        spoiled_ = spoiled;
      }
      largest_ = largest;
      break;
    }
    case Pass::kRefine:
      each_vector(x, n, [&](F64x2 v, auto only_values) { sum_.add(only_values(v * scales + minus_high)); });
      break;
    case Pass::kSquares:
    case Pass::kSquaresAgain:
      add_squares(x, n);
      break;
    case Pass::kDone:
      break;
  }
}

void RunF64::add_squares(const double* x, size_t n) {
  using namespace simd;
  const F64x2 scales = splat(scale_);
  CompensatedSum square = square_;
  if (centered_) {
    const F64x2 minus_high = splat(-mean_.high);
    const F64x2 low = splat(mean_.low);
    each_vector(x, n, [&](F64x2 v, auto only_values) {
      const Deviation d(v * scales, minus_high, low);
      const F64x2 counted = only_values(d.high);
      square.add(counted * counted);
      square.add_rest((counted + counted) * d.low);
    });
  } else if (scaling_.op == Op::l1_normalize) {
    each_vector(x, n, [&](F64x2 v, auto only_values) { square.add(only_values(abs(v * scales))); });
  } else {
    each_vector(x, n, [&](F64x2 v, auto only_values) {
      v = v * scales;
      square.add(only_values(v * v));
    });
  }
  square_ = square;
}

bool RunF64::next_pass() {
  const auto count = static_cast<double>(scaling_.size);
  switch (pass_) {
    case Pass::kSurvey: {
      const double wanted = wanted_scale();
      if (!centered_ && scaling_.op == Op::max_normalize) {
        scale_ = wanted;
        set_norm(simd::largest_lane(largest_) * scale_);
        return false;
      }
      if (wanted != scale_) {
        scale_ = wanted;
        sum_ = {};
        if (centered_) return true;  // the sum may have overflowed
      }
      const TwoPart total = sum_.total();
      const double high = total.high / count;
      const TwoPart back = exact_product(high, count);
      set_mean(high, ((total.high - back.high) - back.low + total.low) / count);
      pass_ = Pass::kSquares;
      return true;
    }
    case Pass::kSquares: {
      if (!centered_ && scaling_.op == Op::l1_normalize) {
        set_norm(square_.total().high);
        return false;
      }
      const double variance = square_.total().high / count;
      // Where values differ in their last bits only, a sum of the values is too coarse, and one of differences exact.
      if (centered_ && variance > 0 && variance < 0x1p-70 * mean_.high * mean_.high) {
        sum_ = {};
        square_ = {};
        pass_ = Pass::kRefine;
        return true;
      }
      accept(variance);
      return false;
    }
    case Pass::kRefine:
      set_mean(mean_.high, sum_.total().high / count);
      pass_ = Pass::kSquaresAgain;
      return true;
    case Pass::kSquaresAgain:
      accept(square_.total().high / count);
      return false;
    case Pass::kDone:
      return false;
  }
  return false;
}

}  // namespace layernorm
