#include "kernels/rows.h"

#include "kernels/run_f32.h"
#include "kernels/run_f64.h"

namespace layernorm {
namespace {

// Rows beyond this size do not stay in a core's cache until they are written, two rows later.
constexpr size_t kLongestFusedRun = 32768;

/// What every kernel over rows needs: the operands, typed, and the parameters, readable block by block.
template <class T, bool kIsCentered>
struct Rows {
  static constexpr bool kCentered = kIsCentered;

  const Call& call;
  const T* x;
  T* y;
  ParameterBlocks<T> weight, bias;
  double weight_bound;

  explicit Rows(const Call& of)
      : call(of),
        x(static_cast<const T*>(of.x)),
        y(static_cast<T*>(of.y)),
        weight(of.weight, 1, of.weight_offset),
        bias(of.bias, T(-0.0), 0),
        weight_bound(weigh<T, kCentered>(weight, of.channels)) {}

  template <class Normalizer>
  void report(size_t row, const Normalizer& normalizer) const {
    if (kCentered && call.mean != nullptr) call.mean[row] = normalizer.mean();
    if (call.rstd != nullptr) call.rstd[row] = normalizer.rstd;
  }

  void next_row() {
    x += call.channels;
    y += call.channels;
  }
};

template <class Run, class OfRows>
[[gnu::noinline]] auto statistics(const OfRows& rows, const typename Run::Element* x) {
  Run run(rows.call.channels, rows.call.eps, rows.weight_bound);
  do {
    run.add(x, rows.call.channels);
  } while (run.next_pass());
  return run.normalizer();
}

template <template <bool> class Run, bool kCentered>
void normalize_each(const Call& call) {
  Rows<typename Run<kCentered>::Element, kCentered> rows(call);
  for (size_t row = 0; row < call.outer; ++row, rows.next_row()) {
    const auto normalizer = statistics<Run<kCentered>>(rows, rows.x);
    rows.report(row, normalizer);
    normalizer.template write<kCentered>(rows.x, rows.weight, rows.bias, rows.y, call.channels);
  }
}

/// Rows of up to kShortRun values, float32: float64 throughout.
template <bool kCentered>
void normalize_short(const Call& call) {
  Rows<float, kCentered> rows(call);
  const size_t n = call.channels;
  for (size_t row = 0; row < call.outer; ++row, rows.next_row()) {
    SumsF32 sums;
    sums.add_wide<kCentered>(rows.x, n, 0);
    NormalizerF32 normalizer;
    if (!RunF32<kCentered>::template accept_first<true>(sums, n, call.eps, rows.weight_bound, normalizer)) {
      normalizer = statistics<RunF32<kCentered>>(rows, rows.x);
    }
    rows.report(row, normalizer);
    // Inline: a call costs as much as the arithmetic of a few values.
    const NormalizerF32::Wide normalize(normalizer);
    for (size_t i = 0; i < n; i += kBlock) {
      const size_t size = n - i < kBlock ? n - i : kBlock;
      NormalizerF32::write_block(normalize, rows.x + i, rows.weight.at(i, size), rows.bias.at(i, size), rows.y + i,
                                 size);
    }
  }
}

// How far ahead of the stores y is loaded, so that its cache lines are there in time. At least two whole rows follow.
constexpr size_t kTouchAhead = 96;
static_assert(kTouchAhead <= kShortRun);

/// Writes the present row and, in the same loop, takes the plain sums of another, so that memory and arithmetic
/// overlap.
template <Sum kSum, bool kCorrected>
[[gnu::noinline]] SumsF32 write_and_sum(const NormalizerF32& normalizer, Rows<float, kSum != Sum::kSquares>& rows,
                                        const float* ahead) {
  const NormalizerF32::Narrow<kSum != Sum::kSquares, kCorrected> normalize(normalizer);
  const size_t n = rows.call.channels;
  const float* x = rows.x;
  float* y = rows.y;
  SumsF32 sums;
  size_t i = 0;
  for (; i + kFlush <= n; i += kFlush) {
    const float* w = rows.weight.at(i, kFlush);
    const float* b = rows.bias.at(i, kFlush);
    ChainsF32 chains;
    LAYERNORM_ROLLED
    for (const float* end = x + kFlush; x != end; x += kStep, w += kStep, b += kStep, y += kStep, ahead += kStep) {
      simd::touch(y + kTouchAhead);
      // Vector by vector: a store that may alias the next load keeps compilers from loading all at once and spilling.
      for (size_t k = 0; k < kChains; ++k) {
        sums.add_vector<kSum, false>(chains, k, simd::load(ahead + 4 * k), simd::splat(0.0F));
        NormalizerF32::write_vector(normalize, x + 4 * k, w + 4 * k, b + 4 * k, y + 4 * k);
      }
    }
    sums.flush<kSum>(chains);
  }
  if (i < n) {
    sums.add_tail<kSum, false>(ahead, n - i, 0);
    NormalizerF32::write_block(normalize, x, rows.weight.at(i, n - i), rows.bias.at(i, n - i), y, n - i);
  }
  return sums;
}

template <bool kCentered>
[[gnu::noinline]] NormalizerF32 statistics_after_plain(const Rows<float, kCentered>& rows, const float* x,
                                                       const SumsF32& sums) {
  const size_t n = rows.call.channels;
  auto run = RunF32<kCentered>::after_plain(n, rows.call.eps, rows.weight_bound, sums, x[0]);
  while (run.next_pass()) run.add(x, n);
  return run.normalizer();
}

/// Rows of middling size: the sums of row r + 2 are taken while row r is written. In place this holds as well, since no
/// row is written before its own sums are done.
template <Sum kSum>
void normalize_ahead(Rows<float, kSum != Sum::kSquares>& rows) {
  constexpr bool kCentered = kSum != Sum::kSquares;
  using Run = RunF32<kCentered>;
  const Call& call = rows.call;
  const size_t n = call.channels;
  NormalizerF32 current = statistics<Run>(rows, rows.x);
  NormalizerF32 next = call.outer > 1 ? statistics<Run>(rows, rows.x + n) : current;
  for (size_t row = 0; row < call.outer; ++row, rows.next_row()) {
    rows.report(row, current);
    const bool has_ahead = row + 2 < call.outer;
    const float* ahead = rows.x + 2 * n;
    if (!has_ahead || current.wide) {
      current.write<kCentered>(rows.x, rows.weight, rows.bias, rows.y, n);
      current = next;
      if (has_ahead) next = statistics<Run>(rows, ahead);
      continue;
    }
    const SumsF32 sums = kCentered && current.corrected ? write_and_sum<kSum, kCentered>(current, rows, ahead)
                                                        : write_and_sum<kSum, false>(current, rows, ahead);
    current = next;
    if (!Run::template accept_first<false>(sums, n, call.eps, rows.weight_bound, next)) {
      next = statistics_after_plain(rows, ahead, sums);
    }
  }
}

void layer_norm_ahead(const Call& call) {
  Rows<float, true> rows(call);
  if (wants_precise_sums(call.channels, rows.weight_bound)) {
    normalize_ahead<Sum::kPrecise>(rows);
  } else {
    normalize_ahead<Sum::kPlain>(rows);
  }
}

void rms_norm_ahead(const Call& call) {
  Rows<float, false> rows(call);
  normalize_ahead<Sum::kSquares>(rows);
}

// By operation and element type. Calls go through a table so that no optimizer merges the kernels into their
// dispatcher, which costs them registers.
using Kernel = void (*)(const Call&);

struct Kernels {
  Kernel any;         // any size
  Kernel short_runs;  // float32 only, as the next: sizes up to kShortRun
  Kernel ahead;       // up to kLongestFusedRun
};

constexpr Kernels kLayerNormF32 = {normalize_each<RunF32, true>, normalize_short<true>, layer_norm_ahead};
constexpr Kernels kLayerNormF64 = {normalize_each<RunF64, true>, nullptr, nullptr};
constexpr Kernels kRmsNormF32 = {normalize_each<RunF32, false>, normalize_short<false>, rms_norm_ahead};
constexpr Kernels kRmsNormF64 = {normalize_each<RunF64, false>, nullptr, nullptr};

constexpr Kernels kKernels[2][2] = {{kLayerNormF32, kLayerNormF64}, {kRmsNormF32, kRmsNormF64}};

}  // namespace

void normalize_rows(const Call& call) {
  if (call.outer == 0) return;
  const Kernels& kernels = kKernels[static_cast<size_t>(call.op)][static_cast<size_t>(call.dtype)];
  const size_t n = call.channels;
  if (call.dtype == DType::float64 || n > kLongestFusedRun) {
    kernels.any(call);
  } else if (n <= kShortRun) {
    kernels.short_runs(call);
  } else {
    kernels.ahead(call);
  }
}

}  // namespace layernorm
