// How the dimensions of a view are gone through.
#ifndef LAYERNORM_KERNELS_LAYOUT_H_
#define LAYERNORM_KERNELS_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "layernorm/layernorm.h"

namespace layernorm {

// Few contiguous values of a run beside those of others: they are taken as columns.
inline constexpr uint64_t kFewest = 64;

/// The inner ones hold segments of one run, or columns of many.
struct Layout {
  size_t inner;     // the first of the inner dimensions
  bool columns;     // several runs side by side
  uint64_t size;    // elements along the inner dimensions
  uint64_t fold;    // columns in turn that are of one run
  uint64_t slices;  // positions of the kept dimensions that come first
  uint64_t slice_size;

  explicit Layout(const Call& call) : columns(!call.dims[call.rank - 1].reduced), fold(1) {
    size_t d = call.rank;
    while (d > 0 && call.dims[d - 1].reduced == !columns) --d;
    inner = d;
    if (!columns) {
      const uint64_t segment = size_from(call, d);
      while (d > 0 && !call.dims[d - 1].reduced) --d;
      if (segment < kFewest && d > 0) {
        columns = true;
        inner = d;
        fold = segment;
      }
    }
    size = size_from(call, inner);
    slices = 1;
    size_t first = 0;
    for (; first < inner && !call.dims[first].reduced; ++first) slices *= call.dims[first].size;
    slice_size = size_from(call, first);
  }

  static uint64_t size_from(const Call& call, size_t first) {
    uint64_t size = 1;
    for (size_t d = first; d < call.rank; ++d) size *= call.dims[d].size;
    return size;
  }
};

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_LAYOUT_H_
