// The gradient of a parameter: sums, over all of x, of what each element contributes.
#ifndef LAYERNORM_KERNELS_GRADIENT_H_
#define LAYERNORM_KERNELS_GRADIENT_H_

#include "kernels/narrow.h"
#include "kernels/offsets.h"
#include "kernels/wide.h"

namespace layernorm {

/// Whether calls can be split where they make sums. A wasm module whose memory is not shared has no code for it.
#if defined(__wasm__) && !defined(__wasm_atomics__)
inline constexpr bool kSplitsSums = false;
#else
inline constexpr bool kSplitsSums = true;
#endif

/// Whether a call is a part of another one, which clears its sums before and rounds them afterwards.
inline bool is_part(const Call& call) { return kSplitsSums && call.is_part; }

/// The elements of x, of which a part of a call has some.
[[nodiscard]] uint64_t count_elements(const Call& call);

/// Whether each sum belongs to one index of a dimension.
[[nodiscard]] bool has_own_sums(const Call& call, size_t dim);

/// Sums are wide, and are taken in the order of the calls of `add`.
class Gradient {
 public:
  /// The parameter's places are those along the inner dimensions from `first` on. The sums become 0, but beside a part of a call.
  Gradient(const Call& call, Operand of, uint64_t elements, size_t first);

  [[nodiscard]] bool is_wanted() const { return gradient_.wanted; }

  void move_to(const Offsets& offsets) { places_.move_to(offsets.of(of_)); }

  /// Adds what n <= kBlock elements from a position on contribute, if it is wanted.
  void add(size_t position, size_t n, const WideBlock& values);
  /// Adds what elements with one place contribute together.
  void add(size_t position, double sum);

  /// Whether elements in turn go to sums in turn.
  [[nodiscard]] bool is_contiguous() const { return !is_wanted() || (!whole_ && places_.is_contiguous()); }
  /// Adds what any number of elements from the first on contribute then.
  void add_first(size_t n, const float* values);
  /// What several have left in memory, so many elements from one to the next, where the sums are there too.
  void add_first_of(size_t count, size_t n, const float* values, size_t stride) {
    if (!is_wanted()) return;
    sums(places_.base(), n);
    accumulate_in_turn(values, stride, count, high_, n);
  }

  /// Whether it is that of an operand as large as x, each element of which has a gradient of its own, or is not wanted.
  [[nodiscard]] bool is_whole() const { return !is_wanted() || whole_; }

  /// Rounds the sums.
  void finish();

 private:
  [[nodiscard]] bool is_remote() const { return transfer_ != nullptr; }

  static constexpr size_t kWindow = kBlock;

  void store(uint64_t element, size_t n, const double* values);
  void sums(uint64_t element, size_t n);
  void flush();
  void move_window(bool in);

  Operand of_, role_;
  const Call::Gradient& gradient_;
  bool two_;
  Transfer* transfer_;
  bool whole_;
  ParameterPlaces places_;
  // Where the sums at hand are: in memory, or in a window of those that are remote.
  double* high_ = nullptr;
  double* low_ = nullptr;
  uint64_t begin_ = 0, end_ = 0;
  WideBlock window_;
};

/// Those of all parameters.
class Gradients {
 public:
  Gradients(const Call& call, uint64_t elements, size_t first)
      : all_{{call, Operand::residual, elements, first}, {call, Operand::gate, elements, first},
             {call, Operand::sum_bias, elements, first}, {call, Operand::weight, elements, first},
             {call, Operand::bias, elements, first},     {call, Operand::scale, elements, first},
             {call, Operand::shift, elements, first}} {}

  [[nodiscard]] Gradient& of(Operand operand) {
    return all_[static_cast<size_t>(operand) - static_cast<size_t>(Operand::residual)];
  }

  void move_to(const Offsets& offsets) {
    for (Gradient& each : all_) each.move_to(offsets);
  }

  void finish() {
    for (Gradient& each : all_) each.finish();
  }

 private:
  Gradient all_[kGradients];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_GRADIENT_H_
