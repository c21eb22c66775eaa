// A parameter as wide blocks.
#ifndef LAYERNORM_KERNELS_WIDE_PARAMETER_H_
#define LAYERNORM_KERNELS_WIDE_PARAMETER_H_

#include "kernels/offsets.h"
#include "kernels/wide.h"

namespace layernorm {

/// Each element is rounded once to the arithmetic type.
class WideParameter {
 public:
  /// Along the inner dimensions [first, last). `offset` is added, and the result rounded as well, unless it is 1 + scale.
  WideParameter(const Call& call, Operand operand, size_t first, size_t last, double offset = 0)
      : operand_(operand),
        parameter_(call.parameter(operand)),
        two_(call.dtype == DType::float64),
        offset_(offset),
        rounds_(!two_ && operand != Operand::given_mean && operand != Operand::given_rstd &&
                (offset != 0 || parameter_.dtype == DType::float64 || parameter_.kind != Parameter::Kind::vector)) {
    if (parameter_.kind == Parameter::Kind::vector) {
      source_.set(call, operand, first, last);
    } else if (is_there()) {
      block_.fill({parameter_.number, 0}, kBlock);
      round(kBlock);
    }
  }

  [[nodiscard]] bool is_there() const { return parameter_.kind != Parameter::Kind::none; }

  void move_to(const Offsets& offsets) { source_.move_to(offsets.of(operand_)); }

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

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_WIDE_PARAMETER_H_
