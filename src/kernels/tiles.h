// Pieces of x and y in the arithmetic type. Where both lie in memory in that type they are used where they stand; else pieces
// of x are brought to a stage, overwritten there by those of y, and taken away.
#ifndef LAYERNORM_KERNELS_TILES_H_
#define LAYERNORM_KERNELS_TILES_H_

#include <cstring>

#include "kernels/storage.h"

namespace layernorm {

class Tiles {
 public:
  /// `x` is what is read: x itself, or the sum that was made of it.
  Tiles(const Call& call, Operand x, const void* from)
      : call_(call),
        input_(x),
        from_(static_cast<const std::byte*>(from)),
        to_(static_cast<std::byte*>(call.y)),
        stored_size_(element_size(call.dtype)),
        size_(arithmetic_size(call.dtype)),
        direct_(!is_16_bit(call.dtype) && !call.is_remote(x) && !call.is_remote(Operand::y)) {
    if (direct_ || call.transfer == nullptr) return;
    const std::span<std::byte> given = call.transfer->stage();
    if (given.size() > stage_.size()) stage_ = given;
  }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  /// Elements that a tile may have, a multiple of 64, where `wanted` would be held at once: as few as will do stay nearest.
  [[nodiscard]] size_t capacity(uint64_t wanted) const {
    const size_t most = wanted * size_ <= kOwnStage ? kOwnStage : stage_.size();
    return (direct_ ? SIZE_MAX : most / size_) / 64 * 64;
  }

  struct Tile {
    const std::byte* x;
    std::byte* y;
    size_t stride;  // elements from a row to the next
  };

  /// Rows of `columns` elements that begin at an offset and every `stride` elements after it.
  [[gnu::noinline]] Tile get(uint64_t offset, size_t rows, size_t columns, uint64_t stride) {
    if (direct_) return {from_ + offset * size_, to_ + offset * size_, static_cast<size_t>(stride)};
    const Key key = {offset, stride, rows, columns};
    if (!(key == key_)) {
      key_ = key;
      each_piece([&](uint64_t begin, size_t n, std::byte* staged) { fetch(begin, n, staged); });
    }
    return {stage_.data(), stage_.data(), columns};
  }

  /// Takes the last tile away, which has become y.
  [[gnu::noinline]] void put() {
    if (direct_) return;
    each_piece([&](uint64_t begin, size_t n, std::byte* staged) { leave(begin, n, staged); });
    key_ = {};
  }

 private:
  static constexpr size_t kOwnStage = 65536;
  static constexpr size_t kPiece = 2048;  // elements of a 16-bit type that are converted at a time

  struct Key {
    uint64_t offset = 0, stride = 0;
    size_t rows = 0, columns = 0;
    bool operator==(const Key&) const = default;
  };

  // Calls visit(begin, n, staged) for each contiguous piece of the tile.
  template <class Visit>
  void each_piece(const Visit& visit) {
    const bool whole = key_.rows == 1 || key_.stride == key_.columns;
    const size_t length = whole ? key_.rows * key_.columns : key_.columns;
    const size_t most = is_16_bit(call_.dtype) ? kPiece : length;
    for (size_t row = 0; row < (whole ? 1 : key_.rows); ++row) {
      for (size_t i = 0; i < length; i += most) {
        const size_t n = length - i < most ? length - i : most;
        visit(key_.offset + row * key_.stride + i, n, stage_.data() + (row * length + i) * size_);
      }
    }
  }

  void fetch(uint64_t begin, size_t n, std::byte* staged) {
    const bool converted = is_16_bit(call_.dtype);
    const bool remote = call_.is_remote(input_);
    const std::byte* stored = remote ? stored_ : from_ + begin * stored_size_;
    if (remote) {
      call_.transfer->read(input_, begin, n, converted ? stored_ : staged);
    } else if (!converted) {
      std::memcpy(staged, stored, n * size_);
    }
    if (converted) to_float32(call_.dtype, stored, reinterpret_cast<float*>(staged), n);
  }

  void leave(uint64_t begin, size_t n, const std::byte* staged) {
    const bool converted = is_16_bit(call_.dtype);
    const bool remote = call_.is_remote(Operand::y);
    std::byte* stored = remote ? stored_ : to_ + begin * stored_size_;
    if (converted) {
      from_float32(call_.dtype, reinterpret_cast<const float*>(staged), stored, n);
    } else if (!remote) {
      std::memcpy(stored, staged, n * size_);
    }
    if (remote) call_.transfer->write(Operand::y, begin, n, converted ? stored_ : staged);
  }

  const Call& call_;
  Operand input_;
  const std::byte* from_;
  std::byte* to_;
  size_t stored_size_, size_;
  bool direct_;
  Key key_;
  alignas(16) std::byte own_stage_[kOwnStage];
  std::span<std::byte> stage_ = own_stage_;
  alignas(16) std::byte stored_[kPiece * sizeof(uint16_t)];
};

/// mean or rstd: one element per run, handed over in their order.
class StatisticSink {
 public:
  StatisticSink(const Call& call, Operand operand, double* data)
      : call_(call), operand_(operand), data_(data), remote_(call.is_remote(operand)) {}

  [[nodiscard]] bool wanted() const { return data_ != nullptr || remote_; }

  /// How many can be handed over at a time.
  static constexpr size_t kCapacity = 256;

  /// Room for n from an index on, or null.
  [[nodiscard]] double* at(uint64_t index, size_t n) {
    if (!remote_) return data_ == nullptr ? nullptr : data_ + index;
    if (begin_ + used_ != index || used_ + n > kCapacity) {
      flush();
      begin_ = index;
    }
    double* room = buffer_ + used_;
    used_ += n;
    return room;
  }

  void flush() {
    if (used_ > 0) call_.transfer->write(operand_, begin_, used_, buffer_);
    used_ = 0;
  }

 private:
  const Call& call_;
  Operand operand_;
  double* data_;
  bool remote_;
  uint64_t begin_ = 0;
  size_t used_ = 0;
  double buffer_[kCapacity];
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_TILES_H_
