// Parameters as the kernels read them: blocks of the arithmetic type.
#ifndef LAYERNORM_KERNELS_PARAMETER_BLOCKS_H_
#define LAYERNORM_KERNELS_PARAMETER_BLOCKS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/storage.h"
#include "layernorm/layernorm.h"
#include "simd/vec.h"

namespace layernorm {

/// Elements that a kernel takes at a time: sums are flushed and parameters converted once per block.
inline constexpr size_t kBlock = 64;
/// How often an element that repeats is there at once: what the longest steps of kernels read.
inline constexpr size_t kRepeated = 16;

template <class T>
inline constexpr DType kDTypeOf = sizeof(T) == 4 ? DType::float32 : DType::float64;

/// Elements in turn, or, with step 0, one that stands `kBlock` times and is meant for all of them.
template <class T>
struct Strided {
  const T* data;
  size_t step;
};

/// One element of any type.
inline double element(DType dtype, const void* data, uint64_t i) {
  double value;
  convert(dtype, static_cast<const std::byte*>(data) + i * element_size(dtype), DType::float64, &value, 1);
  return value;
}

/// Where a parameter's elements stand along the inner dimensions [first, last) of a view, whose positions count row-major.
class ParameterPlaces {
 public:
  /// Not a constructor: most parameters need none of this, and setting it up takes as long as a short row.
  void set(const Call& call, Operand operand, size_t first, size_t last);

  /// Whether positions in turn are elements in turn, or are all one element.
  [[nodiscard]] bool is_contiguous() const { return rank_ == 1 && strides_[0] == 1; }
  [[nodiscard]] bool is_repeated() const { return rank_ == 1 && strides_[0] == 0; }
  /// How many positions in turn are one element, at least.
  [[nodiscard]] size_t repeat() const { return strides_[rank_ - 1] == 0 ? sizes_[rank_ - 1] : 1; }

  /// Position 0 is element `base` from now on.
  void move_to(uint64_t base) { base_ = base; }
  [[nodiscard]] uint64_t base() const { return base_; }

  /// The element at a position, and how many positions in turn from there on are one element, or are elements in turn.
  struct Stretch {
    uint64_t element;
    size_t length;
    bool repeats;
  };
  [[nodiscard]] Stretch stretch(size_t position) const;

  /// Visits the stretches of n positions, of which the first is known: visit(element, length, repeats).
  template <class Visit>
  void each_stretch(Stretch at, size_t position, size_t n, const Visit& visit) const {
    for (;;) {
      const size_t length = std::min(at.length, n);
      visit(at.element, length, at.repeats);
      if (length == n) return;
      n -= length;
      position += length;
      if (at.repeats && rank_ == 2) {
        // As the channels of a group: without the divisions that finding a position takes.
        at.element += strides_[0];
        at.length = sizes_[1];
      } else {
        at = stretch(position);
      }
    }
  }

 private:
  // All of it is left unset until set() is called; of the arrays an element counts once it was written.
  uint64_t base_;
  size_t rank_;
  size_t sizes_[Call::kMaxRank];
  uint64_t strides_[Call::kMaxRank];
};

/// A parameter's elements by their places, and their values in float64, which holds each exactly.
class ParameterSource : public ParameterPlaces {
 public:
  void set(const Call& call, Operand operand, size_t first, size_t last);

  [[nodiscard]] bool is_remote() const { return transfer_ != nullptr; }

  /// Where n <= kBlock elements from a position on stand, if they are contiguous.
  const void* at(size_t position, size_t n) { return address(base() + position, n); }

  /// n <= kBlock values from a position on.
  void read(size_t position, size_t n, double* to);

 private:
  static constexpr size_t kWindow = 4096;  // bytes of what is remote that are read at a time

  const void* address(uint64_t element, size_t n);

  const std::byte* data_;
  Transfer* transfer_;
  uint64_t size_;
  uint64_t window_begin_, window_end_;
  Operand operand_;
  DType dtype_;
  alignas(16) std::byte window_[kWindow];
};

/// A parameter of the arithmetic type T. A contiguous vector of that type is read where it stands; a number, or nothing, is one
/// block that is read again and again; anything else is gathered and converted block by block.
template <class T>
class ParameterBlocks {
 public:
  /// `absent` stands for a parameter that is not there; `offset` is added to one that is.
  ParameterBlocks(const Call& call, Operand operand, T absent, double offset, size_t first, size_t last)
      : offset_(offset == 0 ? kNoOffset : static_cast<T>(offset)) {
    const Parameter& parameter = call.parameter(operand);
    const bool contiguous = last == first + 1 && call.strides[static_cast<size_t>(operand)][first] == 1;
    if (parameter.kind == Parameter::Kind::vector && contiguous && can_be_direct(parameter, call.is_remote(operand))) {
      place_directly(static_cast<const T*>(parameter.data));
    } else {
      place(call, operand, absent, first, last);
    }
  }
  /// A vector of which position 0 is the first element, or, where it is null, a number for all positions.
  ParameterBlocks(const T* vector, T number) : offset_(kNoOffset) {
    vector == nullptr ? fill(number) : place_directly(vector);
  }
  ParameterBlocks(const ParameterBlocks&) = delete;
  ParameterBlocks& operator=(const ParameterBlocks&) = delete;

  /// Position 0 is element `base` from now on.
  void move_to(uint64_t base) {
    if (place_ != Place::kNone) move(base);
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

  /// Whether all n elements of a vector that can be read as it is are known to be below 2. Float32 only.
  [[nodiscard, gnu::noinline]] bool is_below_2(size_t n) const {
    if (sizeof(T) != 4 || whole_ == nullptr) return false;
    const auto* whole = reinterpret_cast<const float*>(whole_);
    simd::I32x4 found = {};
    size_t i = 0;
    LAYERNORM_ROLLED
    for (; i + 4 <= n; i += 4) found = found | simd::as_bits(simd::load(whole + i));
    if (i < n) found = found | simd::as_bits(simd::load_partial(whole + i, n - i, 0.0F));
    return !simd::has_magnitude_from_2(found);
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
  const T* at(size_t i, size_t n) {
    if (is_short_) complete();
    return direct_ != nullptr ? direct_ + i * step_ : converted(i, n);
  }

  /// The same, and fast also where it is one element again and again.
  const T* next(size_t i, size_t n) { return direct_ == nullptr && is_within(i) ? block_ : at(i, n); }

  /// The same, for as many as `longest` says; of one that repeats, kRepeated times.
  Strided<T> from(size_t i, size_t n) { return {direct_ != nullptr ? direct_ + i * step_ : converted(i, n), step_}; }

  /// How many elements, at most n, `from` gives of two parameters at a time: all where they stand as they are, those that are
  /// one element once that is converted.
  static size_t longest(const ParameterBlocks& a, const ParameterBlocks& b, size_t i, size_t n) {
    return a.direct_ != nullptr && b.direct_ != nullptr ? n : joint(a, b, i, n);
  }

  /// Whether one element stands at every position, whatever the base, and can be read as it is.
  [[nodiscard]] bool has_one() const {
    return place_ == Place::kNone || (place_ == Place::kRepeated && whole_ != nullptr);
  }
  /// That of a base, which needs no move there.
  [[nodiscard]] T one(uint64_t base) const { return whole_ != nullptr ? whole_[base] : block_[0]; }

  /// Whether `at` gives any number of elements.
  [[nodiscard]] bool is_direct() const { return direct_ != nullptr && step_ == 1; }

  /// The element at the present base.
  [[nodiscard]] T value() { return direct_ != nullptr ? *direct_ : *converted(0, 1); }

 private:
  enum class Place : uint8_t { kNone, kDirect, kRepeated, kConverted };

  static constexpr T kNoOffset = T(-0.0);  // the neutral element of addition, also for -0
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  [[nodiscard]] bool can_be_direct(const Parameter& parameter, bool is_remote) const {
    return parameter.dtype == kDTypeOf<T> && offset_ == 0 && !is_remote;
  }

  void place_directly(const T* vector) {
    place_ = Place::kDirect;
    whole_ = direct_ = vector;
  }

  [[gnu::noinline]] void move(uint64_t base) {
    if (place_ == Place::kDirect) {
      direct_ = whole_ + base;
    } else if (base != source_.base()) {
      source_.move_to(base);
      filled_ = within_ = 0;
      direct_ = nullptr;
      if (place_ == Place::kRepeated) fill(whole_ != nullptr ? whole_[base] : *converted(0, 1));
    }
  }

  // A constructor's work, which would be compiled twice as one.
  [[gnu::noinline]] void place(const Call& call, Operand operand, T absent, size_t first, size_t last) {
    const Parameter& parameter = call.parameter(operand);
    if (parameter.kind != Parameter::Kind::vector) {
      fill(parameter.kind == Parameter::Kind::number ? static_cast<T>(parameter.number) + offset_ : absent);
      return;
    }
    source_.set(call, operand, first, last);
    if (source_.is_contiguous() && can_be_direct(parameter, source_.is_remote())) {
      place_directly(static_cast<const T*>(parameter.data));
    } else {
      place_ = source_.is_repeated() ? Place::kRepeated : Place::kConverted;
      if (can_be_direct(parameter, source_.is_remote())) whole_ = static_cast<const T*>(parameter.data);
      as_is_ = source_.is_contiguous() && parameter.dtype == kDTypeOf<T> && offset_ == 0;
      source_.move_to(kNowhere);
      move_to(0);
    }
  }

  [[gnu::noinline]] void repeat(T value) {
    LAYERNORM_ROLLED
    for (T& each : block_) each = value;
  }

  // Runs of a few values, each with an element of its own, would else take longer for this than for their arithmetic.
  void fill(T value) {
    for (size_t i = 0; i < kRepeated; ++i) block_[i] = value;
    is_short_ = true;
    direct_ = block_;
    step_ = 0;
  }

  [[gnu::noinline]] void complete() {
    is_short_ = false;
    repeat(block_[0]);
  }

  // Folds the first n elements, where more zeros may take part.
  template <class Fold>
  simd::I32x4 fold(size_t n, const Fold& folded) {
    simd::I32x4 found[4] = {};
    const size_t end = direct_ != nullptr && step_ == 0 ? 1 : n;  // one number stands for all
    const size_t piece = direct_ != nullptr ? end : kBlock;
    // Of elements that repeat, one will do.
    const size_t repeat = place_ == Place::kConverted && direct_ == nullptr ? source_.repeat() : 1;
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

  // Whether the block holds what a whole block from position i on does.
  [[nodiscard]] bool is_within(size_t i) const { return i - filled_from_ < within_; }

  [[nodiscard]] size_t longest(size_t i) const {
    return direct_ != nullptr ? SIZE_MAX : is_within(i) ? filled_to_ - i : kBlock;
  }

  [[gnu::noinline]] static size_t joint(const ParameterBlocks& a, const ParameterBlocks& b, size_t i, size_t n) {
    return std::min({n, a.longest(i), b.longest(i)});
  }

  // Each rounded once. One element n times may stand in the block already.
  [[gnu::noinline]] const T* converted(size_t i, size_t n) {
    if (is_within(i) || (filled_ >= n && i >= filled_from_ && i + n <= filled_to_)) return block_;
    if (as_is_) return static_cast<const T*>(source_.at(i, n));
    const ParameterSource::Stretch stretch = source_.stretch(i);
    within_ = filled_ = 0;
    if (stretch.repeats && stretch.length >= n) {
      double value;
      if (whole_ == nullptr) source_.read(i, 1, &value);
      repeat(whole_ != nullptr ? whole_[stretch.element] : static_cast<T>(value) + offset_);
      filled_ = kBlock;
      if (stretch.length >= kBlock) within_ = stretch.length - kBlock + 1;
    } else if (whole_ != nullptr) {
      T* to = block_;
      source_.each_stretch(stretch, i, n, [&](uint64_t from, size_t length, bool repeats) {
        const T* each = whole_ + from;
        LAYERNORM_ROLLED
        for (size_t k = 0; k < length; ++k) to[k] = each[repeats ? 0 : k];
        to += length;
      });
    } else {
      double values[kBlock];
      source_.read(i, n, values);
      LAYERNORM_ROLLED
      for (size_t k = 0; k < n; ++k) block_[k] = static_cast<T>(values[k]) + offset_;
    }
    step_ = within_ == 0 ? 1 : 0;
    filled_from_ = i;
    filled_to_ = i + stretch.length;
    return block_;
  }

  const T* direct_ = nullptr;  // what stands at position 0, unless it must be converted
  const T* whole_ = nullptr;   // all of it, where it can be read as it is
  size_t step_ = 1;
  bool is_short_ = false;  // whether the block has no more than kRepeated of what it repeats
  Place place_ = Place::kNone;
  bool as_is_ = false;  // handed over piece by piece, but not converted
  T offset_;
  size_t filled_ =
      0;  // elements of the block that repeat one, that of positions filled_from_ to filled_to_: all or none
  size_t filled_from_ = 0, filled_to_ = 0;
  size_t within_ = 0;  // from filled_from_ on, positions from which on a whole block is that one
  ParameterSource source_;
  T block_[kBlock];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_PARAMETER_BLOCKS_H_
