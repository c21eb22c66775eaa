// Elements of an operand that is as large as x, in the arithmetic type T, whatever their own type and wherever they are.
#ifndef LAYERNORM_KERNELS_ELEMENTS_H_
#define LAYERNORM_KERNELS_ELEMENTS_H_

#include "kernels/parameter_blocks.h"

namespace layernorm {

template <class T>
class Elements {
 public:
  Elements(const Call& call, Operand operand, DType dtype, const void* data)
      : transfer_(call.is_remote(operand) ? call.transfer : nullptr),
        operand_(operand),
        dtype_(dtype),
        data_(static_cast<const std::byte*>(data)) {}

  /// Whether they are used where they stand.
  [[nodiscard]] bool is_direct() const { return transfer_ == nullptr && dtype_ == kDTypeOf<T>; }
  [[nodiscard]] T* direct(uint64_t begin) const { return const_cast<T*>(reinterpret_cast<const T*>(data_)) + begin; }

  /// Brings elements [begin, begin + n) to a room.
  void read(uint64_t begin, size_t n, T* to) {
    if (dtype_ == kDTypeOf<T> && transfer_ != nullptr) {
      transfer_->read(operand_, begin, n, to);
      return;
    }
    each_piece(begin, n, [&](uint64_t at, size_t i, size_t size, std::byte* stored) {
      if (transfer_ != nullptr) transfer_->read(operand_, at, size, stored);
      convert(dtype_, stored, kDTypeOf<T>, to + i, size);
    });
  }

  /// Takes them away.
  void write(uint64_t begin, size_t n, const T* from) {
    if (dtype_ == kDTypeOf<T> && transfer_ != nullptr) {
      transfer_->write(operand_, begin, n, from);
      return;
    }
    each_piece(begin, n, [&](uint64_t at, size_t i, size_t size, std::byte* stored) {
      convert(kDTypeOf<T>, from + i, dtype_, stored, size);
      if (transfer_ != nullptr) transfer_->write(operand_, at, size, stored);
    });
  }

 private:
  static constexpr size_t kPiece = 512;

  template <class Visit>
  void each_piece(uint64_t begin, size_t n, const Visit& visit) {
    for (size_t i = 0; i < n; i += kPiece) {
      const size_t size = n - i < kPiece ? n - i : kPiece;
      const uint64_t at = begin + i;
      std::byte* stored = transfer_ != nullptr ? stored_ : const_cast<std::byte*>(data_) + at * element_size(dtype_);
      visit(at, i, size, stored);
    }
  }

  Transfer* transfer_;
  Operand operand_;
  DType dtype_;
  const std::byte* data_;
  alignas(16) std::byte stored_[kPiece * sizeof(double)];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_ELEMENTS_H_
