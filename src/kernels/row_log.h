// What rows that share their parameters leave, in calls that are split, for the thread that makes the sums.
#ifndef LAYERNORM_KERNELS_ROW_LOG_H_
#define LAYERNORM_KERNELS_ROW_LOG_H_

#include <cstddef>

#include "kernels/narrow_gradient.h"

namespace layernorm {

/// Of as many rows as are summed in float32: which of them are in the sums, and whether these are all there is to do.
struct RowLog {
  bool waited[NarrowGradient::kRows];
  bool is_finite, is_whole;
  alignas(16) std::byte sums[16];  // and more

  /// Bytes, for rows of n elements.
  static size_t size(size_t n) { return (offsetof(RowLog, sums) + NarrowGradient::log_size(n) + 15) / 16 * 16; }
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_ROW_LOG_H_
