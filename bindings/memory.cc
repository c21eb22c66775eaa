#include "memory.h"

namespace layernorm {
namespace {

constexpr size_t kLine = 64;    // one cache line
constexpr size_t kPage = 4096;  // addresses that agree modulo this alias in the load-store queue of x86 cores

// Where a store and a later load agree modulo a page, x86 cores take the load for dependent and stall it. Each block of a
// page and more therefore starts one cache line before the last one in its page: what is written is mostly allocated after
// what is read, so its stores fall behind the loads.
size_t next_colour() {
  constexpr size_t kColours = 16;
  static size_t colour = 0;
  colour = (colour + kColours - 1) % kColours;
  return colour * kLine;
}

}  // namespace

uintptr_t allocate(size_t bytes) {
  // The start of the allocation stands in the word before the block.
  const size_t slack = bytes < kPage ? kLine : kPage + 16 * kLine;
  if (bytes > SIZE_MAX - slack - kLine) return 0;
  void* start = std::malloc(bytes + slack + kLine);
  if (start == nullptr) return 0;
  const auto first = reinterpret_cast<uintptr_t>(start) + sizeof(uintptr_t);
  const uintptr_t address =
      bytes < kPage ? (first + kLine - 1) / kLine * kLine : (first + kPage - 1) / kPage * kPage + next_colour();
  reinterpret_cast<uintptr_t*>(address)[-1] = reinterpret_cast<uintptr_t>(start);
  return address;
}

void release(uintptr_t address) {
  if (address != 0) std::free(reinterpret_cast<void*>(reinterpret_cast<uintptr_t*>(address)[-1]));
}

}  // namespace layernorm
