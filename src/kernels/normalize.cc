#include "kernels/normalize.h"

#include <algorithm>

#include "kernels/columns.h"
#include "kernels/kernels.h"
#include "kernels/layout.h"
#include "kernels/runner.h"
#include "kernels/sum.h"
#include "kernels/tiles.h"

namespace layernorm {
namespace {

// Values that are worked on at a time where one step follows another: they stay in the first-level cache, or near.
constexpr size_t kNear = 8192;
// Of a sum that is normalized next, which reads some rows ahead: a few rows more, in the second-level cache.
constexpr size_t kSumsNear = 32768;

/// Reads the running statistics of a channel, moves them towards the batch's, and writes them.
class RunningStatistics {
 public:
  RunningStatistics(const Call& call, uint64_t run_size)
      : call_(call), unbiased_(call.unbiased ? 1 / (1 - 1 / static_cast<double>(run_size)) : 1) {}

  void update(uint64_t channel, const RunStatistics& batch) const {
    if (call_.op == Op::batch_norm) return;
    move(Operand::running_mean, channel, batch.mean);
    move(Operand::running_var, channel, batch.variance * unbiased_);
  }

 private:
  void move(Operand operand, uint64_t channel, double batch) const {
    const Parameter& running = call_.parameter(operand);
    if (running.kind != Parameter::Kind::vector) return;
    const uint64_t index = channel * stride(operand);
    alignas(8) std::byte remote[8];
    std::byte* stored = remote;
    if (call_.is_remote(operand)) {
      call_.transfer->read(operand, index, 1, remote);
    } else {
      stored = static_cast<std::byte*>(const_cast<void*>(running.data)) + index * element_size(running.dtype);
    }
    const double old = element(running.dtype, stored, 0);
    const double value = (1 - call_.momentum) * old + call_.momentum * batch;
    convert(DType::float64, &value, running.dtype, stored, 1);
    if (call_.is_remote(operand)) call_.transfer->write(operand, index, 1, stored);
  }

  [[nodiscard]] uint64_t stride(Operand operand) const {
    for (size_t d = 0; d < call_.rank; ++d) {
      if (!call_.dims[d].reduced) return call_.strides[static_cast<size_t>(operand)][d];
    }
    return 0;
  }

  const Call& call_;
  double unbiased_;
};

/// The loops over a view. `slices` of it, in turn.
class Loops {
 public:
  Loops(const Call& call, const Layout& layout)
      : call_(call),
        layout_(layout),
        kept_(call, layout.inner, false),
        reduced_(call, layout.inner, true),
        tiles_(call, input(call), input(call) == Operand::sum ? call.sum : call.x),
        mean_(call, Operand::mean, call.mean),
        rstd_(call, Operand::rstd, call.rstd),
        running_(call, run_size()),
        reports_(mean_.wanted() || rstd_.wanted() || updates_running()) {}

  [[nodiscard]] uint64_t run_size() const {
    return layout_.columns ? reduced_.count() * layout_.fold : reduced_.count() * layout_.size;
  }

  void run(Runner& runner, uint64_t begin, uint64_t end) {
    const uint64_t per_slice = kept_.count() / layout_.slices;
    if (reduced_.count() == 1 && layout_.size <= tiles_.capacity(layout_.size)) {
      contiguous_runs(runner, begin * per_slice, end * per_slice);
    } else {
      for (uint64_t i = begin * per_slice; i < end * per_slice; ++i) segmented_run(runner, i);
    }
  }

  void columns(Columns& columns, uint64_t begin, uint64_t end) {
    const uint64_t per_slice = kept_.count() / layout_.slices;
    const uint64_t fold = layout_.fold;
    const uint64_t most = columns.capacity() / fold * fold;
    for (uint64_t i = begin * per_slice; i < end * per_slice; ++i) {
      const Offsets offsets = kept_.at(i, {});
      for (uint64_t first = 0; first < layout_.size; first += most) {
        panel(columns, offsets, i * (layout_.size / fold), first, std::min(most, layout_.size - first));
      }
    }
  }

  void finish() {
    mean_.flush();
    rstd_.flush();
  }

 private:
  static Operand input(const Call& call) {
    return call.parameter(Operand::residual).kind == Parameter::Kind::none ? Operand::x : Operand::sum;
  }

  // Places the parameters of runs from one on.
  class Steps final : public RowSteps {
   public:
    Steps(Runner& runner, const Axes& kept, uint64_t first) : runner_(runner), kept_(kept), first_(first) {}
    void move_to(size_t row) override {
      kept_.move(offsets_, first_ + row, {});
      runner_.place(offsets_);
    }

   private:
    Runner& runner_;
    const Axes& kept_;
    uint64_t first_;
    Offsets offsets_;
  };

  // As many runs at a time as a tile holds and agree on the bound of their weights.
  void contiguous_runs(Runner& runner, uint64_t begin, uint64_t end) {
    const uint64_t n = layout_.size;
    const uint64_t sharing = kept_.sharing();
    uint64_t most = tiles_.capacity(n) / n;
    if (call_.activation != Activation::none) most = std::min<uint64_t>(most, std::max<uint64_t>(1, kNear / n));
    if (call_.is_remote(Operand::rstd)) most = std::min<uint64_t>(most, StatisticSink::kCapacity);
    for (uint64_t i = begin; i < end;) {
      if (updates_running()) {
        segmented_run(runner, i++);
        continue;
      }
      const Offsets offsets = kept_.at(i, {});
      runner.move_to(offsets);
      const uint64_t last = i + std::min(most, end - i);
      uint64_t next = std::min(last, i + sharing - i % sharing);
      Steps steps(runner, kept_, i);
      // Several runs that share their parameters are worth a job of their own, which converts these once.
      const bool stepwise = sharing < 4 && next < last;
      if (stepwise) {
        next = agreeing(runner, offsets, next, last);
        runner.move_to(offsets);  // and to its bound, from that of a run that does not agree
      }
      const auto rows = static_cast<size_t>(next - i);
      const Tiles::Tile tile = tiles_.get(offsets.x, 1, rows * n, 0);
      runner.rows(tile.x, tile.y, rows, mean_.at(i, rows), rstd_.at(i, rows), stepwise ? &steps : nullptr);
      tiles_.put();
      i = next;
    }
  }

  // The first run from `next` on, or `end`, whose weight bound is not that of the run at some offsets.
  uint64_t agreeing(Runner& runner, const Offsets& offsets, uint64_t next, uint64_t end) const {
    if (runner.has_one_bound()) return end;
    const double bound = runner.weight_bound(offsets);
    Offsets there;
    for (; next < end; ++next) {
      kept_.move(there, next, {});
      if (runner.weight_bound(there) != bound) return next;
    }
    return next;
  }

  [[nodiscard]] bool updates_running() const {
    return call_.op != Op::batch_norm && (call_.parameter(Operand::running_mean).kind == Parameter::Kind::vector ||
                                          call_.parameter(Operand::running_var).kind == Parameter::Kind::vector);
  }

  // A run of several contiguous segments, or of one that a tile does not hold.
  void segmented_run(Runner& runner, uint64_t index) {
    const Offsets offsets = kept_.at(index, {});
    runner.move_to(offsets);
    runner.begin();
    do {
      each_segment(offsets, false,
                   [&](const std::byte* x, std::byte*, const Offsets&, size_t, size_t n) { runner.add(x, n); });
    } while (runner.next_pass());
    report(runner.statistics(), index);
    const size_t size = arithmetic_size(call_.dtype);
    each_segment(offsets, true,
                 [&](const std::byte* x, std::byte* y, const Offsets& segment, size_t position, size_t n) {
                   runner.move_to(segment);
                   const size_t most = call_.activation != Activation::none ? kNear : n;
                   for (size_t i = 0; i < n; i += most) {
                     runner.write(x + i * size, y + i * size, position + i, std::min(most, n - i));
                   }
                 });
  }

  // Visits the segments of a run, or parts of them. As many at a time are brought near as lie at the same distance from each
  // other and a tile holds.
  template <class Visit>
  void each_segment(const Offsets& offsets, bool writes, const Visit& visit) {
    const auto size = static_cast<size_t>(layout_.size);
    const size_t capacity = tiles_.capacity(run_size());
    const uint64_t inner = reduced_.inner_size();
    const uint64_t together = std::min<uint64_t>(inner, std::max<size_t>(1, capacity / size));
    Offsets there = offsets;
    for (uint64_t j = 0; j < reduced_.count();) {
      const auto segments = static_cast<size_t>(std::min(together, inner - j % inner));
      for (size_t at = 0; at < size; at += std::min(capacity, size - at)) {
        const size_t n = std::min(capacity, size - at);
        const Tiles::Tile tile = tiles_.get(reduced_.at(j, offsets).x + at, segments, n, reduced_.inner_stride());
        for (size_t k = 0; k < segments; ++k) {
          const size_t begin = k * tile.stride * arithmetic_size(call_.dtype);
          reduced_.move(there, j + k, offsets);
          visit(tile.x + begin, tile.y + begin, there, at, n);
        }
        if (writes) tiles_.put();
      }
      j += segments;
    }
  }

  void panel(Columns& columns, const Offsets& offsets, uint64_t first_run, uint64_t first, uint64_t count) {
    const auto n = static_cast<size_t>(count);
    columns.begin(offsets, static_cast<size_t>(first), n);
    do {
      each_rows(offsets, first, n,
                [&](const Tiles::Tile& tile, uint64_t, size_t rows) { columns.add(tile.x, tile.stride, rows); });
    } while (columns.next_pass());
    for (size_t c = 0; reports_ && c < n; c += static_cast<size_t>(layout_.fold)) {
      report(columns.statistics(c), first_run + (first + c) / layout_.fold);
    }
    const size_t size = arithmetic_size(call_.dtype);
    RowOffsets row_offsets(reduced_, offsets);
    each_rows(offsets, first, n, [&](const Tiles::Tile& tile, uint64_t row, size_t rows) {
      const size_t at_once = tile.stride == n ? columns.rows_at_once() : 1;
      for (size_t j = 0; j < rows; j += at_once) {
        const size_t at = j * tile.stride * size;
        columns.write(tile.x + at, tile.y + at, row_offsets, row + j, std::min(at_once, rows - j));
      }
      tiles_.put();
    });
  }

  // Visits rows of the panel, as many as lie at the same distance from each other and a tile holds.
  template <class Visit>
  void each_rows(const Offsets& offsets, uint64_t first, size_t n, const Visit& visit) {
    const uint64_t inner = reduced_.inner_size();
    // Sums are taken of so many rows, whatever a tile holds.
    uint64_t most = tiles_.capacity(reduced_.count() * n) / n;
    const uint64_t step = most > kBlock ? kBlock : kColumnRows;
    most = std::min(inner, most / step * step);
    for (uint64_t row = 0; row < reduced_.count();) {
      const auto rows = static_cast<size_t>(std::min(most, inner - row % inner));
      const uint64_t at = reduced_.at(row, offsets).x + first;
      visit(tiles_.get(at, rows, n, reduced_.inner_stride()), row, rows);
      row += rows;
    }
  }

  void report(const RunStatistics& found, uint64_t index) {
    if (double* mean = mean_.at(index, 1)) *mean = found.mean;
    if (double* rstd = rstd_.at(index, 1)) *rstd = found.rstd;
    running_.update(index, found);
  }

  const Call& call_;
  const Layout& layout_;
  Axes kept_, reduced_;
  Tiles tiles_;
  StatisticSink mean_, rstd_;
  RunningStatistics running_;
  bool reports_;  // whether anyone wants the statistics: many short columns would take as long to report as to find
};

// Runs a part of a view, by whatever normalizes it.
using RunSlices = void (*)(Loops&, void*, uint64_t, uint64_t);

template <class T>
[[gnu::noinline]] void add_and_run(const Call& call, const Layout& layout, Loops& loops, void* object, RunSlices run) {
  Sum<T> sum(call);
  // The sum of a few slices stays near until it is normalized.
  const uint64_t most = std::max<uint64_t>(1, kSumsNear / layout.slice_size);
  for (uint64_t i = 0; i < layout.slices; i += most) {
    const uint64_t end = std::min(layout.slices, i + most);
    sum.make(i * layout.slice_size, end * layout.slice_size);
    run(loops, object, i, end);
  }
}

[[gnu::noinline]] void drive(const Call& call, const Layout& layout, Loops& loops, void* object, RunSlices run) {
  if (call.parameter(Operand::residual).kind == Parameter::Kind::none) {
    run(loops, object, 0, layout.slices);
  } else if (call.dtype == DType::float64) {
    add_and_run<double>(call, layout, loops, object, run);
  } else {
    add_and_run<float>(call, layout, loops, object, run);
  }
  loops.finish();
}

template <class Run>
void normalize_runs(const Call& call, const Layout& layout) {
  Loops loops(call, layout);
  RunnerOf<Run> runner(call, layout.inner, loops.run_size(), loops.run_size() == layout.size || layout.size >= kFewest);
  drive(call, layout, loops, static_cast<Runner*>(&runner), [](Loops& of, void* object, uint64_t begin, uint64_t end) {
    of.run(*static_cast<Runner*>(object), begin, end);
  });
}

template <class OfColumns>
void normalize_columns(const Call& call, const Layout& layout) {
  Loops loops(call, layout);
  OfColumns columns(call, layout.inner, static_cast<size_t>(loops.run_size() / layout.fold),
                    static_cast<size_t>(layout.fold));
  drive(call, layout, loops, static_cast<Columns*>(&columns),
        [](Loops& of, void* object, uint64_t begin, uint64_t end) {
          of.columns(*static_cast<Columns*>(object), begin, end);
        });
}

// Through a table, so that each kind has its stack to itself: inlined into one function they would add up.
using Kernel = void (*)(const Call&, const Layout&);

struct Kernels {
  Kernel runs, columns;
};

// By the arithmetic type: float32, float64.
constexpr Kernels kKernels[2] = {{normalize_runs<RunF32>, normalize_columns<ColumnsF32>},
                                 {normalize_runs<RunF64>, normalize_columns<ColumnsF64>}};

}  // namespace

void normalize(const Call& call) {
  const Layout layout(call);
  const Kernels& kernels = kKernels[call.dtype == DType::float64 ? 1 : 0];
  const Kernel kernel = layout.columns ? kernels.columns : kernels.runs;
  kernel(call, layout);
}

}  // namespace layernorm
