#include "kernels/rows.h"

#include <algorithm>

#include "kernels/run_f32.h"
#include "kernels/run_f64.h"

namespace layernorm {

template class ParameterBlocks<float>;
template class ParameterBlocks<double>;
template void NormalizerF64::write<true>(const double*, ParameterBlocks<double>&, ParameterBlocks<double>&, double*,
                                         size_t, size_t) const;
template void NormalizerF64::write<false>(const double*, ParameterBlocks<double>&, ParameterBlocks<double>&, double*,
                                          size_t, size_t) const;

template float ParameterBlocks<float>::bound<float>(size_t);

namespace {

// Rows beyond this size do not stay in a core's cache until they are written, two rows later.
constexpr size_t kLongestFusedRun = 65536;

/// A job under way: x and y are at the present row. The job itself is not copied: what was stored a moment ago would stall
/// the copy.
template <class T>
struct Rows {
  const RowsJob<T>& job;
  const T* x;
  T* y;
  size_t row = 0;

  explicit Rows(const RowsJob<T>& of) : job(of), x(of.x), y(of.y) {}

  [[nodiscard]] bool are_left() const { return row < job.rows; }

  // Begins to write the row.
  template <class Normalizer>
  void begin(const Normalizer& normalizer) const {
    if (job.steps != nullptr) job.steps->move_to(row);
    if (job.mean != nullptr) job.mean[row] = normalizer.mean();
    if (job.rstd != nullptr) job.rstd[row] = normalizer.rstd;
  }

  void next_row() {
    ++row;
    x += job.scaling.size;
    y += job.scaling.size;
  }
};

[[gnu::noinline]] NormalizerF32 statistics(const Rows<float>& rows, const float* x) {
  RunF32 run(rows.job.scaling, rows.job.weight_bound);
  do {
    run.add(x, rows.job.scaling.size);
  } while (run.next_pass());
  return run.normalizer();
}

void normalize_each(const RowsJob<double>& job) {
  const size_t n = job.scaling.size;
  for (Rows<double> rows(job); rows.are_left(); rows.next_row()) {
    RunF64 run(rows.job.scaling, rows.job.weight_bound);
    do {
      run.add(rows.x, n);
    } while (run.next_pass());
    rows.begin(run.normalizer());
    run.write(rows.x, rows.job.weight, rows.job.bias, rows.y, n, 0);
  }
}

// Where a row and its parameters do not stay in a core's cache, this many rows are written together, piece by piece, so that
// they read the parameters once. Rows that do stay would have to be brought there a second time.
constexpr size_t kLongestNearRun = 163840;
constexpr size_t kTogether = 4;
constexpr size_t kTogetherPiece = 4096;

/// Rows beyond kLongestFusedRun, float32.
void normalize_long(const RowsJob<float>& job) {
  const size_t n = job.scaling.size;
  const bool shares = job.steps == nullptr && !(job.weight.has_one() && job.bias.has_one());
  const size_t most = shares && n > kLongestNearRun ? kTogether : 1;
  NormalizerF32 normalizers[kTogether];
  for (Rows<float> rows(job); rows.are_left();) {
    const float* x = rows.x;
    float* y = rows.y;
    const size_t together = std::min(most, job.rows - rows.row);
    for (size_t k = 0; k < together; ++k, rows.next_row()) {
      normalizers[k] = statistics(rows, rows.x);
      rows.begin(normalizers[k]);
    }
    const size_t piece = together == 1 ? n : kTogetherPiece;
    for (size_t i = 0; i < n; i += piece) {
      const size_t size = std::min(piece, n - i);
      for (size_t k = 0; k < together; ++k) {
        normalizers[k].write(x + k * n + i, job.weight, job.bias, y + k * n + i, size, i);
      }
    }
  }
}

/// Rows of up to kShortRun values, float32; kWide: of so few that all are written in float64.
template <bool kWide>
void normalize_short(const RowsJob<float>& job) {
  using Wide = NormalizerF32::Wide;
  using Narrow = NormalizerF32::Narrow<NormalizerF32::Mean::kCorrected>;
  Rows<float> rows(job);
  const size_t n = rows.job.scaling.size;
  for (; rows.are_left(); rows.next_row()) {
    SumsF32 sums;
    sums.add_wide(rows.x, n, 0);
    NormalizerF32 normalizer;
    if (!RunF32::accept_first<true>(sums, rows.job.scaling, rows.job.weight_bound, normalizer)) {
      normalizer = statistics(rows, rows.x);
    }
    rows.begin(normalizer);
    if (kWide || normalizer.wide) {
      NormalizerF32::write_all(Wide(normalizer), rows.x, rows.job.weight, rows.job.bias, rows.y, n, 0);
    } else {
      NormalizerF32::write_all(Narrow(normalizer), rows.x, rows.job.weight, rows.job.bias, rows.y, n, 0);
    }
  }
}

// How far ahead of the stores y is loaded, so that its cache lines are there in time. At least two whole rows follow.
constexpr size_t kTouchAhead = 96;
static_assert(kTouchAhead <= 2 * kShortRun);

/// Writes the present row and, in the same loop, takes the plain sums of another, so that memory and arithmetic
/// overlap.
template <Sums kSum, NormalizerF32::Mean kMean>
[[gnu::noinline]] SumsF32 write_and_sum(const NormalizerF32& normalizer, Rows<float>& rows, const float* ahead) {
  const NormalizerF32::Narrow<kMean> normalize(normalizer);
  const size_t n = rows.job.scaling.size;
  const float* x = rows.x;
  float* y = rows.y;
  SumsF32 sums;
  size_t i = 0;
  for (; i + kFlush <= n; i += kFlush) {
    const float* w = rows.job.weight.next(i, kFlush);
    const float* b = rows.job.bias.next(i, kFlush);
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
    normalizer.write(x, rows.job.weight, rows.job.bias, y, n - i, i);
  }
  return sums;
}

/// Without what is not needed of the mean, where rows are most often summed so.
template <Sums kSum>
SumsF32 write_and_sum(const NormalizerF32& normalizer, Rows<float>& rows, const float* ahead) {
  using Mean = NormalizerF32::Mean;
  if constexpr (kSum == Sums::kSquares) return write_and_sum<kSum, Mean::kNone>(normalizer, rows, ahead);
  if (kSum == Sums::kPlain && !normalizer.is_corrected()) {
    return write_and_sum<kSum, Mean::kPlain>(normalizer, rows, ahead);
  }
  return write_and_sum<kSum, Mean::kCorrected>(normalizer, rows, ahead);
}

[[gnu::noinline]] NormalizerF32 statistics_after_plain(const Rows<float>& rows, const float* x, const SumsF32& sums) {
  const size_t n = rows.job.scaling.size;
  auto run = RunF32::after_plain(rows.job.scaling, rows.job.weight_bound, sums, x[0]);
  while (run.next_pass()) run.add(x, n);
  return run.normalizer();
}

/// Rows of middling size: the sums of row r + 2 are taken while row r is written. In place this holds as well, since no
/// row is written before its own sums are done.
template <Sums kSum>
void normalize_ahead(Rows<float>& rows) {
  const size_t n = rows.job.scaling.size;
  NormalizerF32 current = statistics(rows, rows.x);
  NormalizerF32 next = rows.job.rows > 1 ? statistics(rows, rows.x + n) : current;
  for (; rows.are_left(); rows.next_row()) {
    rows.begin(current);
    const bool has_ahead = rows.row + 2 < rows.job.rows;
    const float* ahead = rows.x + 2 * n;
    if (!has_ahead || current.wide) {
      current.write(rows.x, rows.job.weight, rows.job.bias, rows.y, n, 0);
      current = next;
      if (has_ahead) next = statistics(rows, ahead);
      continue;
    }
    const SumsF32 sums = write_and_sum<kSum>(current, rows, ahead);
    current = next;
    if (!RunF32::accept_first<false>(sums, rows.job.scaling, rows.job.weight_bound, next)) {
      next = statistics_after_plain(rows, ahead, sums);
    }
  }
}

void centered_ahead(const RowsJob<float>& job) {
  Rows<float> rows(job);
  if (wants_precise_sums(rows.job.weight_bound)) {
    normalize_ahead<Sums::kPrecise>(rows);
  } else {
    normalize_ahead<Sums::kPlain>(rows);
  }
}

void uncentered_ahead(const RowsJob<float>& job) {
  Rows<float> rows(job);
  normalize_ahead<Sums::kSquares>(rows);
}

// Calls go through a table so that no optimizer merges the kernels into their dispatcher, which costs them registers.
using KernelF32 = void (*)(const RowsJob<float>&);
constexpr KernelF32 kAhead[2] = {uncentered_ahead, centered_ahead};
constexpr KernelF32 kShort[2] = {normalize_short<false>, normalize_short<true>};

}  // namespace

void normalize_rows(const RowsJob<float>& job) {
  const size_t n = job.scaling.size;
  const KernelF32 kernel = n <= kShortRun          ? kShort[n < kLeastNarrow ? 1 : 0]
                           : n <= kLongestFusedRun ? kAhead[is_centered(job.scaling.op) ? 1 : 0]
                                                   : normalize_long;
  kernel(job);
}

void normalize_rows(const RowsJob<double>& job) { normalize_each(job); }

}  // namespace layernorm
