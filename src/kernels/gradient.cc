#include "kernels/gradient.h"

#include <algorithm>
#include <cstring>

namespace layernorm {

uint64_t count_elements(const Call& call) {
  uint64_t elements = 1;
  for (size_t d = 0; d < call.rank; ++d) {
    const Dim& dim = call.dims[d];
    elements *= kSplitsSums ? std::max(dim.size, dim.whole) : dim.size;
  }
  return elements;
}

bool has_own_sums(const Call& call, size_t dim) {
  if (call.dims[dim].size == 1) return true;
  const uint64_t elements = count_elements(call);
  for (size_t of = 0; of < kGradients; ++of) {
    const Call::Gradient& gradient = call.gradients[of];
    const size_t operand = of + static_cast<size_t>(Operand::residual);
    const bool is_vector = call.parameters[operand].kind == Parameter::Kind::vector;
    if (!gradient.wanted || (is_vector && gradient.size == elements)) continue;
    if (!is_vector || call.strides[operand][dim] == 0) return false;
    // Strides by which different indices are different elements.
    uint64_t distinct = 1;
    for (size_t d = 0; d < call.rank; ++d) {
      if (call.strides[operand][d] != 0) distinct *= call.dims[d].size;
    }
    if (distinct != gradient.size) return false;
  }
  return true;
}

Gradient::Gradient(const Call& call, Operand of, uint64_t elements, size_t first)
    : of_(of),
      role_(static_cast<Operand>(static_cast<size_t>(of) - static_cast<size_t>(Operand::residual) +
                                 static_cast<size_t>(Operand::grad_residual))),
      gradient_(call.gradient(of)),
      two_(call.dtype == DType::float64),
      transfer_(call.is_remote(role_) ? call.transfer : nullptr),
      whole_(call.parameter(of).kind == Parameter::Kind::vector && gradient_.size == elements) {
  if (!is_wanted()) return;
  places_.set(call, of, first, call.rank);
  if (whole_ || transfer_ != nullptr || is_part(call)) return;
  std::memset(gradient_.sums, 0, gradient_.size * sizeof(double) * (two_ ? 2 : 1));
}

void Gradient::add(size_t position, size_t n, const WideBlock& values) {
  for (size_t done = 0; done < n && is_wanted();) {
    const ParameterPlaces::Stretch to = places_.stretch(position + done);
    const size_t length = std::min(to.length, n - done);
    if (whole_) {
      store(to.element, length, values.high + done);
    } else if (to.repeats) {
      const TwoPart of_all = total(two_, values, done, length);
      sums(to.element, 1);
      accumulate(two_, &of_all.high, &of_all.low, high_, low_, 1);
    } else {
      sums(to.element, length);
      accumulate(two_, values.high + done, values.low + done, high_, low_, length);
    }
    done += length;
  }
}

void Gradient::add(size_t position, double sum) {
  WideBlock one;
  one.set(0, {sum, 0});
  add(position, 1, one);
}

void Gradient::add_first(size_t n, const float* values) {
  const size_t most = is_remote() ? kWindow : n;
  for (size_t i = 0; i < n && is_wanted(); i += most) {
    const size_t size = std::min(most, n - i);
    sums(places_.base() + i, size);
    accumulate(values + i, high_, size);
  }
}

void Gradient::finish() {
  if (!is_wanted() || whole_) return;
  flush();
  // The first parts are the result.
  if (gradient_.data == nullptr) return;
  for (uint64_t begin = 0; begin < gradient_.size; begin += kWindow) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(kWindow, gradient_.size - begin));
    sums(begin, n);
    store(begin, n, high_);
  }
}

// To the gradient itself.
void Gradient::store(uint64_t element, size_t n, const double* values) {
  std::byte room[kWindow * sizeof(double)];
  std::byte* to = room;
  const bool remote = whole_ && transfer_ != nullptr;
  if (!remote) to = static_cast<std::byte*>(gradient_.data) + element * element_size(gradient_.dtype);
  convert(DType::float64, values, gradient_.dtype, to, n);
  if (remote) transfer_->write(role_, element, n, to);
}

// Goes to the sums of n <= kWindow elements.
void Gradient::sums(uint64_t element, size_t n) {
  if (transfer_ == nullptr) {
    high_ = gradient_.sums + element;
    low_ = high_ + gradient_.size;
    return;
  }
  if (element < begin_ || element + n > end_) {
    flush();
    begin_ = element;
    end_ = std::min<uint64_t>(element + kWindow, gradient_.size);
    move_window(true);
  }
  high_ = window_.high + (element - begin_);
  low_ = window_.low + (element - begin_);
}

void Gradient::flush() {
  if (begin_ != end_) move_window(false);
}

void Gradient::move_window(bool in) {
  const auto n = static_cast<size_t>(end_ - begin_);
  for (const bool second : {false, true}) {
    if (second && !two_) break;
    const uint64_t at = begin_ + (second ? gradient_.size : 0);
    double* values = second ? window_.low : window_.high;
    in ? transfer_->read(role_, at, n, values) : transfer_->write(role_, at, n, values);
  }
}

}  // namespace layernorm
