// The gradient of a parameter: sums, over all of x, of what each element contributes.
#ifndef LAYERNORM_KERNELS_GRADIENT_H_
#define LAYERNORM_KERNELS_GRADIENT_H_

#include <algorithm>
#include <cstring>

#include "kernels/offsets.h"
#include "kernels/parameter_blocks.h"
#include "kernels/wide.h"

namespace layernorm {

/// Sums are wide, and are taken in the order of the calls of `add`. V is the wide type.
template <class V>
class Gradient {
 public:
  Gradient(const Call& call, Operand of, uint64_t elements, size_t first, size_t last)
      : wanted_(call.gradient(of).wanted),
        of_(of),
        role_(static_cast<Operand>(static_cast<size_t>(of) - static_cast<size_t>(Operand::residual) +
                                   static_cast<size_t>(Operand::grad_residual))),
        gradient_(call.gradient(of)),
        transfer_(call.is_remote(role_) ? call.transfer : nullptr),
        whole_(call.parameter(of).kind == Parameter::Kind::vector && gradient_.size == elements) {
    if (!wanted_) return;
    places_.set(call, of, first, last);
    if (!whole_ && transfer_ == nullptr) std::memset(gradient_.sums, 0, gradient_.size * sizeof(V));
  }

  [[nodiscard]] bool is_wanted() const { return wanted_; }

  void move_to(const Offsets& offsets) {
    if (wanted_) places_.move_to(offsets.of(of_));
  }

  /// Adds what n <= kBlock elements from a position on contribute.
  [[gnu::noinline]] void add(size_t position, size_t n, const V* values) {
    for (size_t done = 0; done < n;) {
      const ParameterPlaces::Stretch to = places_.stretch(position + done);
      const size_t length = std::min(to.length, n - done);
      if (whole_) {
        store(to.element, length, values + done);
      } else if (to.repeats) {
        V sum = values[done];
        for (size_t i = 1; i < length; ++i) sum = sum + values[done + i];
        V* at = sums(to.element, 1);
        *at = *at + sum;
      } else {
        V* at = sums(to.element, length);
        for (size_t i = 0; i < length; ++i) at[i] = at[i] + values[done + i];
      }
      done += length;
    }
  }

  /// Rounds the sums.
  void finish() {
    if (!wanted_ || whole_) return;
    flush();
    double rounded[kWindow];
    for (uint64_t begin = 0; begin < gradient_.size; begin += kWindow) {
      begin_ = end_ = 0;
      const auto n = static_cast<size_t>(std::min<uint64_t>(kWindow, gradient_.size - begin));
      const V* from = sums(begin, n);
      for (size_t i = 0; i < n; ++i) rounded[i] = high_of(from[i]);
      if (gradient_.data != nullptr) {
        convert(DType::float64, rounded, gradient_.dtype, at(gradient_.data, begin), n);
      } else if (transfer_ != nullptr) {
        transfer_->write(role_, begin, n, rounded);
      } else {
        // No further than what was read.
        std::memcpy(gradient_.sums + begin, rounded, n * sizeof(double));
      }
    }
  }

 private:
  static constexpr size_t kWindow = kBlock;
  static constexpr size_t kParts = sizeof(V) / sizeof(double);

  void* at(void* data, uint64_t element) const {
    return static_cast<std::byte*>(data) + element * element_size(gradient_.dtype);
  }

  // Each element has one contribution.
  void store(uint64_t element, size_t n, const V* values) {
    double rounded[kWindow];
    for (size_t i = 0; i < n; ++i) rounded[i] = high_of(values[i]);
    void* to = transfer_ == nullptr ? at(gradient_.data, element) : window_;
    convert(DType::float64, rounded, gradient_.dtype, to, n);
    if (transfer_ != nullptr) transfer_->write(role_, element, n, window_);
  }

  // Where the sums of n <= kWindow elements are.
  V* sums(uint64_t element, size_t n) {
    if (transfer_ == nullptr) return reinterpret_cast<V*>(gradient_.sums) + element;
    if (element < begin_ || element + n > end_) {
      flush();
      begin_ = element;
      end_ = std::min<uint64_t>(element + kWindow, gradient_.size);
      transfer_->read(role_, begin_ * kParts, static_cast<size_t>(end_ - begin_) * kParts, window_);
    }
    return window_ + (element - begin_);
  }

  void flush() {
    if (begin_ != end_) transfer_->write(role_, begin_ * kParts, static_cast<size_t>(end_ - begin_) * kParts, window_);
  }

  bool wanted_;
  Operand of_, role_;
  const Call::Gradient& gradient_;
  Transfer* transfer_;
  bool whole_;
  ParameterPlaces places_;
  uint64_t begin_ = 0, end_ = 0;  // of the window
  V window_[kWindow];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_GRADIENT_H_
