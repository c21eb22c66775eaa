// Weight and bias as the kernels read them: blocks of the arithmetic type.
#ifndef LAYERNORM_KERNELS_PARAMETER_BLOCKS_H_
#define LAYERNORM_KERNELS_PARAMETER_BLOCKS_H_

#include <cstddef>

#include "layernorm/layernorm.h"
#include "simd/vec.h"

namespace layernorm {

/// Elements that a kernel takes at a time: sums are flushed and parameters converted once per block.
inline constexpr size_t kBlock = 64;

/// A parameter of the arithmetic type T. A vector of that type is read where it stands; a number, or nothing, is one
/// block that is read again and again; any other vector is converted block by block.
template <class T>
class ParameterBlocks {
 public:
  /// `absent` stands for a parameter that is not there; `offset` is added to one that is.
  [[gnu::noinline]] ParameterBlocks(const Parameter& parameter, T absent, double offset)
      : offset_(offset == 0 ? kNoOffset : static_cast<T>(offset)) {
    if (parameter.kind != Parameter::Kind::vector) {
      const bool is_number = parameter.kind == Parameter::Kind::number;
      const T value = is_number ? static_cast<T>(parameter.number) + offset_ : absent;
      LAYERNORM_ROLLED
      for (T& element : block_) element = value;
      direct_ = block_;
      step_ = 0;
    } else if (parameter.dtype == kDType && offset == 0) {
      direct_ = static_cast<const T*>(parameter.data);
    } else {
      source_ = parameter.data;
      source_dtype_ = parameter.dtype;
    }
  }
  ParameterBlocks(const ParameterBlocks&) = delete;
  ParameterBlocks& operator=(const ParameterBlocks&) = delete;

  /// A bound on the magnitudes of the first n elements: 2 where all are below, else the largest, NaN counting as larger than
  /// infinity. Float32 only.
  [[nodiscard]] float bound(size_t n) {
    const auto join = [](simd::I32x4 found, simd::F32x4 v) { return found | simd::as_bits(v); };
    if (!simd::has_magnitude_from_2(fold(n, join))) return 2;
    const auto larger = [](simd::I32x4 found, simd::F32x4 v) { return simd::max(found, simd::magnitude_bits(v)); };
    return simd::largest_magnitude(fold(n, larger));
  }

  /// The n <= kBlock elements from i on, a multiple of kBlock; good until the next call.
  const T* at(size_t i, size_t n) { return direct_ != nullptr ? direct_ + i * step_ : converted(i, n); }

 private:
  // Folds the first n elements, where more zeros may take part.
  template <class Fold>
  simd::I32x4 fold(size_t n, const Fold& folded) {
    simd::I32x4 found[4] = {};
    const size_t end = step_ == 0 ? 1 : n;  // one number stands for all
    const size_t piece = direct_ != nullptr ? end : kBlock;
    for (size_t i = 0; i < end; i += piece) {
      const size_t size = end - i < piece ? end - i : piece;
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

  static constexpr DType kDType = sizeof(T) == 4 ? DType::float32 : DType::float64;
  static constexpr T kNoOffset = T(-0.0);  // the neutral element of addition, also for -0

  [[gnu::noinline]] const T* converted(size_t i, size_t n) {
    if (source_dtype_ == DType::float32) {
      convert(static_cast<const float*>(source_) + i, n);
    } else {
      convert(static_cast<const double*>(source_) + i, n);
    }
    return block_;
  }

  template <class Source>
  void convert(const Source* source, size_t n) {
    LAYERNORM_ROLLED
    for (size_t i = 0; i < n; ++i) block_[i] = static_cast<T>(source[i]) + offset_;
  }

  const T* direct_ = nullptr;
  size_t step_ = 1;
  const void* source_ = block_;
  DType source_dtype_ = kDType;
  T offset_;
  T block_[kBlock];
};

/// The largest |weight| as far as it counts: for float32 rows about their mean. Of long rows it is not asked; there it
/// is taken to be large.
template <class T, bool kCentered>
double weigh(ParameterBlocks<T>& weight, size_t channels) {
  if constexpr (kCentered && sizeof(T) == 4) {
    return channels <= RunStream::kWeighed ? weight.bound(channels) : 0x1p14;
  }
  return 1;
}

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_PARAMETER_BLOCKS_H_
