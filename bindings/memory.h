// Memory of the wasm heap that JavaScript's side owns by address.
#ifndef LAYERNORM_BINDINGS_MEMORY_H_
#define LAYERNORM_BINDINGS_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <new>

namespace layernorm {

/// The address of fresh memory on a 64-byte boundary, or 0 when there is none.
uintptr_t allocate(size_t bytes);

/// Frees what `allocate` gave; 0 is harmless.
void release(uintptr_t address);

/// A T on the heap, or null when there is no memory.
template <class T>
T* create() {
  const uintptr_t address = allocate(sizeof(T));
  return address == 0 ? nullptr : new (reinterpret_cast<void*>(address)) T();
}

template <class T>
void destroy(T* object) {
  if (object == nullptr) return;
  object->~T();
  release(reinterpret_cast<uintptr_t>(object));
}

}  // namespace layernorm

#endif  // LAYERNORM_BINDINGS_MEMORY_H_
