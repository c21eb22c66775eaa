#include "kernels/backward.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "kernels/derivative.h"
#include "kernels/elements.h"
#include "kernels/gradient.h"
#include "kernels/kernels.h"
#include "kernels/layout.h"
#include "kernels/scaling.h"
#include "kernels/sum.h"
#include "kernels/wide.h"

namespace layernorm {
namespace {

// What stays near while a run, or a panel of them, is gone through.
constexpr size_t kStageBytes = 8192;

/// What a run is normalized with, and the two means that its gradient needs.
template <class T>
struct RunState;

template <>
struct RunState<float> {
  using Run = RunF32;
  NormalizerF32 normalizer;
  double rstd = 0;
  double mean_grad = 0, mean_product = 0;

  void give(double mean, double given_rstd) {
    normalizer.d = mean;
    normalizer.rstd = given_rstd;
    normalizer.multiplier = std::isinf(given_rstd) ? 0 : given_rstd;
  }
  void take(const Run& run) { normalizer = run.normalizer(); }
  void set_rstd() { rstd = normalizer.multiplier; }
  [[nodiscard]] bool is_floored(const Scaling& scaling) const { return scaling.is_floored(normalizer.variance, 1); }
};

template <>
struct RunState<double> {
  using Run = RunF64;
  NormalizerF64 normalizer;
  TwoPart rstd = {0, 0};
  TwoPart mean_grad = {0, 0}, mean_product = {0, 0};

  void give(double mean, double given_rstd) {
    normalizer.scaled_mean = {mean, 0};
    normalizer.rstd = given_rstd;
    normalizer.multiplier = {std::isinf(given_rstd) ? 0 : given_rstd, 0};
    normalizer.variance = 1;
  }
  void take(const Run& run) { normalizer = run.normalizer(); }
  void set_rstd() {
    const NormalizerF64& n = normalizer;
    if (std::isinf(n.rstd)) {
      rstd = {0, 0};
    } else if (n.variance == 0) {
      rstd = {n.rstd, 0};
    } else {
      rstd = in_parts(n.multiplier.high * n.scale, n.multiplier.low * n.scale);
    }
  }
  [[nodiscard]] bool is_floored(const Scaling& scaling) const {
    return scaling.is_floored(normalizer.variance, normalizer.scale);
  }
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
/// write. What is computed per element is wide.
template <class T>
class Backward {
  using V = Wide<T>;
  using State = RunState<T>;
  using Run = typename State::Run;

  static constexpr size_t kStage = kStageBytes / sizeof(T);
  static_assert(kStage % kBlock == 0);

 public:
  Backward(const Call& call, const Layout& layout)
      : call_(call),
        layout_(layout),
        kept_(call, layout.inner, false),
        reduced_(call, layout.inner, true),
        scaling_{call.op, call.eps,
                 static_cast<size_t>(reduced_.count() * (layout.columns ? layout.fold : layout.size))},
        centered_(is_centered(call.op)),
        adds_(has(Operand::residual)),
        has_steps_(call.activation != Activation::none || has(Operand::scale) || has(Operand::shift)),
        is_given_(call.parameter(Operand::given_rstd).kind != Parameter::Kind::none),
        x_(call, Operand::x, call.dtype, call.x),
        grad_output_(call, Operand::grad_output, call.grad_output_dtype, call.grad_output),
        grad_sum_(call, Operand::grad_sum, call.grad_sum_dtype, call.grad_sum),
        grad_input_(call, Operand::y, call.dtype, call.y),
        sum_(call),
        gate_(call, Operand::gate, 1, 0, layout.inner, call.rank),
        weight_(call, Operand::weight, 1, call.weight_offset, layout.inner, call.rank),
        bias_(call, Operand::bias, 0, 0, layout.inner, call.rank),
        scale_(call, Operand::scale, 0, 0, layout.inner, call.rank),
        shift_(call, Operand::shift, 0, 0, layout.inner, call.rank),
        mean_(call, is_given_ ? Operand::given_mean : Operand::running_mean, 0, 0, first_of_runs(), call.rank),
        rstd_(call, is_given_ ? Operand::given_rstd : Operand::running_var, 1, 0, first_of_runs(), call.rank),
        grad_residual_(call, Operand::residual, elements(), layout.inner, call.rank),
        grad_gate_(call, Operand::gate, elements(), layout.inner, call.rank),
        grad_sum_bias_(call, Operand::sum_bias, elements(), layout.inner, call.rank),
        grad_weight_(call, Operand::weight, elements(), layout.inner, call.rank),
        grad_bias_(call, Operand::bias, elements(), layout.inner, call.rank),
        grad_scale_(call, Operand::scale, elements(), layout.inner, call.rank),
        grad_shift_(call, Operand::shift, elements(), layout.inner, call.rank) {}

  void run() {
    const auto fold = static_cast<size_t>(layout_.fold);
    const size_t most = layout_.columns ? kBlock / fold * fold : 0;
    for (uint64_t i = 0; i < kept_.count(); ++i) {
      const Offsets offsets = kept_.at(i, {});
      if (!layout_.columns) {
        panel(offsets, 0, 0);
        continue;
      }
      for (uint64_t first = 0; first < layout_.size; first += most) {
        panel(offsets, first, static_cast<size_t>(std::min<uint64_t>(most, layout_.size - first)));
      }
    }
  }

  void finish() {
    for (Gradient<V>* gradient :
         {&grad_residual_, &grad_gate_, &grad_sum_bias_, &grad_weight_, &grad_bias_, &grad_scale_, &grad_shift_}) {
      gradient->finish();
    }
  }

 private:
  [[nodiscard]] bool has(Operand operand) const { return call_.parameter(operand).kind != Parameter::Kind::none; }
  // Where the positions begin that tell runs of a panel apart.
  [[nodiscard]] size_t first_of_runs() const { return layout_.columns ? layout_.inner : call_.rank; }
  [[nodiscard]] uint64_t elements() const { return Layout::size_from(call_, 0); }

  // One run, or the runs of some columns.
  void panel(const Offsets& offsets, uint64_t first, size_t columns) {
    const auto fold = static_cast<size_t>(layout_.fold);
    runs_ = layout_.columns ? columns / fold : 1;
    for (size_t k = 0; k < kBlock; ++k) run_of_[k] = static_cast<uint8_t>(layout_.columns ? k / fold : 0);
    for (size_t r = 0; r < runs_; ++r) states_[r] = {};
    const Panel of = {offsets, first, columns};
    take_statistics(of);
    for (size_t r = 0; r < runs_; ++r) states_[r].set_rstd();
    if (call_.op != Op::batch_norm) take_means(of);
    each_tile(of, [&](const Tile& tile) { write(of, tile); });
  }

  struct Panel {
    const Offsets& offsets;
    uint64_t first;
    size_t columns;
  };

  // Tiles do not depend on where operands are, so that sums have the same order.
  template <class Visit>
  void each_tile(const Panel& panel, const Visit& visit) {
    if (layout_.columns) {
      const uint64_t inner = reduced_.inner_size();
      const uint64_t most = std::min<uint64_t>(inner, kStage / kBlock);
      for (uint64_t row = 0; row < reduced_.count();) {
        const auto rows = static_cast<size_t>(std::min(most, inner - row % inner));
        const uint64_t begin = reduced_.at(row, panel.offsets).x + panel.first;
        visit({begin, rows, panel.columns, reduced_.inner_stride(), row, static_cast<size_t>(panel.first)});
        row += rows;
      }
      return;
    }
    for (uint64_t row = 0; row < reduced_.count(); ++row) {
      const uint64_t begin = reduced_.at(row, panel.offsets).x;
      for (uint64_t at = 0; at < layout_.size; at += kStage) {
        const auto n = static_cast<size_t>(std::min<uint64_t>(kStage, layout_.size - at));
        visit({begin + at, 1, n, n, row, static_cast<size_t>(at)});
      }
    }
  }

  struct Rows {
    T* data;
    size_t stride;
    [[nodiscard]] T* at(size_t row) const { return data + row * stride; }
  };

  // A tile where it stands, or as `bring(begin, n, to)` brings its rows to a stage.
  template <class Bring>
  static Rows stage(const Tile& tile, T* room, const Bring& bring) {
    if (tile.stride == tile.columns) {
      bring(tile.begin, tile.rows * tile.columns, room);
    } else {
      for (size_t row = 0; row < tile.rows; ++row) {
        bring(tile.begin + row * tile.stride, tile.columns, room + row * tile.columns);
      }
    }
    return {room, tile.columns};
  }

  static Rows place(Elements<T>& of, const Tile& tile, T* room) {
    if (of.is_direct()) return {of.direct(tile.begin), static_cast<size_t>(tile.stride)};
    return stage(tile, room, [&](uint64_t begin, size_t n, T* to) { of.read(begin, n, to); });
  }

  // What is normalized: x, or the sum.
  Rows place_input(const Tile& tile) {
    if (!adds_) return place(x_, tile, stages_[0]);
    return stage(tile, stages_[0], [&](uint64_t begin, size_t n, T* to) { sum_.make_in(begin, n, to); });
  }

  void take_statistics(const Panel& panel) {
    if (is_given_ || call_.op == Op::batch_norm) {
      mean_.move_to(panel.offsets.of(is_given_ ? Operand::given_mean : Operand::running_mean));
      rstd_.move_to(panel.offsets.of(is_given_ ? Operand::given_rstd : Operand::running_var));
      for (size_t r = 0; r < runs_; ++r) {
        const auto position = static_cast<size_t>(panel.first + r * layout_.fold);
        give(states_[r], *mean_.at(position, 1), *rstd_.at(position, 1));
      }
      return;
    }
    // A large weight, so that the mean is as good as float64 has it: a value near it contributes little to the gradient of the
    // weight, but that has to be right.
    const bool contiguous = !layout_.columns && (scaling_.size == layout_.size || layout_.size >= kFewest);
    for (size_t r = 0; r < runs_; ++r) new (&runs()[r]) Run(scaling_, kLargeWeight, contiguous);
    bool more = true;
    while (more) {
      each_tile(panel, [&](const Tile& tile) { add(tile, place_input(tile)); });
      more = false;
      for (size_t r = 0; r < runs_; ++r) more = runs()[r].next_pass() || more;
    }
    for (size_t r = 0; r < runs_; ++r) states_[r].take(runs()[r]);
  }

  void give(State& state, double mean, double rstd_or_var) {
    if (is_given_) {
      state.give(centered_ ? mean : 0, rstd_or_var);
    } else {
      Run run(scaling_, 1, false);
      run.give(static_cast<T>(mean), static_cast<T>(rstd_or_var), 1);
      state.take(run);
    }
  }

  // Column by column, each gathered.
  void add(const Tile& tile, const Rows& x) {
    if (!layout_.columns) {
      runs()[0].add(x.data, tile.columns);
      return;
    }
    T values[kBlock];
    for (size_t row = 0; row < tile.rows; row += kBlock) {
      const size_t n = std::min(kBlock, tile.rows - row);
      for (size_t c = 0; c < tile.columns; ++c) {
        for (size_t i = 0; i < n; ++i) values[i] = x.at(row + i)[c];
        runs()[run_of_[c]].add(values, n);
      }
    }
  }

  void take_means(const Panel& panel) {
    each_tile(panel, [&](const Tile& tile) {
      const Rows x = place_input(tile);
      const Rows grad = place(grad_output_, tile, stages_[1]);
      each_block(panel, tile, [&](size_t row, size_t i, size_t n) {
        prepare(x.at(row) + i, grad.at(row) + i, tile.position + i, n);
        add_means(n);
      });
    });
    const V part = widen_rounded<T>(1 / static_cast<double>(scaling_.size));
    for (size_t r = 0; r < runs_; ++r) {
      State& state = states_[r];
      state.mean_grad = centered_ ? state.mean_grad * part : V();
      if (call_.op != Op::l2_normalize) {
        state.mean_product = state.mean_product * part;
      } else if (state.is_floored(scaling_)) {
        state.mean_product = V();
      }
    }
  }

  void add_means(size_t n) {
    if (layout_.columns) {
      for (size_t k = 0; k < n; ++k) {
        State& state = states_[run_of_[k]];
        state.mean_grad = state.mean_grad + of_normalized_[k];
        state.mean_product = state.mean_product + of_normalized_[k] * normalized_[k];
      }
      return;
    }
    V grad = V();
    V product = V();
    for (size_t k = 0; k < n; ++k) {
      grad = grad + of_normalized_[k];
      product = product + of_normalized_[k] * normalized_[k];
    }
    states_[0].mean_grad = states_[0].mean_grad + grad;
    states_[0].mean_product = states_[0].mean_product + product;
  }

  // Calls visit(row, first column, columns) for blocks of a tile, the parameters at the row.
  template <class Visit>
  void each_block(const Panel& panel, const Tile& tile, const Visit& visit) {
    for (size_t row = 0; row < tile.rows; ++row) {
      move_to(reduced_.at(tile.row + row, panel.offsets));
      for (size_t i = 0; i < tile.columns; i += kBlock) visit(row, i, std::min(kBlock, tile.columns - i));
    }
  }

  void move_to(const Offsets& offsets) {
    gate_.move_to(offsets.of(Operand::gate));
    weight_.move_to(offsets.of(Operand::weight));
    bias_.move_to(offsets.of(Operand::bias));
    scale_.move_to(offsets.of(Operand::scale));
    shift_.move_to(offsets.of(Operand::shift));
    for (Gradient<V>* gradient :
         {&grad_residual_, &grad_gate_, &grad_sum_bias_, &grad_weight_, &grad_bias_, &grad_scale_, &grad_shift_}) {
      gradient->move_to(offsets);
    }
  }

  // For n values at a position: the normalized values and the gradients of them and of what follows them.
  [[gnu::noinline]] void prepare(const T* x, const T* grad, size_t position, size_t n) {
    const T* weight = weight_.at(position, n);
    for (size_t k = 0; k < n; ++k) normalized_[k] = states_[run_of_[k]].normalizer.normalize(x[k]);
    if (!has_steps_) {
      for (size_t k = 0; k < n; ++k) of_affine_[k] = widen(grad[k]);
    } else {
      const T* bias = bias_.at(position, n);
      const T* scale = scale_.at(position, n);
      const T* shift = shift_.at(position, n);
      double high[kBlock], low[kBlock], slope[kBlock];
      for (size_t k = 0; k < n; ++k) {
        affine_[k] = normalized_[k] * widen(weight[k]) + widen(bias[k]);
        const V result = affine_[k] * (widen(T(1)) + widen(scale[k])) + widen(shift[k]);
        high[k] = high_of(result);
        low[k] = low_of(result);
      }
      high[n % kBlock] = n < kBlock ? 0 : high[0];  // the lane beside the last value
      low[n % kBlock] = n < kBlock ? 0 : low[0];
      derivative(call_.activation, high, low, slope, (n + 1) / 2 * 2);
      for (size_t k = 0; k < n; ++k) {
        of_result_[k] = widen(grad[k]) * widen_rounded<T>(slope[k]);
        of_affine_[k] = of_result_[k] * (widen(T(1)) + widen(scale[k]));
      }
    }
    for (size_t k = 0; k < n; ++k) of_normalized_[k] = of_affine_[k] * widen(weight[k]);
  }

  void write(const Panel& panel, const Tile& tile) {
    const Rows x = place_input(tile);
    const Rows grad = place(grad_output_, tile, stages_[1]);
    const bool sums = call_.grad_sum != nullptr || call_.is_remote(Operand::grad_sum);
    const Rows grad_sum = sums ? place(grad_sum_, tile, stages_[2]) : Rows{nullptr, 0};
    const Rows own = grad_gate_.is_wanted() ? place(x_, tile, stages_[3]) : Rows{nullptr, 0};
    // Over what was staged of the gradient, block by block.
    const Rows to = grad_input_.is_direct() ? Rows{grad_input_.direct(tile.begin), static_cast<size_t>(tile.stride)}
                                            : Rows{stages_[1], tile.columns};
    each_block(panel, tile, [&](size_t row, size_t i, size_t n) {
      const size_t position = tile.position + i;
      prepare(x.at(row) + i, grad.at(row) + i, position, n);
      add_gradients(position, n);
      V of_input[kBlock];
      for (size_t k = 0; k < n; ++k) of_input[k] = gradient_of(k);
      if (adds_) {
        if (sums) {
          for (size_t k = 0; k < n; ++k) of_input[k] = of_input[k] + widen(grad_sum.at(row)[i + k]);
        }
        add_to(grad_residual_, position, n, [&](size_t k) { return of_input[k]; });
        add_to(grad_sum_bias_, position, n, [&](size_t k) { return of_input[k]; });
        add_to(grad_gate_, position, n, [&](size_t k) { return of_input[k] * widen(own.at(row)[i + k]); });
        const T* gate = gate_.at(position, n);
        for (size_t k = 0; k < n; ++k) of_input[k] = of_input[k] * widen(gate[k]);
      }
      T* out = to.at(row) + i;
      for (size_t k = 0; k < n; ++k) out[k] = static_cast<T>(high_of(of_input[k]));
    });
    if (grad_input_.is_direct()) return;
    stage(tile, stages_[1], [&](uint64_t begin, size_t n, T* from) { grad_input_.write(begin, n, from); });
  }

  [[nodiscard]] V gradient_of(size_t k) const {
    const State& state = states_[run_of_[k]];
    if (high_of(state.rstd) == 0) return V();
    return state.rstd * ((of_normalized_[k] - state.mean_grad) - normalized_[k] * state.mean_product);
  }

  void add_gradients(size_t position, size_t n) {
    add_to(grad_weight_, position, n, [&](size_t k) { return of_affine_[k] * normalized_[k]; });
    add_to(grad_bias_, position, n, [&](size_t k) { return of_affine_[k]; });
    add_to(grad_scale_, position, n, [&](size_t k) { return of_result_[k] * affine_[k]; });
    add_to(grad_shift_, position, n, [&](size_t k) { return of_result_[k]; });
  }

  template <class Of>
  static void add_to(Gradient<V>& gradient, size_t position, size_t n, const Of& of) {
    if (!gradient.is_wanted()) return;
    V values[kBlock];
    for (size_t k = 0; k < n; ++k) values[k] = of(k);
    gradient.add(position, n, values);
  }

  Run* runs() { return std::launder(reinterpret_cast<Run*>(memory_)); }

  const Call& call_;
  const Layout& layout_;
  Axes kept_, reduced_;
  Scaling scaling_;
  bool centered_, adds_, has_steps_, is_given_;
  Elements<T> x_, grad_output_, grad_sum_, grad_input_;
  Sum<T> sum_;
  ParameterBlocks<T> gate_, weight_, bias_, scale_, shift_;
  ParameterBlocks<double> mean_, rstd_;
  Gradient<V> grad_residual_, grad_gate_, grad_sum_bias_, grad_weight_, grad_bias_, grad_scale_, grad_shift_;

  size_t runs_ = 0;
  uint8_t run_of_[kBlock];  // of each column
  State states_[kBlock];
  alignas(Run) std::byte memory_[kBlock * sizeof(Run)];
  V normalized_[kBlock], affine_[kBlock], of_result_[kBlock], of_affine_[kBlock], of_normalized_[kBlock];
  alignas(16) T stages_[4][kStage];
};

template <class T>
void backward_of(const Call& call) {
  const Layout layout(call);
  Backward<T> all(call, layout);
  bool empty = false;
  for (size_t d = 0; d < call.rank; ++d) empty = empty || call.dims[d].size == 0;
  if (!empty) all.run();
  all.finish();
}

// Through a table, so that each has its stack to itself.
constexpr void (*kBackward[2])(const Call&) = {backward_of<float>, backward_of<double>};

}  // namespace

void backward(const Call& call) { kBackward[call.dtype == DType::float64 ? 1 : 0](call); }

}  // namespace layernorm
