// A worker is a thread with an instance of its own of the same module over the same memory, and a stack of its own in it. It
// enters `work` and never leaves; its owner ends it from outside. Only the thread that calls may allocate.
//
// A job is one call, split in parts. Each thread has a queue of parts that follow each other, so that from call to call it
// meets the same memory in its cache; when that is empty it helps the others, so that nobody waits for one that comes late.
// A queue's number of parts left says all: whoever takes one of them works on the present job, since a job is over only when
// all its parts are done, and while there is none every queue is empty.
#include "team.h"

#include <emscripten/bind.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "memory.h"

namespace layernorm {
namespace {

constexpr size_t kMostThreads = 64;
constexpr size_t kLine = 64;

struct alignas(kLine) Queue {
  std::atomic<uint32_t> left = 0;
};

struct Team {
  size_t threads = 1;
  Queue queues[kMostThreads];
  // What the queues' parts are of.
  const Call* call = nullptr;
  size_t parts = 0;
  // What parts leave for each other, and how much room there is.
  uintptr_t log = 0;
  uint64_t log_room = 0;
  uint64_t missed = 0;  // bytes, since workers were woken last
  alignas(kLine) std::atomic<uint32_t> done = 0;
  alignas(kLine) std::atomic<uint32_t> jobs = 0;  // so far; workers sleep until it changes
  std::atomic<uint32_t> sleeping = 0;
};

Team team;

// Bytes of x of a call that is split at all: in a loop it gains half. The pieces in which typed arrays come are smaller; beside
// their copies nothing is gained.
constexpr uint64_t kSplitBytes = 160 * 1024;
// Bytes of x in a part. Some parts for each thread even out when it comes; where a part begins, memory and arithmetic do not
// overlap yet.
constexpr uint64_t kFewestBytes = 64 * 1024;
constexpr uint64_t kMostBytes = 2048 * 1024;
constexpr uint64_t kPartsEach = 4;
// Waking the workers takes as long as a part or two. It is worth that for a call of so many bytes, and for smaller ones, of
// which nobody knows whether they are far from each other or in a loop, once as many went by while workers slept.
constexpr uint64_t kWakeBytes = 1 << 20;
constexpr uint64_t kMissedBytes = 4 << 20;
// How often a worker looks for the next job before it sleeps: about as long as it takes to wake it.
constexpr uint32_t kLooks = 20000;

// Of what is kept for logs: larger calls stay whole.
constexpr uint64_t kMostLogBytes = 32 << 20;

std::byte* log_memory() { return reinterpret_cast<std::byte*>(team.log); }

// Whether there is room for so many bytes; what there is stays for the calls that follow.
bool reserve_log(uint64_t bytes) {
  if (bytes <= team.log_room) return true;
  if (bytes > kMostLogBytes) return false;
  release(team.log);
  team.log = allocate(static_cast<size_t>(bytes));
  team.log_room = team.log == 0 ? 0 : bytes;
  return team.log != 0;
}

// The end of a thread's queue.
size_t end_of(size_t thread) { return team.parts * (thread + 1) / team.threads; }

bool take(Queue& queue, uint32_t& left) {
  left = queue.left.load();
  while (left != 0) {
    if (queue.left.compare_exchange_weak(left, left - 1)) return true;
  }
  return false;
}

// Runs parts until none is left, the thread's own first.
void run_parts(size_t thread) {
  for (size_t i = 0; i < team.threads; ++i) {
    const size_t owner = (thread + i) % team.threads;
    uint32_t left;
    while (take(team.queues[owner], left)) {
      run_part(*team.call, end_of(owner) - left, team.parts, log_memory());
      team.done.fetch_add(1);
    }
  }
}

void sleep_until_changed(std::atomic<uint32_t>& value, uint32_t from) {
  team.sleeping.fetch_add(1);
  __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int32_t*>(&value), static_cast<int32_t>(from), -1);
  team.sleeping.fetch_sub(1);
}

// Not inline: its frame is to be on the stack that `start_work` sets.
[[gnu::noinline]] void work(size_t thread) {
  for (uint32_t seen = 0;;) {
    uint32_t looks = 0;
    while (team.jobs.load() == seen) {
      if (++looks > kLooks) sleep_until_changed(team.jobs, seen);
    }
    seen = team.jobs.load();
    run_parts(thread);
  }
}

// Where a worker comes in, on its own stack from the first.
void start_work(uintptr_t stack_end, size_t thread) {
  asm volatile(
      "local.get %0\n"
      "global.set __stack_pointer" ::"r"(stack_end));
  work(thread);
}

/// `threads` counts the one that calls.
void set_threads(size_t threads) { team.threads = std::min(threads, kMostThreads); }

uintptr_t work_entry() { return reinterpret_cast<uintptr_t>(&start_work); }

// Of x in the arithmetic type, as a measure of the time that a call takes: a backward one takes twice as long and more.
uint64_t bytes_of(const Call& call) {
  uint64_t bytes = (call.dtype == DType::float64 ? 8 : 4) * (call.backward ? 2 : 1);
  for (size_t d = 0; d < call.rank; ++d) bytes *= call.dims[d].size;
  return bytes;
}

}  // namespace

size_t count_shares(const Call& call) {
  const uint64_t bytes = bytes_of(call);
  if (team.threads == 1 || bytes < kSplitBytes) return 1;
  // As many for each thread.
  const auto whole = [](uint64_t parts) { return parts < team.threads ? parts : parts - parts % team.threads; };
  const uint64_t part = std::clamp(bytes / (kPartsEach * team.threads), kFewestBytes, kMostBytes);
  const uint64_t most = std::max<uint64_t>(whole(bytes / part), 2);
  if (!reserve_log(log_size(call))) return 1;
  return static_cast<size_t>(whole(count_parts(call, static_cast<size_t>(most))));
}

void run_shared(const Call& call, size_t parts) {
  const uint32_t sleeping = team.sleeping.load();
  const uint64_t bytes = bytes_of(call);
  if (sleeping > 0) team.missed += bytes;
  const bool wakes = sleeping > 0 && (bytes >= kWakeBytes || team.missed >= kMissedBytes);
  if (!wakes && sleeping == team.threads - 1) {
    run(call);
    return;
  }
  begin_parts(call);
  team.call = &call;
  team.parts = parts;
  team.done.store(0);
  for (size_t i = 0, begin = 0; i < team.threads; ++i) {
    const size_t end = end_of(i);
    team.queues[i].left.store(static_cast<uint32_t>(end - begin));
    begin = end;
  }
  team.jobs.fetch_add(1);
  if (wakes) {
    team.missed = 0;
    __builtin_wasm_memory_atomic_notify(reinterpret_cast<int32_t*>(&team.jobs), UINT32_MAX);
  }
  run_parts(0);
  // A page's main thread may not sleep. What is left are parts under way.
  while (team.done.load() != parts) {
  }
  end_parts(call, log_memory());
}

EMSCRIPTEN_BINDINGS(layernorm_team) {
  emscripten::function("set_threads(threads)", &set_threads);
  emscripten::function("work_entry()", &work_entry);
}

}  // namespace layernorm
