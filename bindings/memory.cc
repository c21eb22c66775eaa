// An allocator of its own, 6 KB smaller than dlmalloc. Emscripten's emmalloc is no choice: its test whether a free block is
// large enough, `start + size > end`, wraps around near the end of 4 GB, and it cannot extend a free block at the end.
#include "memory.h"

#include <algorithm>
#include <iterator>

extern "C" std::byte __heap_base;

namespace layernorm {
namespace {

constexpr size_t kLine = 64;       // one cache line
constexpr size_t kPage = 4096;     // addresses that agree modulo this alias in the load-store queue of x86 cores
constexpr size_t kGrain = 65536;   // wasm memory grows by it
constexpr size_t kGrains = 65535;  // all of memory but the last grain, so that every end is below 2^32

// Where a store and a later load agree modulo a page, x86 cores take the load for dependent and stall it. Each block of a
// page and more therefore starts one cache line before the last one in its page: what is written is mostly allocated after
// what is read, so its stores fall behind the loads.
size_t next_colour() {
  constexpr size_t kColours = 16;
  static size_t colour = 0;
  colour = (colour + kColours - 1) % kColours;
  return colour * kLine;
}

// Blocks follow each other without gaps from the heap's base to the end of memory, where an empty one in use stands. No two
// neighbours are free.
struct alignas(kLine) Block {
  size_t size;    // in bytes, with this header: whole lines
  Block* before;  // the block that ends here
  Block* next;    // in its bin
  Block** link;   // what points here in its bin; null while the block is in use

  Block* after() { return reinterpret_cast<Block*>(reinterpret_cast<uintptr_t>(this) + size); }
};

Block* bins[32];       // free blocks of 2^i bytes and more, by i
Block* end = nullptr;  // the empty block

void insert(Block* block) {
  Block** bin = bins + (31 - __builtin_clz(block->size));
  block->next = *bin;
  block->link = bin;
  if (*bin != nullptr) (*bin)->link = &block->next;
  *bin = block;
}

void remove(Block* block) {
  *block->link = block->next;
  if (block->next != nullptr) block->next->link = block->link;
  block->link = nullptr;
}

// Makes a block in use free, as one with its free neighbours.
void put_back(Block* block) {
  Block* after = block->after();
  if (after->link != nullptr) {
    remove(after);
    block->size += after->size;
  }
  Block* before = block->before;
  if (before != nullptr && before->link != nullptr) {
    remove(before);
    before->size += block->size;
    block = before;
  }
  block->after()->before = block;
  insert(block);
}

// Makes memory grow so that its last block is free and has `size` bytes if possible. The glue's own views of memory are
// stale afterwards: Embind reads by them at the start only.
bool grow(size_t size) {
  const size_t grains = __builtin_wasm_memory_size(0);
  if (end == nullptr) {
    end = reinterpret_cast<Block*>((reinterpret_cast<uintptr_t>(&__heap_base) + kLine - 1) / kLine * kLine);
    *end = {};
  } else {
    const Block* last = end->before;
    const size_t missing = (size - (last->link == nullptr ? 0 : last->size) + kGrain - 1) / kGrain;
    const size_t left = kGrains - grains;
    if (missing > left) return false;
    // Up to a fifth or 96 MB more than is asked for, since each step detaches the views of memory.
    const size_t ample = std::min(std::max(missing, std::min(grains / 5, missing + 1536)), left);
    const auto succeeds = [](size_t step) { return __builtin_wasm_memory_grow(0, step) != SIZE_MAX; };
    if (!succeeds(ample) && !succeeds(missing)) return false;
  }
  Block* fresh = end;
  fresh->size = __builtin_wasm_memory_size(0) * kGrain - sizeof(Block) - reinterpret_cast<uintptr_t>(fresh);
  end = fresh->after();
  *end = {0, fresh, nullptr, nullptr};
  put_back(fresh);
  return true;
}

// The smallest free block in the first bin that has one large enough.
Block* find(size_t size) {
  for (size_t bin = 31 - __builtin_clz(size); bin < std::size(bins); bin++) {
    Block* best = nullptr;
    for (Block* block = bins[bin]; block != nullptr; block = block->next) {
      if (block->size == size) return block;
      if (block->size > size && (best == nullptr || block->size < best->size)) best = block;
    }
    if (best != nullptr) return best;
  }
  return nullptr;
}

}  // namespace

uintptr_t allocate(size_t bytes) {
  if (bytes > kGrains * kGrain - 4 * kPage) return 0;  // so that no sum below wraps around, nor grow's
  const size_t slack = bytes < kPage ? 0 : kPage + 15 * kLine;
  const size_t size = sizeof(Block) + (bytes + slack + kLine - 1) / kLine * kLine;
  Block* block;
  while ((block = find(size)) == nullptr) {
    if (!grow(size)) return 0;
  }
  remove(block);
  if (block->size > size) {
    auto* rest = reinterpret_cast<Block*>(reinterpret_cast<uintptr_t>(block) + size);
    *rest = {block->size - size, block, nullptr, nullptr};
    rest->after()->before = rest;
    block->size = size;
    insert(rest);
  }
  const auto first = reinterpret_cast<uintptr_t>(block + 1);
  const uintptr_t address = bytes < kPage ? first : (first + kPage - 1) / kPage * kPage + next_colour();
  // The word before the address: the header's last one, or one that follows it.
  reinterpret_cast<Block**>(address)[-1] = block;
  return address;
}

void release(uintptr_t address) {
  if (address != 0) put_back(reinterpret_cast<Block**>(address)[-1]);
}

}  // namespace layernorm

// Embind links them, to copy a type's name for an error that does not happen.
extern "C" void* malloc(size_t bytes) { return reinterpret_cast<void*>(layernorm::allocate(bytes)); }
extern "C" void free(void* block) { layernorm::release(reinterpret_cast<uintptr_t>(block)); }
