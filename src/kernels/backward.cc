#include "kernels/backward.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/elements.h"
#include "kernels/narrow_gradient.h"
#include "kernels/row_log.h"
#include "kernels/sum.h"
#include "kernels/wide_gradient.h"

namespace layernorm {
namespace {

// What stays near while a run, or a panel of them, is gone through.
constexpr size_t kStageBytes = NarrowGradient::kMost * sizeof(float);

/// Of the residual and x alone.
bool is_plain_sum(const Call& call) {
  return call.parameter(Operand::gate).kind == Parameter::Kind::none &&
         call.parameter(Operand::sum_bias).kind == Parameter::Kind::none &&
         (call.y == nullptr || (call.y != call.grad_sum && call.y != call.parameter(Operand::residual).data));
}

/// Makes the sum that the add forms normalize.
class SumMaker {
 public:
  virtual void make(uint64_t begin, size_t n, std::byte* to) = 0;

 protected:
  ~SumMaker() = default;
};

template <class T>
class SumMakerOf final : public SumMaker {
 public:
  explicit SumMakerOf(const Call& call) : sum_(call) {}
  void make(uint64_t begin, size_t n, std::byte* to) override { sum_.make_in(begin, n, reinterpret_cast<T*>(to)); }

 private:
  Sum<T> sum_;
};

/// Contiguous rows of x at equal distances, of one run or of several side by side.
struct Tile {
  uint64_t begin;  // of x
  size_t rows, columns;
  uint64_t stride;
  uint64_t row;     // the first, among the positions of the reduced dimensions that come first
  size_t position;  // along the inner dimensions
};

float* floats(std::byte* of) { return reinterpret_cast<float*>(of); }
std::byte* bytes(float* of) { return reinterpret_cast<std::byte*>(of); }

/// All of a call. Runs are gone through up to four times: for their statistics, for the means of their gradients, and to write.
class Backward {
 public:
  /// `sum` makes what is normalized, if that is not x.
  Backward(const Call& call, const Layout& layout, Statistics& statistics, const Scaling& scaling, SumMaker* sum)
      : call_(call),
        layout_(layout),
        statistics_(statistics),
        sum_(sum),
        scaling_(scaling),
        size_(arithmetic_size(call.dtype)),
        kept_(call, layout.inner, false),
        reduced_(call, layout.inner, true),
        has_indices_(!layout.columns && reduced_.count() == 1),
        is_given_(call.parameter(Operand::given_rstd).kind != Parameter::Kind::none),
        x_(call, Operand::x, call.dtype, call.x),
        grad_output_(call, Operand::grad_output, call.grad_output_dtype, call.grad_output),
        grad_sum_(call, Operand::grad_sum, call.grad_sum_dtype, call.grad_sum),
        grad_input_(call, Operand::y, call.dtype, call.y),
        mean_(call, is_given_ ? Operand::given_mean : Operand::running_mean, first_of_runs(), last_of_runs()),
        rstd_(call, is_given_ ? Operand::given_rstd : Operand::running_var, first_of_runs(), last_of_runs()),
        gradients_(call, count_elements(call), layout.inner),
        is_direct_(sum == nullptr && !grad_sum_.is_there() && call.activation == Activation::none &&
                   x_.direct(0) != nullptr && grad_output_.direct(0) != nullptr && grad_input_.direct(0) != nullptr),
        is_narrow_(NarrowGradient::may_do(call, layout) &&
                   (sum == nullptr || (is_plain_sum(call) && gradients_.of(Operand::residual).is_whole()))),
        narrow_(call, layout, scaling, gradients_),
        wide_(call, layout, scaling, gradients_) {}

  void run() {
    if (kSplitsSums && call_.log != nullptr && !call_.is_part) {
      join();
    } else if (shares_rows()) {
      const uint64_t sharing = kept_.sharing();
      for (uint64_t i = 0; i < kept_.count();) {
        const auto count = static_cast<size_t>(std::min<uint64_t>(NarrowGradient::kRows, sharing - i % sharing));
        rows(i, count);
        i += count;
      }
    } else {
      for (uint64_t i = 0; i < kept_.count(); ++i) run_at(i, is_narrow_);
    }
    if (!is_part(call_)) gradients_.finish();
  }

 private:
  // One run, or the runs of some columns.
  struct Panel {
    const Offsets& offsets;
    uint64_t index;  // among the positions of the kept dimensions that come first
    uint64_t first;
    size_t columns;
  };

  struct Rows {
    std::byte* data;
    size_t stride;  // in bytes
    [[nodiscard]] std::byte* at(size_t row) const { return data + row * stride; }
  };

  enum class Pass : uint8_t { kStatistics, kMeans, kWrite, kNarrowMeans, kPreciseMeans, kNarrowWrite };

  [[nodiscard]] bool takes_statistics() const { return !is_given_ && call_.op != Op::batch_norm; }
  // Where the positions begin that tell the runs of a panel apart.
  [[nodiscard]] size_t first_of_runs() const { return layout_.columns ? layout_.inner : has_indices_ ? 0 : call_.rank; }
  [[nodiscard]] size_t last_of_runs() const { return has_indices_ ? layout_.inner : call_.rank; }

  // The runs at a position of the kept dimensions that come first, where `tries` says so in float32 if that does.
  void run_at(uint64_t index, bool tries) {
    const auto fold = static_cast<size_t>(layout_.fold);
    const size_t most = layout_.columns ? kBlock / fold * fold : 1;
    const uint64_t size = layout_.columns ? layout_.size : 1;
    const Offsets offsets = kept_.at(index, {});
    for (uint64_t first = 0; first < size; first += most) {
      panel({offsets, index, first, static_cast<size_t>(std::min<uint64_t>(most, size - first))}, tries);
    }
  }

  void panel(const Panel& panel, bool tries) {
    take_constants(panel, nullptr);
    if (tries && narrow(panel)) return;
    wide_.begin(constants_, panel.columns);
    bool again = wide_.has_means();
    while (again) {
      wide_.begin_means();
      pass(panel, Pass::kMeans);
      again = wide_.end_means();
    }
    pass(panel, Pass::kWrite);
  }

  [[nodiscard]] bool begin_narrow() {
    const RunConstants& found = constants_[0];
    return narrow_.begin(found.mean, found.rstd.high, product_part(scaling_, found.floored));
  }

  // Whether float32 does for a run, which is then done.
  bool narrow(const Panel& panel) {
    if (!begin_narrow()) return false;
    pass(panel, Pass::kNarrowMeans);
    if (narrow_.wants_precise()) {
      narrow_.begin_precise();
      pass(panel, Pass::kPreciseMeans);
    }
    if (!narrow_.end()) return false;
    pass(panel, Pass::kNarrowWrite);
    return true;
  }

  // Whether runs are rows that share their parameters and fit a stage.
  [[nodiscard]] bool shares_rows() {
    return is_narrow_ && !narrow_.is_equal() && reduced_.count() == 1 && layout_.size <= NarrowGradient::kMost &&
           kept_.sharing() >= std::min<uint64_t>(2, kept_.count()) && narrow_.has_contiguous_sums() &&
           (call_.y == nullptr || (call_.y != call_.x && call_.y != call_.grad_output));
  }

  // The contributions of these rows to the gradients of parameters are summed before they are added to the rest. Rows that
  // float32 does not do for go by themselves.
  void rows(uint64_t begin, size_t count) {
    bool waited[NarrowGradient::kRows];
    const auto n = static_cast<size_t>(layout_.size);
    const Offsets offsets = kept_.at(begin, {});
    narrow_.move_to(offsets);
    narrow_.begin_rows(n);
    const bool logs = kSplitsSums && call_.log != nullptr;
    for (size_t r = 0; r < count; ++r) {
      waited[r] = add_row(begin, count, r);
      if (waited[r] && narrow_.waiting() == 1) continue;
      write_rows();
      if (!waited[r] && !logs) run_at(begin + r, false);
    }
    write_rows();
    gradients_.move_to(offsets);
    if constexpr (kSplitsSums) {
      if (logs) return leave(log_at(begin / NarrowGradient::kRows), waited, count);
    }
    if (narrow_.end_rows(n)) return;
    for (size_t r = 0; r < count; ++r) {
      if (waited[r]) run_at(begin + r, true);
    }
  }

  [[nodiscard]] size_t log_step() const { return RowLog::size(static_cast<size_t>(layout_.size)); }
  [[nodiscard]] RowLog& log_at(uint64_t group) const {
    return *reinterpret_cast<RowLog*>(call_.log + group * log_step());
  }

  void leave(RowLog& log, const bool* waited, size_t count) const {
    std::copy_n(waited, count, log.waited);
    log.is_finite = narrow_.log_rows(static_cast<size_t>(layout_.size), log.sums);
    log.is_whole = log.is_finite && std::all_of(waited, waited + count, [](bool each) { return each; });
  }

  // What `rows` would have added, in its order.
  void join() {
    const auto n = static_cast<size_t>(layout_.size);
    const uint64_t groups = (kept_.count() + NarrowGradient::kRows - 1) / NarrowGradient::kRows;
    for (uint64_t group = 0; group < groups;) {
      gradients_.move_to(kept_.at(group * NarrowGradient::kRows, {}));
      size_t whole = 0;
      while (group + whole < groups && log_at(group + whole).is_whole) ++whole;
      if (whole > 0) {
        narrow_.add_logged(whole, n, log_at(group).sums, log_step());
        group += whole;
      } else {
        join_rows(group++);
      }
    }
  }

  // Of which some go by themselves.
  void join_rows(uint64_t group) {
    const uint64_t begin = group * NarrowGradient::kRows;
    const RowLog& log = log_at(group);
    const auto run_those = [&](bool waited) {
      for (size_t r = 0; r < NarrowGradient::kRows && begin + r < kept_.count(); ++r) {
        if (log.waited[r] == waited) run_at(begin + r, waited);
      }
    };
    run_those(false);
    if (!log.is_finite) return run_those(true);
    gradients_.move_to(kept_.at(begin, {}));
    narrow_.add_logged(1, static_cast<size_t>(layout_.size), log.sums, log_step());
  }

  // Whether float32 does for a row, which then waits to be written.
  bool add_row(uint64_t begin, size_t count, size_t r) {
    const auto n = static_cast<size_t>(layout_.size);
    const Tile tile = {(begin + r) * n, 1, n, n, 0, 0};
    const size_t slot = narrow_.waiting();
    const Rows x = place_input(tile, bytes(narrow_.room(slot)));
    bool does;
    if (is_given_) {
      const double mean = mean_.is_there() ? mean_.at(begin, count).high[r] : 0;
      const double rstd = rstd_.at(begin, count).high[r];
      does = narrow_.begin({mean, 0}, rstd, product_part(scaling_, false));
    } else {
      take_constants({kept_.at(begin + r, {}), begin + r, 0, 1}, x.data);
      does = begin_narrow();
    }
    if (!does) return false;
    const Rows grad = place_gradient(tile, x.data, stages_[slot]);
    narrow_.add(floats(x.data), floats(grad.data), 0, n);
    if (narrow_.wants_precise()) {
      narrow_.begin_precise();
      add_precise(tile, floats(grad.data));
    }
    if (!narrow_.end()) return false;
    std::byte* direct = grad_input_.direct(tile.begin);
    waiting_[narrow_.waiting()] = tile.begin;
    narrow_.add_row(floats(grad.data), floats(direct != nullptr ? direct : stages_[slot]));
    return true;
  }

  void write_rows() {
    const size_t count = narrow_.waiting();
    const auto n = static_cast<size_t>(layout_.size);
    narrow_.write_rows(n);
    const bool is_direct = grad_input_.direct(0) != nullptr;
    for (size_t k = 0; k < count; ++k) {
      std::byte* y = is_direct ? grad_input_.direct(waiting_[k]) : stages_[k];
      if (sum_ != nullptr) {
        const Tile tile = {waiting_[k], 1, n, n, 0, 0};
        leave_sum(waiting_[k], n, grad_sum_.is_there() ? place(grad_sum_, tile, bytes(narrow_.room(0))).data : nullptr,
                  floats(y));
      }
      if (!is_direct) grad_input_.write(waiting_[k], n, y);
    }
  }

  // The gradient of a sum, of which that of the norm is there, is that of x and of the residual alike.
  void leave_sum(uint64_t begin, size_t n, const std::byte* grad_sum, float* y) {
    if (grad_sum != nullptr) accumulate(reinterpret_cast<const float*>(grad_sum), y, n);
    const Call::Gradient& gradient = call_.gradient(Operand::residual);
    if (!gradient.wanted) return;
    Elements to(call_, Operand::grad_residual, gradient.dtype, gradient.data);
    if (std::byte* direct = to.direct(begin)) {
      std::memcpy(direct, y, n * sizeof(float));
    } else {
      to.write(begin, n, bytes(y));
    }
  }

  // Of a row whose values may have been written over, where they were staged.
  void add_precise(const Tile& tile, const float* grad) {
    alignas(16) std::byte room[kBlock * sizeof(float)];
    for (size_t i = 0; i < tile.columns; i += kBlock) {
      const size_t n = std::min(kBlock, tile.columns - i);
      const Rows x = place_input({tile.begin + i, 1, n, n, 0, 0}, room);
      narrow_.add_precise(floats(x.data), grad + i, i, n);
    }
  }

  // Sums have the same order however large tiles are.
  void pass(const Panel& panel, Pass pass) {
    const size_t stage_size = kStageBytes / size_;
    const uint64_t most_columns = is_direct_ && !layout_.columns ? layout_.size : stage_size;
    // Of columns at most a block, which is gathered at once.
    const uint64_t inner = layout_.columns ? reduced_.inner_size() : 1;
    const uint64_t most = std::min<uint64_t>({inner, kBlock, stage_size / kBlock});
    const uint64_t columns = layout_.columns ? panel.columns : layout_.size;
    for (uint64_t row = 0; row < reduced_.count();) {
      const auto rows = static_cast<size_t>(std::min(most, inner - row % inner));
      const uint64_t begin = reduced_.at(row, panel.offsets).x + panel.first;
      for (uint64_t at = 0; at < columns; at += most_columns) {
        const auto n = static_cast<size_t>(std::min<uint64_t>(most_columns, columns - at));
        const uint64_t stride = layout_.columns ? reduced_.inner_stride() : n;
        go_through(panel, {begin + at, rows, n, stride, row, static_cast<size_t>(panel.first + at)}, pass);
      }
      row += rows;
    }
  }

  // Calls move(begin, n, at) for pieces of a tile in a stage.
  template <class Move>
  Rows stage(const Tile& tile, std::byte* room, const Move& move) const {
    const bool whole = tile.stride == tile.columns;
    const size_t rows = whole ? 1 : tile.rows;
    const size_t n = whole ? tile.rows * tile.columns : tile.columns;
    for (size_t row = 0; row < rows; ++row) move(tile.begin + row * tile.stride, n, room + row * n * size_);
    return {room, tile.columns * size_};
  }

  // A tile where it stands, or brought to a stage.
  Rows place(Elements& of, const Tile& tile, std::byte* room) const {
    if (std::byte* direct = of.direct(tile.begin)) return {direct, static_cast<size_t>(tile.stride) * size_};
    return stage(tile, room, [&](uint64_t begin, size_t n, std::byte* to) { of.read(begin, n, to); });
  }

  // The gradient of a row for float32, before the activation.
  Rows place_gradient(const Tile& tile, const std::byte* x, std::byte* room) {
    const Rows grad = place(grad_output_, tile, room);
    if (!narrow_.has_activation()) return grad;
    narrow_.step_back(reinterpret_cast<const float*>(x), floats(grad.data), tile.position, tile.columns, floats(room));
    return {room, grad.stride};
  }

  // What is normalized: x, or the sum.
  Rows place_input(const Tile& tile, std::byte* room) {
    if (sum_ == nullptr) return place(x_, tile, room);
    return stage(tile, room, [&](uint64_t begin, size_t n, std::byte* to) { sum_->make(begin, n, to); });
  }

  // Of a run whose values are at hand in `held`, if that is not null.
  void take_constants(const Panel& panel, const std::byte* held) {
    const size_t fold = layout_.columns ? static_cast<size_t>(layout_.fold) : 0;
    const size_t runs = fold == 0 ? 1 : panel.columns / fold;
    if (takes_statistics()) {
      // Where all else is wide, so are the sums: what is left where a bias cancels a normalized value is as good. So it has to be
      // before an activation, whose derivative may have the exponential of that.
      statistics_.begin(
          runs, is_narrow_ && !narrow_.has_activation() && (scaling_.size == layout_.size || layout_.size >= kFewest));
      do {
        if (held == nullptr) {
          pass(panel, Pass::kStatistics);
        } else {
          statistics_.add(held, 0, 1, static_cast<size_t>(layout_.size), 0);
        }
      } while (statistics_.next_pass());
    } else {
      if (!has_indices_) {
        mean_.move_to(panel.offsets);
        rstd_.move_to(panel.offsets);
      }
    }
    for (size_t r = 0; r < runs; ++r) {
      constants_[r] = takes_statistics()
                          ? statistics_.constants(r)
                          : given(static_cast<size_t>(has_indices_ ? panel.index : panel.first + r * fold));
    }
  }

  RunConstants given(size_t position) {
    const double mean = mean_.is_there() ? mean_.at(position, 1).high[0] : 0;
    const double rstd = rstd_.at(position, 1).high[0];
    if (!is_given_) return statistics_.given(mean, rstd);
    // Beside such a mean x - mean may overflow.
    const double scale = std::fabs(mean) < 0x1p900 ? 1 : 0.25;
    const TwoPart factor = {std::isinf(rstd) ? 0 : rstd / scale, 0};
    return {scale, {mean * scale, 0}, factor, factor, scale, false};
  }

  void go_through(const Panel& panel, const Tile& tile, Pass pass) {
    const Rows x = place_input(tile, bytes(narrow_.room(0)));
    if (pass == Pass::kStatistics) {
      const size_t fold = layout_.columns ? static_cast<size_t>(layout_.fold) : 0;
      statistics_.add(x.data, x.stride / size_, tile.rows, tile.columns, fold);
      return;
    }
    const Rows grad = place(grad_output_, tile, stages_[0]);
    const bool writes = pass == Pass::kWrite || pass == Pass::kNarrowWrite;
    // Over what was staged of the gradient, piece by piece.
    std::byte* direct = grad_input_.direct(tile.begin);
    const Rows to = direct != nullptr ? Rows{direct, static_cast<size_t>(tile.stride) * size_}
                                      : Rows{stages_[0], tile.columns * size_};
    const bool has_sum = writes && grad_sum_.is_there();
    const bool has_own = writes && gradients_.of(Operand::gate).is_wanted();
    const Rows of_sum = has_sum ? place(grad_sum_, tile, stages_[1]) : Rows{};
    const Rows own = has_own ? place(x_, tile, bytes(narrow_.room(1))) : Rows{};
    for (size_t row = 0; row < tile.rows; ++row) {
      const Offsets offsets = reduced_.at(tile.row + row, panel.offsets);
      gradients_.move_to(offsets);
      if (pass >= Pass::kNarrowMeans) {
        narrow_.move_to(offsets);
        const float* gradient = floats(grad.at(row));
        if (narrow_.has_activation()) {
          // Where it was staged, or what is written stands before it goes where that belongs.
          float* room = floats(stages_[0]) + row * tile.columns;
          narrow_.step_back(floats(x.at(row)), gradient, tile.position, tile.columns, room);
          gradient = room;
        }
        go_narrow(floats(x.at(row)), gradient, tile, pass, floats(to.at(row)));
        if (writes && sum_ != nullptr) {
          const uint64_t begin = tile.begin + row * tile.stride;
          leave_sum(begin, tile.columns, has_sum ? of_sum.at(row) : nullptr, floats(to.at(row)));
        }
        continue;
      }
      wide_.move_to(offsets);
      for (size_t i = 0; i < tile.columns; i += kBlock) {
        const size_t at = i * size_;
        const size_t n = std::min(kBlock, tile.columns - i);
        const WidePiece piece = {x.at(row) + at,
                                 grad.at(row) + at,
                                 has_sum ? of_sum.at(row) + at : nullptr,
                                 has_own ? own.at(row) + at : nullptr,
                                 tile.position + i,
                                 n};
        if (writes) {
          wide_.write(piece, is_narrow_ && narrow_.has_affine(), to.at(row) + at);
        } else {
          wide_.add_means(piece);
        }
      }
    }
    if (!writes || direct != nullptr) return;
    stage(tile, stages_[0], [&](uint64_t begin, size_t n, std::byte* from) { grad_input_.write(begin, n, from); });
  }

  void go_narrow(const float* x, const float* grad, const Tile& tile, Pass pass, float* to) {
    if (pass == Pass::kNarrowWrite) {
      narrow_.write(x, grad, tile.position, tile.columns, to);
    } else if (pass == Pass::kPreciseMeans) {
      narrow_.add_precise(x, grad, tile.position, tile.columns);
    } else {
      narrow_.add(x, grad, tile.position, tile.columns);
    }
  }

  const Call& call_;
  const Layout& layout_;
  Statistics& statistics_;
  SumMaker* sum_;
  const Scaling& scaling_;
  size_t size_;  // of an element in bytes
  Axes kept_, reduced_;
  bool has_indices_;  // whether what is given of runs is found by their index
  bool is_given_;
  Elements x_, grad_output_, grad_sum_, grad_input_;
  WideParameter mean_, rstd_;
  Gradients gradients_;
  bool is_direct_;  // whether all that is as large as x is used where it stands
  bool is_narrow_;  // whether runs may do with float32
  NarrowGradient narrow_;
  WideGradient wide_;
  RunConstants constants_[kBlock];
  uint64_t waiting_[2];  // where rows that wait begin in x
  alignas(16) std::byte stages_[2][kStageBytes];
};

// It stands on the stack, of which the wasm module has 448 KB.
static_assert(sizeof(void*) > 4 || sizeof(Backward) < 332000);

[[gnu::noinline]] void run_backward(const Call& call, const Layout& layout, Statistics& statistics,
                                    const Scaling& scaling, SumMaker* sum) {
  Backward(call, layout, statistics, scaling, sum).run();
}

// Of no values the gradients are sums of nothing. Parameters must not be looked at: no element of theirs is at any position.
void clear_gradients(const Call& call) { Gradients(call, 0, call.rank).finish(); }

template <class Run>
void backward_of(const Call& call) {
  const Layout layout(call);
  Scaling scaling = {call.op, call.eps, 1};
  for (size_t d = 0; d < call.rank; ++d) {
    if (call.dims[d].reduced) scaling.size *= static_cast<size_t>(call.dims[d].size);
  }
  StatisticsOf<Run> statistics(scaling);
  SumMakerOf<typename Run::Element> sum(call);
  const bool adds = call.parameter(Operand::residual).kind != Parameter::Kind::none;
  run_backward(call, layout, statistics, scaling, adds ? &sum : nullptr);
}

// Through a table, so that each has its stack to itself.
constexpr void (*kBackward[2])(const Call&) = {backward_of<RunF32>, backward_of<RunF64>};

}  // namespace

void backward(const Call& call) {
  if (Layout::size_from(call, 0) == 0) {
    clear_gradients(call);
  } else {
    kBackward[call.dtype == DType::float64 ? 1 : 0](call);
  }
}

}  // namespace layernorm
