#include "kernels/parameter_blocks.h"

namespace layernorm {

void ParameterPlaces::set(const Call& call, Operand operand, size_t first, size_t last) {
  base_ = 0;
  rank_ = 0;
  // The sizes and strides of the dimensions, those that can be one made one.
  const uint64_t* strides = call.strides[static_cast<size_t>(operand)];
  for (size_t d = first; d < last; ++d) {
    const auto size = static_cast<size_t>(call.dims[d].size);
    if (size == 1) continue;
    if (rank_ > 0 && strides_[rank_ - 1] == strides[d] * size) {
      sizes_[rank_ - 1] *= size;
    } else {
      sizes_[rank_++] = size;
    }
    strides_[rank_ - 1] = strides[d];
  }
  if (rank_ > 0) return;
  sizes_[rank_] = 1;
  strides_[rank_++] = 0;
}

ParameterPlaces::Stretch ParameterPlaces::stretch(size_t position) const {
  Stretch found = {base_, 1, strides_[rank_ - 1] == 0};
  size_t rest = position;
  for (size_t d = rank_; d-- > 0; rest /= sizes_[d]) {
    const size_t index = d == 0 ? rest : rest % sizes_[d];
    found.element += index * strides_[d];
    if (d == rank_ - 1 && strides_[d] <= 1) found.length = sizes_[d] - index;
  }
  return found;
}

void ParameterSource::set(const Call& call, Operand operand, size_t first, size_t last) {
  const Parameter& parameter = call.parameter(operand);
  ParameterPlaces::set(call, operand, first, last);
  data_ = static_cast<const std::byte*>(parameter.data);
  transfer_ = call.is_remote(operand) ? call.transfer : nullptr;
  size_ = parameter.size;
  window_begin_ = window_end_ = 0;
  operand_ = operand;
  dtype_ = parameter.dtype;
}

void ParameterSource::read(size_t position, size_t n, double* to) {
  each_stretch(stretch(position), position, n, [&](uint64_t from, size_t length, bool repeats) {
    const size_t distinct = repeats ? 1 : length;
    convert(dtype_, address(from, distinct), DType::float64, to, distinct);
    for (size_t i = distinct; i < length; ++i) to[i] = to[0];
    to += length;
  });
}

// Where elements in turn stand, at most kBlock.
const void* ParameterSource::address(uint64_t element, size_t n) {
  const size_t bytes = element_size(dtype_);
  if (transfer_ == nullptr) return data_ + element * bytes;
  if (element < window_begin_ || element + n > window_end_) {
    const uint64_t most = kWindow / bytes;
    const uint64_t length = size_ - element < most ? size_ - element : most;
    transfer_->read(operand_, element, static_cast<size_t>(length), window_);
    window_begin_ = element;
    window_end_ = element + length;
  }
  return window_ + (element - window_begin_) * bytes;
}

}  // namespace layernorm
