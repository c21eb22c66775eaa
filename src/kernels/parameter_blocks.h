// Parameters as the kernels read them: blocks of the arithmetic type.
#ifndef LAYERNORM_KERNELS_PARAMETER_BLOCKS_H_
#define LAYERNORM_KERNELS_PARAMETER_BLOCKS_H_

#include <cstddef>
#include <cstring>

#include "kernels/storage.h"
#include "layernorm/layernorm.h"
#include "simd/vec.h"

namespace layernorm {

/// Elements that a kernel takes at a time: sums are flushed and parameters converted once per block.
inline constexpr size_t kBlock = 64;

template <class T>
inline constexpr DType kDTypeOf = sizeof(T) == 4 ? DType::float32 : DType::float64;

/// n <= kBlock elements of any type as T, each rounded once.
template <class T>
void convert_block(DType dtype, const void* from, size_t n, T* to) {
  const auto cast = [&](const auto* source) {
    LAYERNORM_ROLLED
    for (size_t i = 0; i < n; ++i) to[i] = static_cast<T>(source[i]);
  };
  if (dtype == DType::float32) return cast(static_cast<const float*>(from));
  if (dtype == DType::float64) return cast(static_cast<const double*>(from));
  float wide[kBlock];
  to_float32(dtype, from, wide, n);
  cast(wide);
}

/// One element of any type.
inline double element(DType dtype, const void* data, uint64_t i) {
  double value;
  convert_block(dtype, static_cast<const std::byte*>(data) + i * element_size(dtype), 1, &value);
  return value;
}

/// A parameter of the arithmetic type T along the inner dimensions [first, last) of a view, whose positions count row-major.
/// A contiguous vector of that type is read where it stands; a number, or nothing, is one block that is read again and
/// again; anything else is gathered and converted block by block.
template <class T>
class ParameterBlocks {
 public:
  /// `absent` stands for a parameter that is not there; `offset` is added to one that is.
  ParameterBlocks(const Call& call, Operand operand, T absent, double offset, size_t first, size_t last)
      : operand_(operand), offset_(offset == 0 ? kNoOffset : static_cast<T>(offset)) {
    const Parameter& parameter = call.parameter(operand);
    const bool contiguous = last == first + 1 && call.strides[static_cast<size_t>(operand)][first] == 1;
    if (parameter.kind == Parameter::Kind::vector && contiguous && parameter.dtype == kDTypeOf<T> && offset == 0 &&
        !call.is_remote(operand)) {
      place_ = Place::kDirect;
      source_ = static_cast<const std::byte*>(parameter.data);
      direct_ = static_cast<const T*>(parameter.data);
    } else {
      place(call, absent, first, last);
    }
  }
  ParameterBlocks(const ParameterBlocks&) = delete;
  ParameterBlocks& operator=(const ParameterBlocks&) = delete;

  /// Position 0 is element `base` from now on.
  [[gnu::noinline]] void move_to(uint64_t base) {
    if (place_ == Place::kDirect) {
      direct_ = reinterpret_cast<const T*>(source_) + base;
      step_ = 1;
    } else if (place_ != Place::kNone && base != base_) {
      base_ = base;
      filled_ = 0;
      direct_ = nullptr;
      if (place_ == Place::kRepeated) fill(element_at(base));
    }
  }

  /// A bound on the magnitudes at the first n positions: 2 where all are below, else the largest, NaN counting as larger than
  /// infinity. Float32 only.
  template <class U = T>  // not instantiated with the class
  [[nodiscard, gnu::noinline]] float bound(size_t n) {
    const auto join = [](simd::I32x4 found, simd::F32x4 v) { return found | simd::as_bits(v); };
    if (!simd::has_magnitude_from_2(fold(n, join))) return 2;
    const auto larger = [](simd::I32x4 found, simd::F32x4 v) { return simd::max(found, simd::magnitude_bits(v)); };
    return simd::largest_magnitude(fold(n, larger));
  }

  /// Keeps the first n elements, where they would be converted at each use, in `room`, which stays as it is.
  void expand(size_t n, T* room) {
    if (place_ != Place::kConverted || direct_ == room) return;
    for (size_t i = 0; i < n; i += kBlock) {
      const size_t size = n - i < kBlock ? n - i : kBlock;
      std::memcpy(room + i, converted(i, size), size * sizeof(T));
    }
    direct_ = room;
    step_ = 1;
  }

  /// The n <= kBlock elements from position i on; good until the next call.
  const T* at(size_t i, size_t n) { return direct_ != nullptr ? direct_ + i * step_ : converted(i, n); }

  /// The element at the present base.
  [[nodiscard]] T value() { return *at(0, 1); }

 private:
  enum class Place : uint8_t { kNone, kDirect, kRepeated, kConverted };

  static constexpr T kNoOffset = T(-0.0);  // the neutral element of addition, also for -0
  static constexpr uint64_t kNowhere = ~uint64_t{0};
  static constexpr size_t kWindow = 2048;  // bytes of a remote parameter that are read at a time

  // A constructor's work, which would be compiled twice as one.
  [[gnu::noinline]] void place(const Call& call, T absent, size_t first, size_t last) {
    const Parameter& parameter = call.parameter(operand_);
    if (parameter.kind != Parameter::Kind::vector) {
      fill(parameter.kind == Parameter::Kind::number ? static_cast<T>(parameter.number) + offset_ : absent);
      return;
    }
    source_ = static_cast<const std::byte*>(parameter.data);
    dtype_ = parameter.dtype;
    size_ = parameter.size;
    transfer_ = call.is_remote(operand_) ? call.transfer : nullptr;
    add_dims(call, first, last);
    const bool contiguous = rank_ == 1 && strides_[0] == 1;
    place_ = strides_[rank_ - 1] == 0 && rank_ == 1                                        ? Place::kRepeated
             : contiguous && dtype_ == kDTypeOf<T> && offset_ == 0 && transfer_ == nullptr ? Place::kDirect
                                                                                           : Place::kConverted;
    move_to(0);
  }

  // Keeps the sizes and strides of the dimensions, those that can be one made one.
  void add_dims(const Call& call, size_t first, size_t last) {
    const uint64_t* strides = call.strides[static_cast<size_t>(operand_)];
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

  void fill(T value) {
    LAYERNORM_ROLLED
    for (T& each : block_) each = value;
    direct_ = block_;
    step_ = 0;
  }

  // Folds the first n elements, where more zeros may take part.
  template <class Fold>
  simd::I32x4 fold(size_t n, const Fold& folded) {
    simd::I32x4 found[4] = {};
    const size_t end = direct_ != nullptr && step_ == 0 ? 1 : n;  // one number stands for all
    const size_t piece = direct_ != nullptr ? end : kBlock;
    // Of elements that repeat, one will do.
    const size_t repeat = place_ == Place::kConverted && strides_[rank_ - 1] == 0 ? sizes_[rank_ - 1] : 1;
    for (size_t i = 0; i<end; i += repeat> piece ? repeat : piece) {
      const size_t size = repeat > piece ? 1 : end - i < piece ? end - i : piece;
      const float* block = at(i, size);
      size_t j = 0;
      LAYERNORM_ROLLED
      for (; j + 16 <= size; j += 16) {
        for (size_t k = 0; k < 4; ++k) found[k] = folded(found[k], simd::load(block + j + 4 * k));
      }
      LAYERNORM_ROLLED
      for (; j < size; ++j) found[0] = folded(found[0], simd::splat(block[j]));
    }
    return folded(folded(folded(found[0], simd::as_floats(found[1])), simd::as_floats(found[2])),
                  simd::as_floats(found[3]));
  }

  [[gnu::noinline]] const T* converted(size_t i, size_t n) {
    for (size_t done = 0; done < n;) {
      uint64_t from = base_;
      size_t rest = i + done;
      size_t run = n - done;
      for (size_t d = rank_; d-- > 0; rest /= sizes_[d]) {
        const size_t index = d == 0 ? rest : rest % sizes_[d];
        from += index * strides_[d];
        if (d == rank_ - 1 && sizes_[d] - index < run) run = sizes_[d] - index;
      }
      const uint64_t stride = strides_[rank_ - 1];
      if (stride == 0 && run == n) return repeated(from, n);
      gather(block_ + done, from, stride, run);
      filled_ = 0;
      done += run;
    }
    return block_;
  }

  // One element n times; the block may hold it already.
  const T* repeated(uint64_t from, size_t n) {
    if (filled_ < n || filled_with_ != from) {
      gather(block_, from, 0, n);
      filled_ = n;
      filled_with_ = from;
    }
    return block_;
  }

  void gather(T* to, uint64_t from, uint64_t stride, size_t n) {
    if (stride == 1) {
      convert_block(dtype_, address(from, n), n, to);
      LAYERNORM_ROLLED
      for (size_t i = 0; i < n; ++i) to[i] = to[i] + offset_;
      return;
    }
    T value = element_at(from);
    for (size_t i = 0; i < n; ++i) {
      if (stride != 0 && i > 0) value = element_at(from + i * stride);
      to[i] = value;
    }
  }

  T element_at(uint64_t from) {
    T value;
    convert_block(dtype_, address(from, 1), 1, &value);
    return value + offset_;
  }

  // Where elements [from, from + n) stand, n <= kBlock.
  const void* address(uint64_t from, size_t n) {
    const size_t bytes = element_size(dtype_);
    if (transfer_ == nullptr) return source_ + from * bytes;
    if (from < window_begin_ || from + n > window_end_) {
      const uint64_t most = kWindow / bytes;
      const uint64_t length = size_ - from < most ? size_ - from : most;
      transfer_->read(operand_, from, static_cast<size_t>(length), window_);
      window_begin_ = from;
      window_end_ = from + length;
    }
    return window_ + (from - window_begin_) * bytes;
  }

  const T* direct_ = nullptr;
  size_t step_ = 1;
  Operand operand_;
  Place place_ = Place::kNone;
  DType dtype_ = kDTypeOf<T>;
  const std::byte* source_ = nullptr;
  Transfer* transfer_ = nullptr;
  uint64_t size_ = 0;
  uint64_t base_ = kNowhere;
  size_t rank_ = 0;
  T offset_;
  size_t filled_ = 0;  // elements of the block that repeat one, which stands at filled_with_
  uint64_t filled_with_ = kNowhere;
  uint64_t window_begin_ = 0, window_end_ = 0;
  // Left unset, as they cost time: an element counts once it was written.
  size_t sizes_[Call::kMaxRank];
  uint64_t strides_[Call::kMaxRank];
  T block_[kBlock];
  alignas(16) std::byte window_[kWindow];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_PARAMETER_BLOCKS_H_
