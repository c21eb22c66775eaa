#include "kernels/backward.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "kernels/derivative.h"
#include "kernels/elements.h"
#include "kernels/gradient.h"
#include "kernels/kernels.h"
#include "kernels/layout.h"
#include "kernels/narrow.h"
#include "kernels/scaling.h"
#include "kernels/sum.h"
#include "kernels/wide.h"

namespace layernorm {
namespace {

// What stays near while a run, or a panel of them, is gone through.
constexpr size_t kStageBytes = 16384;
// Four rows of float32 fill two stages.
constexpr size_t kQuadColumns = 2 * kStageBytes / sizeof(float) / kQuad;
// What gradients beside float64 are scaled by where sums of them overflow, or products may vanish.
constexpr double kDown = 0x1p-100;
constexpr double kUp = 0x1p600;

/// What a run is normalized with: (x * scale - mean) * factor, the mean in two parts. Gradients are multiplied by rstd and then
/// by `back`: as one number it may be subnormal.
struct RunConstants {
  double scale = 1;
  TwoPart mean = {0, 0};
  TwoPart factor = {0, 0};  // 0 where rstd is infinite
  TwoPart rstd = {0, 0};
  double back = 1;
  bool floored = false;  // divided by eps, not by the norm
};

RunConstants constants_of(const NormalizerF32& normalizer, const Scaling& scaling) {
  const TwoPart factor = {normalizer.multiplier, 0};
  const bool floored = scaling.is_floored(normalizer.variance, 1);
  return {1, {normalizer.shift, normalizer.d}, factor, factor, 1, floored};
}

RunConstants constants_of(const NormalizerF64& normalizer, const Scaling& scaling) {
  const TwoPart factor = normalizer.multiplier;
  const bool floored = scaling.is_floored(normalizer.variance, normalizer.scale);
  RunConstants found = {normalizer.scale, normalizer.scaled_mean, factor, factor, normalizer.scale, floored};
  const TwoPart whole = {factor.high * found.scale, factor.low * found.scale};
  if (whole.high > 0x1p-900 && whole.high < 0x1p900) {
    found.rstd = whole;
    found.back = 1;
  }
  // Beside scaled values eps may have vanished.
  if (normalizer.variance == 0 && scaling.op != Op::l2_normalize) {
    found.rstd = {std::isinf(normalizer.rstd) ? 0 : normalizer.rstd, 0};
    found.back = 1;
  }
  return found;
}

/// The statistics of some runs side by side.
class Statistics {
 public:
  virtual void begin(size_t runs, bool contiguous) = 0;
  /// A row of one run, or rows of columns of which `fold` in turn are of one.
  virtual void add(const std::byte* x, size_t stride, size_t rows, size_t columns, size_t fold) = 0;
  virtual bool next_pass() = 0;
  [[nodiscard]] virtual RunConstants constants(size_t run) const = 0;
  /// Of running statistics.
  [[nodiscard]] virtual RunConstants given(double mean, double variance) const = 0;

 protected:
  ~Statistics() = default;
};

template <class Run>
class StatisticsOf final : public Statistics {
  using T = typename Run::Element;

 public:
  explicit StatisticsOf(const Scaling& scaling) : scaling_(scaling) {}

  // As beside a large weight, so that the mean is as good as float64 has it: a value near it contributes little to the
  // gradient of the weight, but that has to be right.
  void begin(size_t runs, bool contiguous) override {
    count_ = runs;
    for (size_t r = 0; r < runs; ++r) {
      new (&this->runs()[r]) Run(scaling_, kLargeWeight, contiguous);
      done_[r] = false;
    }
  }

  void add(const std::byte* x, size_t stride, size_t rows, size_t columns, size_t fold) override {
    const T* values = reinterpret_cast<const T*>(x);
    if (fold == 0) {
      runs()[0].add(values, columns);
      return;
    }
    // Column by column, each gathered.
    T gathered[kBlock];
    for (size_t c = 0; c < columns; ++c) {
      if (done_[c / fold]) continue;
      for (size_t i = 0; i < rows; ++i) gathered[i] = values[i * stride + c];
      runs()[c / fold].add(gathered, rows);
    }
  }

  bool next_pass() override {
    bool more = false;
    for (size_t r = 0; r < count_; ++r) {
      done_[r] = done_[r] || !runs()[r].next_pass();
      more = more || !done_[r];
    }
    return more;
  }

  [[nodiscard]] RunConstants constants(size_t run) const override {
    const auto* runs = std::launder(reinterpret_cast<const Run*>(memory_));
    return constants_of(runs[run].normalizer(), scaling_);
  }

  [[nodiscard]] RunConstants given(double mean, double variance) const override {
    Run run(scaling_, 1, false);
    run.give(static_cast<T>(mean), static_cast<T>(variance), 1);
    return constants_of(run.normalizer(), scaling_);
  }

 private:
  Run* runs() { return std::launder(reinterpret_cast<Run*>(memory_)); }

  Scaling scaling_;
  size_t count_ = 0;
  bool done_[kBlock];
  alignas(Run) std::byte memory_[kBlock * sizeof(Run)];
};

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

/// A parameter as wide blocks, each element rounded once to the arithmetic type.
class WideParameter {
 public:
  /// `offset` is added, and the result rounded as well, unless it is 1 + scale.
  WideParameter(const Call& call, Operand operand, size_t first, double offset = 0)
      : operand_(operand),
        parameter_(call.parameter(operand)),
        two_(call.dtype == DType::float64),
        offset_(offset),
        rounds_(!two_ && operand != Operand::given_mean && operand != Operand::given_rstd &&
                (offset != 0 || parameter_.dtype == DType::float64 || parameter_.kind != Parameter::Kind::vector)) {
    if (parameter_.kind == Parameter::Kind::vector) {
      source_.set(call, operand, first, call.rank);
    } else if (is_there()) {
      block_.fill({parameter_.number, 0}, kBlock);
      round(kBlock);
    }
  }

  [[nodiscard]] bool is_there() const { return parameter_.kind != Parameter::Kind::none; }

  void move_to(const Offsets& offsets) { source_.move_to(offsets.of(operand_)); }

  /// How many positions in turn have one element, as far as is known.
  [[nodiscard]] size_t repeats(size_t position) const {
    if (parameter_.kind != Parameter::Kind::vector) return SIZE_MAX;
    const ParameterPlaces::Stretch found = source_.stretch(position);
    return found.repeats ? found.length : 1;
  }

  /// n <= kBlock elements from a position on; good until the next call.
  const WideBlock& at(size_t position, size_t n) {
    if (parameter_.kind != Parameter::Kind::vector) return block_;
    const uint64_t from = source_.base();
    if (from == held_from_ && position == held_position_ && n == held_) return block_;
    held_from_ = from;
    held_position_ = position;
    held_ = n;
    source_.read(position, n, block_.high);
    if (two_) std::memset(block_.low, 0, sizeof(block_.low));
    if (n % 2 != 0) block_.high[n] = 0;
    round(n);
    return block_;
  }

 private:
  void round(size_t n) {
    if (!rounds_ && offset_ == 0) return;
    for (size_t i = 0; i < n; ++i) {
      double value = block_.high[i];
      if (rounds_) value = static_cast<float>(value);
      value += operand_ == Operand::weight && rounds_ ? static_cast<float>(offset_) : offset_;
      block_.high[i] = operand_ == Operand::weight && rounds_ ? static_cast<float>(value) : value;
    }
  }

  Operand operand_;
  const Parameter& parameter_;
  bool two_;
  double offset_;
  bool rounds_;
  uint64_t held_from_ = 0;
  size_t held_position_ = 0, held_ = 0;
  ParameterSource source_;
  WideBlock block_;
};

/// Contiguous rows of x at equal distances, of one run or of several side by side.
struct Tile {
  uint64_t begin;  // of x
  size_t rows, columns;
  uint64_t stride;
  uint64_t row;     // the first, among the positions of the reduced dimensions that come first
  size_t position;  // along the inner dimensions
};

/// All of a call. Runs are gone through up to three times: for their statistics, for the means of their gradients, and to
/// write. What is computed per element is wide, and by blocks.
class Backward {
 public:
  /// `sum` makes what is normalized, if that is not x.
  Backward(const Call& call, const Layout& layout, Statistics& statistics, const Scaling& scaling, SumMaker* sum)
      : call_(call),
        layout_(layout),
        statistics_(statistics),
        sum_(sum),
        scaling_(scaling),
        two_(call.dtype == DType::float64),
        size_(arithmetic_size(call.dtype)),
        kept_(call, layout.inner, false),
        reduced_(call, layout.inner, true),
        is_given_(has(Operand::given_rstd)),
        has_steps_(call.activation != Activation::none || has(Operand::scale) || has(Operand::shift)),
        is_narrow_(!two_ && !layout.columns && !has_steps_ && sum == nullptr && call.op != Op::batch_norm),
        x_(call, Operand::x, call.dtype, call.x),
        grad_output_(call, Operand::grad_output, call.grad_output_dtype, call.grad_output),
        grad_sum_(call, Operand::grad_sum, call.grad_sum_dtype, call.grad_sum),
        grad_input_(call, Operand::y, call.dtype, call.y),
        gate_(call, Operand::gate, layout.inner),
        weight_(call, Operand::weight, layout.inner, call.weight_offset),
        narrow_weight_(call, Operand::weight, 1, call.weight_offset, layout.inner, call.rank),
        bias_(call, Operand::bias, layout.inner),
        scale_(call, Operand::scale, layout.inner, 1),
        shift_(call, Operand::shift, layout.inner),
        mean_(call, is_given_ ? Operand::given_mean : Operand::running_mean, first_of_runs()),
        rstd_(call, is_given_ ? Operand::given_rstd : Operand::running_var, first_of_runs()),
        gradients_{of(Operand::residual), of(Operand::gate),  of(Operand::sum_bias), of(Operand::weight),
                   of(Operand::bias),     of(Operand::scale), of(Operand::shift)} {}

  void run() {
    const auto fold = static_cast<size_t>(layout_.fold);
    const size_t most = layout_.columns ? kBlock / fold * fold : 1;
    const uint64_t size = layout_.columns ? layout_.size : 1;
    uint64_t i = 0;
    if (has_quads()) {
      narrow_weight_.expand(static_cast<size_t>(layout_.size), expanded_);
      for (; i + kQuad <= kept_.count(); i += kQuad) quad(i);
    }
    for (; i < kept_.count(); ++i) {
      const Offsets offsets = kept_.at(i, {});
      for (uint64_t first = 0; first < size; first += most) {
        panel({offsets, first, static_cast<size_t>(std::min<uint64_t>(most, size - first))});
      }
    }
  }

  void finish() {
    for (Gradient& gradient : gradients_) gradient.finish();
  }

 private:
  // One run, or the runs of some columns.
  struct Panel {
    const Offsets& offsets;
    uint64_t first;
    size_t columns;
  };

  [[nodiscard]] bool has(Operand operand) const { return call_.parameter(operand).kind != Parameter::Kind::none; }
  [[nodiscard]] bool is_centered_op() const { return is_centered(call_.op); }
  // Where the positions begin that tell the runs of a panel apart.
  [[nodiscard]] size_t first_of_runs() const { return layout_.columns ? layout_.inner : call_.rank; }
  [[nodiscard]] Gradient of(Operand operand) const {
    return Gradient(call_, operand, Layout::size_from(call_, 0), layout_.inner);
  }
  Gradient& gradient(Operand of) {
    return gradients_[static_cast<size_t>(of) - static_cast<size_t>(Operand::residual)];
  }
  [[nodiscard]] bool adds() const { return sum_ != nullptr; }

  enum class Pass : uint8_t { kStatistics, kMeans, kWrite, kNarrowMeans, kNarrowWrite };

  void panel(const Panel& panel) {
    take_constants(panel);
    if (is_narrow_ && take_narrow_means(panel)) {
      pass(panel, Pass::kNarrowWrite);
      return;
    }
    spread_constants(panel);
    scales_ = false;
    if (call_.op != Op::batch_norm) take_means(panel);
    pass(panel, Pass::kWrite);
  }

  // Rows that are runs, share their parameters, and are short enough for a stage.
  [[nodiscard]] bool has_quads() {
    return is_narrow_ && reduced_.count() == 1 && layout_.size <= kQuadColumns && kept_.sharing() >= kept_.count() &&
           gradient(Operand::weight).is_contiguous() && gradient(Operand::bias).is_contiguous();
  }

  // Four rows, whose gradients of parameters are summed before they are added to the rest; each row by itself where float32
  // does not do for all of them.
  void quad(uint64_t index) {
    const Offsets offsets = kept_.at(index, {});
    const auto n = static_cast<size_t>(layout_.size);
    const Tile tile = {offsets.x, kQuad, n, n, 0, 0};
    const Rows x = place(x_, tile, stages_[0]);
    const Rows grad = place(grad_output_, tile, stages_[2]);
    const NarrowWeights weights = {narrow_weight_.at(0, 1), !has_contiguous_weight()};
    NarrowRun runs[kQuad];
    bool narrow = true;
    for (size_t r = 0; r < kQuad && narrow; ++r) {
      held_ = x.at(r);
      // Only statistics that are given stand elsewhere for each row.
      take_constants({is_given_ && r != 0 ? kept_.at(index + r, {}) : offsets, 0, 1});
      begin_narrow();
      add_narrow(narrow_, floats(x.at(r)), floats(grad.at(r)), weights, n, narrow_sums_);
      narrow = end_narrow();
      runs[r] = narrow_;
    }
    held_ = nullptr;
    if (!narrow) {
      for (size_t r = 0; r < kQuad; ++r) panel({kept_.at(index + r, {}), 0, 1});
      return;
    }
    for (Gradient& each : gradients_) each.move_to(offsets);
    std::byte* direct = grad_input_.direct(tile.begin);
    auto* to = floats(direct != nullptr ? direct : stages_[2]);
    Gradient& weight = gradient(Operand::weight);
    Gradient& bias = gradient(Operand::bias);
    const bool whole = !weight.is_remote() && !bias.is_remote();
    for (size_t i = 0; i < n; i += whole ? n : kBlock) {
      const size_t size = whole ? n : std::min(kBlock, n - i);
      write_quad(runs, floats(x.data) + i, floats(grad.data) + i, n, {weights.from(i), weights.repeats}, size, to + i,
                 weight.contiguous(i, size), bias.contiguous(i, size));
    }
    if (direct == nullptr) grad_input_.write(tile.begin, kQuad * n, stages_[2]);
  }

  [[nodiscard]] bool has_contiguous_weight() const {
    return call_.parameter(Operand::weight).kind == Parameter::Kind::vector;
  }

  static float* floats(std::byte* of) { return reinterpret_cast<float*>(of); }

  // Whether float32 does for a run: it is then ready to be written.
  bool take_narrow_means(const Panel& panel) {
    begin_narrow();
    pass(panel, Pass::kNarrowMeans);
    return end_narrow();
  }

  void begin_narrow() {
    narrow_ = NarrowRun(constants_[0].mean.high, constants_[0].mean.low, constants_[0].rstd.high);
    narrow_sums_ = {};
  }

  bool end_narrow() {
    if (!narrow_sums_.do_for(narrow_)) return false;
    const double part = -1 / static_cast<double>(scaling_.size);
    narrow_.set(is_centered_op() ? narrow_sums_.grad() * part : 0, narrow_sums_.product(narrow_) * product_part(0));
    return true;
  }

  // What a sum of products is multiplied with, for one to add.
  [[nodiscard]] double product_part(size_t run) const {
    if (call_.op == Op::l2_normalize) return constants_[run].floored ? 0.0 : -1.0;
    return -1 / static_cast<double>(scaling_.size);
  }

  // Tiles do not depend on where operands are, so that sums have the same order.
  void pass(const Panel& panel, Pass pass) {
    constexpr size_t kColumns = kStageBytes / sizeof(double);
    // Of columns at most a block, which is gathered at once.
    const uint64_t inner = layout_.columns ? reduced_.inner_size() : 1;
    const uint64_t most = std::min<uint64_t>(inner, kColumns / kBlock);
    const uint64_t columns = layout_.columns ? panel.columns : layout_.size;
    for (uint64_t row = 0; row < reduced_.count();) {
      const auto rows = static_cast<size_t>(std::min(most, inner - row % inner));
      const uint64_t begin = reduced_.at(row, panel.offsets).x + panel.first;
      for (uint64_t at = 0; at < columns; at += kColumns) {
        const auto n = static_cast<size_t>(std::min<uint64_t>(kColumns, columns - at));
        const uint64_t stride = layout_.columns ? reduced_.inner_stride() : n;
        go_through(panel, {begin + at, rows, n, stride, row, static_cast<size_t>(panel.first + at)}, pass);
      }
      row += rows;
    }
  }

  struct Rows {
    std::byte* data;
    size_t stride;  // in bytes
    [[nodiscard]] std::byte* at(size_t row) const { return data + row * stride; }
  };

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

  // What is normalized: x, or the sum.
  Rows place_input(const Tile& tile) {
    if (!adds()) return place(x_, tile, stages_[0]);
    return stage(tile, stages_[0], [&](uint64_t begin, size_t n, std::byte* to) { sum_->make(begin, n, to); });
  }

  void take_constants(const Panel& panel) {
    const bool takes = !is_given_ && call_.op != Op::batch_norm;
    const size_t fold = layout_.columns ? static_cast<size_t>(layout_.fold) : 0;
    const size_t runs = fold == 0 ? 1 : panel.columns / fold;
    if (takes) {
      // Where all else is wide, so are the sums: what is left where a bias cancels a normalized value is as good.
      statistics_.begin(runs, is_narrow_ && (scaling_.size == layout_.size || layout_.size >= kFewest));
      do {
        if (held_ == nullptr) {
          pass(panel, Pass::kStatistics);
        } else {
          statistics_.add(held_, 0, 1, static_cast<size_t>(layout_.size), 0);
        }
      } while (statistics_.next_pass());
    } else {
      mean_.move_to(panel.offsets);
      rstd_.move_to(panel.offsets);
    }
    for (size_t r = 0; r < runs; ++r) {
      constants_[r] = takes ? statistics_.constants(r) : given(static_cast<size_t>(panel.first) + r * fold);
    }
  }

  // To each lane.
  void spread_constants(const Panel& panel) {
    const size_t lanes = layout_.columns ? static_cast<size_t>(layout_.fold)
                                         : static_cast<size_t>(std::min<uint64_t>(kBlock, layout_.size));
    lanes_ = layout_.columns ? panel.columns : lanes;
    for (size_t k = 0; k < lanes_; ++k) {
      const RunConstants& found = constants_[k / lanes];
      run_scale_[k] = found.scale;
      run_back_[k] = found.back;
      grad_scale_[k] = grad_back_[k] = 1;
      minus_mean_.set(k, {-found.mean.high, -found.mean.low});
      factor_.set(k, found.factor);
      run_rstd_.set(k, found.rstd);
    }
    if (lanes_ % 2 == 0) return;
    // The lane beside the last.
    for (WideBlock* each : {&minus_mean_, &factor_, &run_rstd_}) each->set(lanes_, {0, 0});
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

  // Nothing is wider than float64: runs whose sums overflow, or whose products may vanish, are scaled by a power of two and
  // summed again. Products of what had only cancelled to nearly nothing may then overflow.
  void take_means(const Panel& panel) {
    const size_t lanes = layout_.columns ? static_cast<size_t>(layout_.fold) : lanes_;
    const TwoPart part = {-1 / static_cast<double>(scaling_.size), 0};
    for (double had = 1;; had = kUp) {
      mean_grad_.fill({0, 0}, kBlock);
      mean_product_.fill({0, 0}, kBlock);
      pass(panel, Pass::kMeans);
      // The mean of a run, with the sign to add by, in each of its lanes.
      for (size_t k = 0; k < lanes_; k += lanes) {
        spread(mean_grad_, k, lanes, part);
        spread(mean_product_, k, lanes, {product_part(k / lanes), 0});
      }
      if (!two_ || !rescale(had)) return;
    }
  }

  // Chooses anew for runs that had a scale; whether any is another now.
  bool rescale(double had) {
    bool changes = false;
    LAYERNORM_ROLLED
    for (size_t k = 0; k < lanes_; ++k) {
      if (grad_scale_[k] != had) continue;
      const double most = std::fabs(mean_grad_.high[k]) + std::fabs(mean_product_.high[k]);
      double scale = had;
      if (!(most < std::numeric_limits<double>::infinity())) {
        scale = had == 1 ? kDown : 1;
      } else if (most < 0x1p-700) {
        scale = kUp;
      }
      if (scale == had) continue;
      changes = true;
      grad_scale_[k] = scale;
      // Both ways back at once, unless together they vanish.
      const bool was_apart = grad_back_[k] != 1;
      grad_back_[k] = 1;
      if (was_apart) continue;
      if (run_back_[k] * (had / scale) < 0x1p-1000) {
        grad_back_[k] = had / scale;
      } else {
        run_back_[k] *= had / scale;
      }
    }
    scales_ = scales_ || changes;
    return changes;
  }

  void spread(WideBlock& block, size_t begin, size_t lanes, TwoPart part) const {
    const TwoPart mean = product(total(two_, block, begin, lanes), part);
    for (size_t k = begin; k < begin + lanes; ++k) block.set(k, mean);
  }

  void go_through(const Panel& panel, const Tile& tile, Pass pass) {
    const Rows x = place_input(tile);
    if (pass == Pass::kStatistics) {
      const size_t fold = layout_.columns ? static_cast<size_t>(layout_.fold) : 0;
      statistics_.add(x.data, x.stride / size_, tile.rows, tile.columns, fold);
      return;
    }
    const Rows grad = place(grad_output_, tile, stages_[1]);
    const bool writes = pass == Pass::kWrite || pass == Pass::kNarrowWrite;
    if (writes && grad_sum_.is_there()) of_sum_ = place(grad_sum_, tile, stages_[2]);
    if (writes && gradient(Operand::gate).is_wanted()) own_ = place(x_, tile, stages_[3]);
    // Over what was staged of the gradient, block by block.
    std::byte* direct = grad_input_.direct(tile.begin);
    const Rows to = direct != nullptr ? Rows{direct, static_cast<size_t>(tile.stride) * size_}
                                      : Rows{stages_[1], tile.columns * size_};
    for (size_t row = 0; row < tile.rows; ++row) {
      const Offsets offsets = reduced_.at(tile.row + row, panel.offsets);
      for (WideParameter* each : {&gate_, &weight_, &bias_, &scale_, &shift_}) each->move_to(offsets);
      narrow_weight_.move_to(offsets.of(Operand::weight));
      for (Gradient& each : gradients_) each.move_to(offsets);
      for (size_t i = 0, n = 0; i < tile.columns; i += n) {
        const size_t at = i * size_;
        n = std::min(kBlock, tile.columns - i);
        if (pass >= Pass::kNarrowMeans) {
          const size_t repeats = std::min(weight_.repeats(tile.position + i), bias_.repeats(tile.position + i));
          n = std::min(std::max(repeats, n), tile.columns - i);
          narrow_block(x.at(row) + at, grad.at(row) + at, writes ? to.at(row) + at : nullptr, tile.position + i, n);
          continue;
        }
        prepare(x.at(row) + at, grad.at(row) + at, tile.position + i, n);
        if (writes) {
          write(row, at, tile.position + i, n);
          narrow(two_, of_normalized_, to.at(row) + at, n);
        } else {
          add_means(n);
        }
      }
    }
    if (!writes || direct != nullptr) return;
    stage(tile, stages_[1], [&](uint64_t begin, size_t n, std::byte* from) { grad_input_.write(begin, n, from); });
  }

  // `to` is null where the means are taken. More than a block only of what shares its parameters.
  void narrow_block(std::byte* from, std::byte* of, std::byte* to, size_t position, size_t n) {
    const float* x = floats(from);
    const float* grad = floats(of);
    const NarrowWeights weights = {narrow_weight_.at(position, std::min(n, kBlock)), n > kBlock};
    if (to == nullptr) {
      add_narrow(narrow_, x, grad, weights, n, narrow_sums_);
      return;
    }
    // Before the gradient may be written over.
    if (gradient(Operand::bias).is_wanted()) gradient(Operand::bias).add(position, n, grad);
    float* products = floats(stages_[2]);
    write_narrow(narrow_, x, grad, weights, n, floats(to), products);
    if (gradient(Operand::weight).is_wanted()) gradient(Operand::weight).add(position, n, products);
  }

  void add_means(size_t n) {
    multiply(two_, of_normalized_, normalized_, scratch_, n);
    accumulate(two_, scratch_.high, scratch_.low, mean_product_.high, mean_product_.low, n);
    if (!is_centered_op()) return;
    accumulate(two_, of_normalized_.high, of_normalized_.low, mean_grad_.high, mean_grad_.low, n);
  }

  // For n values at a position: the normalized values and the gradients of them and of what follows them.
  [[gnu::noinline]] void prepare(const std::byte* x, const std::byte* grad, size_t position, size_t n) {
    widen(two_, x, normalized_, n);
    if (two_) {
      for (size_t k = 0; k < n; ++k) normalized_.high[k] *= run_scale_[k];
    }
    if (is_centered_op()) {
      accumulate(two_, minus_mean_.high, minus_mean_.low, normalized_.high, normalized_.low, n);
      if (!two_) accumulate(false, minus_mean_.low, nullptr, normalized_.high, nullptr, n);
    }
    multiply(two_, normalized_, factor_, normalized_, n);
    widen(two_, grad, of_affine_, n);
    if (has_steps_) step_back(position, n);
    of_normalized_ = of_affine_;
    if (scales_) scale_by(grad_scale_, of_normalized_, n);
    if (weight_.is_there()) multiply(two_, of_normalized_, weight_.at(position, n), of_normalized_, n);
  }

  // By a power of two for each lane.
  [[gnu::noinline]] static void scale_by(const double* scales, WideBlock& block, size_t n) {
    LAYERNORM_ROLLED
    for (size_t k = 0; k < n; ++k) {
      block.high[k] *= scales[k];
      block.low[k] *= scales[k];
    }
  }

  // Back through the activation, scale and shift.
  void step_back(size_t position, size_t n) {
    if (weight_.is_there()) {
      multiply(two_, normalized_, weight_.at(position, n), affine_, n);
    } else {
      affine_ = normalized_;
    }
    if (bias_.is_there()) add(two_, affine_, bias_.at(position, n), affine_, n);
    of_result_ = of_affine_;
    if (call_.activation != Activation::none) {
      WideBlock& result = scratch_;
      result = affine_;
      if (scale_.is_there()) multiply(two_, result, scale_.at(position, n), result, n);
      if (shift_.is_there()) add(two_, result, shift_.at(position, n), result, n);
      if (!two_) std::memset(result.low, 0, sizeof(result.low));
      const size_t even = (n + 1) / 2 * 2;
      derivative(call_.activation, result.high, result.low, result.high, even);
      std::memset(result.low, 0, sizeof(result.low));
      multiply(two_, of_result_, result, of_result_, n);
    }
    of_affine_ = of_result_;
    if (scale_.is_there()) multiply(two_, of_result_, scale_.at(position, n), of_affine_, n);
  }

  // Adds to the gradients of the parameters and makes that of x in of_normalized_; `at` in bytes of a row.
  void write(size_t row, size_t at, size_t position, size_t n) {
    add_product(Operand::weight, position, n, of_affine_, normalized_);
    add_gradient(Operand::bias, position, n, of_affine_);
    add_product(Operand::scale, position, n, of_result_, affine_);
    add_gradient(Operand::shift, position, n, of_result_);
    WideBlock& result = of_normalized_;
    if (call_.op != Op::batch_norm) {
      multiply(two_, normalized_, mean_product_, normalized_, n);
      if (is_centered_op()) add(two_, result, mean_grad_, result, n);
      add(two_, result, normalized_, result, n);
    }
    multiply(two_, result, run_rstd_, result, n);
    for (size_t k = 0; k < n; ++k) {
      if (run_rstd_.high[k] == 0) result.set(k, {0, 0});
    }
    if (scales_) scale_by(grad_back_, result, n);
    if (two_) scale_by(run_back_, result, n);
    if (!adds()) return;
    if (grad_sum_.is_there()) {
      widen(two_, of_sum_.at(row) + at, scratch_, n);
      add(two_, result, scratch_, result, n);
    }
    add_gradient(Operand::residual, position, n, result);
    add_gradient(Operand::sum_bias, position, n, result);
    if (gradient(Operand::gate).is_wanted()) {
      widen(two_, own_.at(row) + at, scratch_, n);
      multiply(two_, scratch_, result, scratch_, n);
      add_gradient(Operand::gate, position, n, scratch_);
    }
    if (gate_.is_there()) multiply(two_, result, gate_.at(position, n), result, n);
  }

  void add_product(Operand of, size_t position, size_t n, const WideBlock& a, const WideBlock& b) {
    if (!gradient(of).is_wanted()) return;
    multiply(two_, a, b, scratch_, n);
    gradient(of).add(position, n, scratch_);
  }

  void add_gradient(Operand of, size_t position, size_t n, const WideBlock& values) {
    if (gradient(of).is_wanted()) gradient(of).add(position, n, values);
  }

  const Call& call_;
  const Layout& layout_;
  Statistics& statistics_;
  SumMaker* sum_;
  Scaling scaling_;
  bool two_;
  size_t size_;  // of an element in bytes
  Axes kept_, reduced_;
  bool is_given_, has_steps_;
  bool is_narrow_;  // whether runs may do with float32
  Elements x_, grad_output_, grad_sum_, grad_input_;
  WideParameter gate_, weight_;
  ParameterBlocks<float> narrow_weight_;
  WideParameter bias_, scale_, shift_, mean_, rstd_;
  Gradient gradients_[kGradients];

  std::byte* held_ = nullptr;  // the values of the run, where they are at hand
  NarrowRun narrow_;
  NarrowSums narrow_sums_;
  Rows of_sum_ = {nullptr, 0};  // at the present tile
  Rows own_ = {nullptr, 0};     // x beside the sum
  RunConstants constants_[kBlock];
  // Of each column; of one run in each lane.
  size_t lanes_ = 0;
  double run_scale_[kBlock], run_back_[kBlock];
  double grad_scale_[kBlock], grad_back_[kBlock];  // of the gradients of normalized values
  bool scales_ = false;                            // whether any is not 1
  WideBlock minus_mean_, factor_, run_rstd_, mean_grad_, mean_product_;
  // Of each value of a block.
  WideBlock normalized_, affine_, of_result_, of_affine_, of_normalized_, scratch_;
  alignas(16) std::byte stages_[4][kStageBytes];
  alignas(16) float expanded_[kQuadColumns];  // the weight of rows
};

// It stands on the stack, of which the wasm module has 256 KB.
static_assert(sizeof(Backward) < 180000);

[[gnu::noinline]] void run_backward(const Call& call, const Layout& layout, Statistics& statistics,
                                    const Scaling& scaling, SumMaker* sum) {
  Backward all(call, layout, statistics, scaling, sum);
  all.run();
  all.finish();
}

// Of no values the gradients are sums of nothing. Parameters must not be looked at: no element of theirs is at any position.
void clear_gradients(const Call& call) {
  for (auto of = static_cast<size_t>(Operand::residual); of <= static_cast<size_t>(Operand::shift); ++of) {
    Gradient(call, static_cast<Operand>(of), 0, call.rank).finish();
  }
}

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
