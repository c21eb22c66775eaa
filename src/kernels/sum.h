// The sum that the add forms normalize: (residual + gate * x) + sum_bias, each step rounded in the arithmetic type, then to x's
// element type.
#ifndef LAYERNORM_KERNELS_SUM_H_
#define LAYERNORM_KERNELS_SUM_H_

#include <algorithm>
#include <cstring>

#include "kernels/parameter_blocks.h"

namespace layernorm {

template <class T>
class Sum {
 public:
  explicit Sum(const Call& call)
      : call_(call),
        residual_(call, Operand::residual, 0, 0, 0, call.rank),
        gate_(call, Operand::gate, 1, 0, 0, call.rank),
        bias_(call, Operand::sum_bias, T(-0.0), 0, 0, call.rank) {}

  /// Makes elements [begin, end).
  [[gnu::noinline]] void make(uint64_t begin, uint64_t end) {
    T read[kPiece];
    T written[kPiece];
    for (uint64_t at = begin; at < end; at += kPiece) {
      const auto n = static_cast<size_t>(std::min<uint64_t>(kPiece, end - at));
      const T* x = fetch(at, n, read);
      const bool stays = !call_.is_remote(Operand::sum) && call_.dtype == kDTypeOf<T>;
      T* sum = stays ? static_cast<T*>(call_.sum) + at : written;
      blocks(x, at, n, sum);
      if (!stays) leave(at, n, written);
    }
  }

  /// Makes elements [begin, begin + n) in `sum`, rounded to x's type as those that are written.
  [[gnu::noinline]] void make_in(uint64_t begin, size_t n, T* sum) {
    T read[kPiece];
    for (size_t i = 0; i < n; i += kPiece) {
      const size_t size = std::min(kPiece, n - i);
      blocks(fetch(begin + i, size, read), begin + i, size, sum + i);
      if constexpr (sizeof(T) == 4) {
        if (!is_16_bit(call_.dtype)) continue;
        from_float32(call_.dtype, sum + i, stored_, size);
        to_float32(call_.dtype, stored_, sum + i, size);
      }
    }
  }

 private:
  static constexpr size_t kPiece = 1024;

  void blocks(const T* x, uint64_t at, size_t n, T* sum) {
    for (size_t i = 0; i < n; i += kBlock) {
      const size_t size = std::min(kBlock, n - i);
      const auto position = static_cast<size_t>(at + i);
      block(x + i, residual_.at(position, size), gate_.at(position, size), bias_.at(position, size), sum + i, size);
    }
  }

  static void block(const T* x, const T* residual, const T* gate, const T* bias, T* sum, size_t n) {
    using namespace simd;
    constexpr size_t kLanes = Vector<T>::kLanes;
    size_t i = 0;
    // Four vectors at a time: to find the operands of one takes as long as its arithmetic.
    LAYERNORM_ROLLED
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
      const T *r = residual + i, *g = gate + i, *v = x + i, *b = bias + i;
      T* s = sum + i;
      const auto add = [=](size_t k) __attribute__((always_inline)) {
        store(s + k, (load(r + k) + load(g + k) * load(v + k)) + load(b + k));
      };
      add(0);
      add(kLanes);
      add(2 * kLanes);
      add(3 * kLanes);
    }
    LAYERNORM_ROLLED
    for (; i < n; ++i) sum[i] = (residual[i] + gate[i] * x[i]) + bias[i];
  }

  const T* fetch(uint64_t at, size_t n, T* room) {
    const std::byte* stored = nullptr;
    if (call_.is_remote(Operand::x)) {
      std::byte* to = is_16_bit(call_.dtype) ? stored_ : reinterpret_cast<std::byte*>(room);
      call_.transfer->read(Operand::x, at, n, to);
      stored = to;
    } else {
      stored = static_cast<const std::byte*>(call_.x) + at * element_size(call_.dtype);
    }
    if constexpr (sizeof(T) == 4) {
      if (is_16_bit(call_.dtype)) {
        to_float32(call_.dtype, stored, room, n);
        return room;
      }
    }
    return reinterpret_cast<const T*>(stored);
  }

  void leave(uint64_t at, size_t n, const T* sum) {
    const void* stored = sum;
    if constexpr (sizeof(T) == 4) {
      if (is_16_bit(call_.dtype)) {
        void* to = call_.is_remote(Operand::sum) ? stored_ : static_cast<std::byte*>(call_.sum) + at * 2;
        from_float32(call_.dtype, sum, to, n);
        stored = to;
      }
    }
    if (call_.is_remote(Operand::sum)) call_.transfer->write(Operand::sum, at, n, stored);
  }

  const Call& call_;
  ParameterBlocks<T> residual_, gate_, bias_;
  alignas(16) std::byte stored_[kPiece * sizeof(uint16_t)];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_SUM_H_
