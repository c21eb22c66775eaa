// Elements of an operand that is as large as x, in the arithmetic type, whatever their own type and wherever they are.
#ifndef LAYERNORM_KERNELS_ELEMENTS_H_
#define LAYERNORM_KERNELS_ELEMENTS_H_

#include "kernels/storage.h"
#include "layernorm/layernorm.h"

namespace layernorm {

class Elements {
 public:
  Elements(const Call& call, Operand operand, DType dtype, const void* data)
      : transfer_(call.is_remote(operand) ? call.transfer : nullptr),
        operand_(operand),
        dtype_(dtype),
        arithmetic_(call.dtype == DType::float64 ? DType::float64 : DType::float32),
        // Of what is not const.
        data_(static_cast<std::byte*>(const_cast<void*>(data))) {}

  [[nodiscard]] bool is_there() const { return transfer_ != nullptr || data_ != nullptr; }

  /// Where they stand, if they are used there; else null.
  [[nodiscard]] std::byte* direct(uint64_t begin) const {
    return transfer_ == nullptr && dtype_ == arithmetic_ ? stored(begin) : nullptr;
  }

  /// Brings elements [begin, begin + n) to a room.
  void read(uint64_t begin, size_t n, std::byte* to) { move<true>(begin, n, to); }

  /// Takes them away.
  void write(uint64_t begin, size_t n, std::byte* from) { move<false>(begin, n, from); }

 private:
  static constexpr size_t kPiece = 512;

  [[nodiscard]] std::byte* stored(uint64_t begin) const { return data_ + begin * element_size(dtype_); }

  template <bool kRead>
  [[gnu::noinline]] void move(uint64_t begin, size_t n, std::byte* room) {
    const bool converts = dtype_ != arithmetic_;
    const size_t most = converts ? kPiece : n;
    for (size_t i = 0; i < n; i += most) {
      const size_t size = n - i < most ? n - i : most;
      std::byte* at = room + i * element_size(arithmetic_);
      std::byte* there = transfer_ == nullptr ? stored(begin + i) : converts ? piece_ : at;
      if (kRead && transfer_ != nullptr) transfer_->read(operand_, begin + i, size, there);
      if (converts && kRead) convert(dtype_, there, arithmetic_, at, size);
      if (converts && !kRead) convert(arithmetic_, at, dtype_, there, size);
      if (!kRead && transfer_ != nullptr) transfer_->write(operand_, begin + i, size, there);
    }
  }

  Transfer* transfer_;
  Operand operand_;
  DType dtype_, arithmetic_;
  std::byte* data_;
  alignas(16) std::byte piece_[kPiece * sizeof(double)];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_ELEMENTS_H_
