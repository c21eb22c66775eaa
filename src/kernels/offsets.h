// Where the elements of x and of the parameters stand for some indices of a view.
#ifndef LAYERNORM_KERNELS_OFFSETS_H_
#define LAYERNORM_KERNELS_OFFSETS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "layernorm/layernorm.h"

namespace layernorm {

struct Offsets {
  uint64_t x = 0;
  uint64_t parameter[kStrided] = {};

  [[nodiscard]] uint64_t of(Operand operand) const { return parameter[static_cast<size_t>(operand)]; }
};

/// Some of the dimensions of a view, run through together in row-major order.
class Axes {
 public:
  /// Of the dimensions before `end`, those that are reduced, or those that are kept.
  Axes(const Call& call, size_t end, bool reduced) : call_(call) {
    uint64_t stride = 1;
    for (size_t d = call.rank; d-- > 0; stride *= std::max(call.dims[d].size, call.dims[d].whole)) {
      if (d >= end || call.dims[d].reduced != reduced) continue;
      dims_[rank_] = static_cast<uint8_t>(d);
      strides_[rank_++] = stride;
      count_ *= call.dims[d].size;
    }
    for (uint8_t operand = 0; operand < kStrided; ++operand) {
      if (advances(operand)) advancing_[advancing_count_++] = operand;
    }
  }

  /// The number of positions; 1 where there are no dimensions.
  [[nodiscard]] uint64_t count() const { return count_; }

  /// The step in x from a position to the next, and how many positions in turn it leads through: a property of x alone, wherever
  /// the parameters split its dimensions.
  [[nodiscard]] uint64_t inner_stride() const { return rank_ == 0 ? 0 : strides_[0]; }
  [[nodiscard]] uint64_t inner_size() const {
    uint64_t size = 1;
    for (size_t i = 0; i < rank_ && strides_[i] == size * strides_[0]; ++i) size *= call_.dims[dims_[i]].size;
    return size;
  }

  /// The offsets of a position beside those of the other dimensions.
  [[nodiscard]] Offsets at(uint64_t position, const Offsets& base) const {
    Offsets found = base;
    move(found, position, base);
    return found;
  }

  /// The same for what has the offsets of another position: it changes less than it would take to copy.
  [[gnu::noinline]] void move(Offsets& offsets, uint64_t position, const Offsets& base) const {
    offsets.x = base.x;
    for (size_t k = 0; k < advancing_count_; ++k) offsets.parameter[advancing_[k]] = base.parameter[advancing_[k]];
    for (size_t i = 0; i < rank_; ++i) {
      const size_t d = dims_[i];
      uint64_t index = position;
      if (i + 1 != rank_) {
        const uint64_t size = call_.dims[d].size;
        index = position % size;
        position /= size;
      }
      if (index == 0) continue;
      offsets.x += index * strides_[i];
      for (size_t k = 0; k < advancing_count_; ++k) {
        const size_t operand = advancing_[k];
        offsets.parameter[operand] += index * call_.strides[operand][d];
      }
    }
  }

  /// How many positions in turn, the innermost first, have the same parameters, those of the sum aside.
  [[nodiscard]] uint64_t sharing() const {
    uint64_t positions = 1;
    for (size_t i = 0; i < rank_; ++i) {
      for (auto operand = static_cast<size_t>(Operand::weight); operand <= static_cast<size_t>(Operand::running_var);
           ++operand) {
        if (call_.strides[operand][dims_[i]] != 0) return positions;
      }
      positions *= call_.dims[dims_[i]].size;
    }
    return positions;
  }

 private:
  [[nodiscard]] bool advances(size_t operand) const {
    for (size_t i = 0; i < rank_; ++i) {
      if (call_.strides[operand][dims_[i]] != 0) return true;
    }
    return false;
  }

  const Call& call_;
  size_t rank_ = 0;
  uint64_t count_ = 1;
  // Parameters that advance along any of them.
  size_t advancing_count_ = 0;
  uint8_t advancing_[kStrided];
  // The innermost first.
  uint8_t dims_[Call::kMaxRank];
  uint64_t strides_[Call::kMaxRank];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_OFFSETS_H_
