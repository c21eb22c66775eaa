#include "memory.h"

namespace layernorm {
namespace {

constexpr size_t kLine = 64;    // one cache line
constexpr size_t kPage = 4096;  // addresses that agree modulo this alias in the load-store queue of x86 cores

// Blocks of a page and more start one cache line further into their page than the block before, because a store to y
// and the next load from x that agree modulo 4096 stall each other.
size_t next_colour() {
  static size_t colour = 0;
  colour = (colour + 1) % 16;
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
