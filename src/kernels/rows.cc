#include "kernels/rows.h"

#include "kernels/run_f32.h"
#include "kernels/run_f64.h"

namespace layernorm {
namespace {

// Rows beyond this size do not stay in a core's cache until they are written, two rows later.
constexpr size_t kLongestFusedRun = 32768;

template <class Run>
void report(const Call& call, size_t row, const Run& normalizer, bool centered) {
  if (centered && call.mean != nullptr) call.mean[row] = normalizer.mean;
  if (call.rstd != nullptr) call.rstd[row] = normalizer.rstd;
}

template <class Run>
[[gnu::noinline]] auto statistics(const Call& call, const typename Run::Element* x) {
  Run run(call.channels, call.eps);
  do {
    run.add(x, call.channels);
  } while (run.next_pass());
  return run.normalizer();
}

template <bool kCentered>
[[gnu::noinline]] NormalizerF32 statistics_after_plain(const Call& call, const float* x,
                                                       const SumsF32<kCentered>& sums) {
  auto run = RunF32<kCentered>::after_plain(call.channels, call.eps, sums, x[0]);
  while (run.next_pass()) run.add(x, call.channels);
  return run.normalizer();
}

template <template <bool> class Run, bool kCentered>
void normalize_each(const Call& call) {
  using Element = typename Run<kCentered>::Element;
  ParameterBlocks<Element> weight(call.weight, 1, call.weight_offset);
  ParameterBlocks<Element> bias(call.bias, Element(-0.0), 0);
  const auto* x = static_cast<const Element*>(call.x);
  auto* y = static_cast<Element*>(call.y);
  for (size_t row = 0; row < call.outer; ++row, x += call.channels, y += call.channels) {
    const auto normalizer = statistics<Run<kCentered>>(call, x);
    report(call, row, normalizer, kCentered);
    normalizer.template write<kCentered>(x, weight, bias, y, call.channels);
  }
}

/// Rows of up to kShortRun values, float32: float64 throughout.
template <bool kCentered>
void normalize_short(const Call& call) {
  const size_t n = call.channels;
  ParameterBlocks<float> weight(call.weight, 1, call.weight_offset);
  ParameterBlocks<float> bias(call.bias, -0.0F, 0);
  const auto* x = static_cast<const float*>(call.x);
  auto* y = static_cast<float*>(call.y);
  for (size_t row = 0; row < call.outer; ++row, x += n, y += n) {
    SumsF32<kCentered> sums;
    sums.add_wide(x, n, 0);
    NormalizerF32 normalizer;
    if (!RunF32<kCentered>::template accept_first<true>(sums, n, call.eps, normalizer)) {
      normalizer = statistics<RunF32<kCentered>>(call, x);
    }
    report(call, row, normalizer, kCentered);
    const NormalizerF32::Wide normalize(normalizer);
    for (size_t i = 0; i < n; i += kBlock) {
      const size_t size = n - i < kBlock ? n - i : kBlock;
      NormalizerF32::write_block(normalize, x + i, weight.at(i, size), bias.at(i, size), y + i, size);
    }
  }
}

/// Writes one row and, in the same loop, takes the plain sums of another, so that memory and arithmetic overlap.
template <bool kCentered, size_t kFlush, bool kCorrected>
[[gnu::noinline]] SumsF32<kCentered> write_and_sum(const NormalizerF32& normalizer, const float* x,
                                                   ParameterBlocks<float>& weight, ParameterBlocks<float>& bias,
                                                   float* y, const float* ahead, size_t n) {
  const NormalizerF32::Narrow<kCentered, kCorrected> normalize(normalizer);
  SumsF32<kCentered> sums;
  size_t i = 0;
  for (; i + kFlush <= n; i += kFlush) {
    const float* w = weight.at(i, kFlush);
    const float* b = bias.at(i, kFlush);
    ChainsF32<kCentered, false> chains;
    LAYERNORM_ROLLED
    for (const float* end = x + kFlush; x != end; x += kStep, w += kStep, b += kStep, y += kStep, ahead += kStep) {
      // Vector by vector: a store that may alias the next load keeps compilers from loading all at once and spilling.
      for (size_t k = 0; k < 4; ++k) {
        chains.add(k, simd::load(ahead + 4 * k), {});
        NormalizerF32::write_vector(normalize, x + 4 * k, w + 4 * k, b + 4 * k, y + 4 * k);
      }
    }
    sums.flush(chains);
  }
  if (i < n) {
    sums = sums + SumsF32<kCentered>::template tail<false>(ahead, n - i, 0);
    NormalizerF32::write_block(normalize, x, weight.at(i, n - i), bias.at(i, n - i), y, n - i);
  }
  return sums;
}

/// Rows of middling size: the sums of row r + 2 are taken while row r is written. In place this holds as well, since no
/// row is written before its own sums are done.
template <bool kCentered, size_t kFlush>
void normalize_ahead(const Call& call) {
  const size_t n = call.channels;
  ParameterBlocks<float> weight(call.weight, 1, call.weight_offset);
  ParameterBlocks<float> bias(call.bias, -0.0F, 0);
  const auto* x = static_cast<const float*>(call.x);
  auto* y = static_cast<float*>(call.y);
  NormalizerF32 current = statistics<RunF32<kCentered>>(call, x);
  NormalizerF32 next = call.outer > 1 ? statistics<RunF32<kCentered>>(call, x + n) : current;
  for (size_t row = 0; row < call.outer; ++row, x += n, y += n) {
    report(call, row, current, kCentered);
    if (row + 2 >= call.outer || current.wide) {
      current.write<kCentered>(x, weight, bias, y, n);
      current = next;
      if (row + 2 < call.outer) next = statistics<RunF32<kCentered>>(call, x + 2 * n);
      continue;
    }
    const float* ahead = x + 2 * n;
    const bool corrected = kCentered && current.correction != 0;
    const SumsF32<kCentered> sums =
        corrected ? write_and_sum<kCentered, kFlush, kCentered>(current, x, weight, bias, y, ahead, n)
                  : write_and_sum<kCentered, kFlush, false>(current, x, weight, bias, y, ahead, n);
    current = next;
    if (!RunF32<kCentered>::template accept_first<false>(sums, n, call.eps, next)) {
      next = statistics_after_plain<kCentered>(call, ahead, sums);
    }
  }
}

// By operation and element type. Calls go through a table so that no optimizer merges the kernels into their
// dispatcher, which costs them registers.
using Kernel = void (*)(const Call&);

struct Kernels {
  Kernel any;             // any size
  Kernel short_runs;      // float32 only, as those below: sizes up to kShortRun
  Kernel often_flushed;   // below kOftenFlushedRun
  Kernel rarely_flushed;  // up to kLongestFusedRun
};

template <bool kCentered>
constexpr Kernels kKernelsF32 = {normalize_each<RunF32, kCentered>, normalize_short<kCentered>,
                                 normalize_ahead<kCentered, 32>, normalize_ahead<kCentered, 64>};
template <bool kCentered>
constexpr Kernels kKernelsF64 = {normalize_each<RunF64, kCentered>, nullptr, nullptr, nullptr};

constexpr Kernels kKernels[2][2] = {{kKernelsF32<true>, kKernelsF64<true>}, {kKernelsF32<false>, kKernelsF64<false>}};

}  // namespace

void normalize_rows(const Call& call) {
  if (call.outer == 0) return;
  const Kernels& kernels = kKernels[static_cast<size_t>(call.op)][static_cast<size_t>(call.dtype)];
  const size_t n = call.channels;
  if (call.dtype == DType::float64 || n > kLongestFusedRun) {
    kernels.any(call);
  } else if (n <= kShortRun) {
    kernels.short_runs(call);
  } else if (n < kOftenFlushedRun) {
    kernels.often_flushed(call);
  } else {
    kernels.rarely_flushed(call);
  }
}

}  // namespace layernorm
