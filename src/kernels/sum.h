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
        bias_(call, Operand::sum_bias, T(-0.0), 0, 0, call.rank),
        plain_(call.parameter(Operand::gate).kind == Parameter::Kind::none &&
               call.parameter(Operand::sum_bias).kind == Parameter::Kind::none) {}

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
      const T* residual = residual_.at(position, size);
      if (plain_) {
        block<true>(x + i, residual, nullptr, nullptr, sum + i, size);
      } else {
        block<false>(x + i, residual, gate_.at(position, size), bias_.at(position, size), sum + i, size);
      }
    }
  }

  /// Plain sums leave out a gate of 1 and a bias of -0: the same bits in less time.
  template <bool kPlain>
  static void block(const T* x, const T* residual, const T* gate, const T* bias, T* sum, size_t n) {
    using namespace simd;
    constexpr size_t kLanes = Vector<T>::kLanes;
    size_t i = 0;
    // Four vectors at a time: to find the operands of one takes as long as its arithmetic.
    LAYERNORM_ROLLED
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
      for (size_t k = i; k < i + 4 * kLanes; k += kLanes) {
        if constexpr (kPlain) {
          store(sum + k, load(residual + k) + load(x + k));
        } else {
          store(sum + k, (load(residual + k) + load(gate + k) * load(x + k)) + load(bias + k));
        }
      }
    }
    LAYERNORM_ROLLED
    for (; i < n; ++i) sum[i] = kPlain ? residual[i] + x[i] : (residual[i] + gate[i] * x[i]) + bias[i];
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
  bool plain_;  // neither gate nor bias
  alignas(16) std::byte stored_[kPiece * sizeof(uint16_t)];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_SUM_H_
