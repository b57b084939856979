// The scheduler of the simulator: fibers, barriers, shared memory, cp.async. Compiled once, linked to
// every kernel; in checking mode check.cpp is linked too and its weak symbols are present.
#include "sim.hpp"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern "C" {
void check_access(const void*, int, int, const void*) __attribute__((weak));
void check_block(unsigned) __attribute__((weak));
void check_begin() __attribute__((weak));
extern char __ehdr_start __attribute__((visibility("hidden")));
void sim_switch(void** save, void* to);
}

#if !defined(__x86_64__)
#error "the simulator switches fibers in x86-64 assembly"
#endif
asm(R"(
.text
.hidden sim_switch
.globl sim_switch
.type sim_switch,@function
sim_switch:
  pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
  movq %rsp,(%rdi); movq %rsi,%rsp
  popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
  ret
.size sim_switch,.-sim_switch
)");

namespace sim {
Block B;
static char* stacks;
static unsigned capacity, statics;
static struct { const void* tag; unsigned offset; } arrays[64];
static uint64_t random_state;
static void (*entry)(void*);
static void* entry_argument;
static char* out;
static size_t out_room;

struct Pending { void* to; const void* from; int bytes; unsigned group; const void* pc; };
static struct { Pending item[256]; unsigned count, group; } queues[1024];

char* stack_begin() { return stacks; }
char* stack_end() { return stacks + capacity * STACK; }
char* threads_end() { return (char*)(B.thread + capacity + 32); }

static void say(const char* kind, const char* text, const void* pc, const Thread& t, unsigned count) {
  size_t used = strlen(out);
  snprintf(out + used, out_room - used, "%s\t%s\t%lx\t%u,%u,%u\t%u,%u,%u\t%u\n", kind, text,
           pc ? (long)((const char*)pc - &__ehdr_start) : 0L, B.index.x, B.index.y, B.index.z, t.tid.x,
           t.tid.y, t.tid.z, count);
}
void fail_at(const char* message, const void* pc) {
  if (B.failed) return;
  B.failed = true;
  say("E", message, pc, *B.current, 1);
}
void fail(const char* message) {
  fail_at(message, __builtin_return_address(0));
  sim_switch(&B.current->stack_pointer, B.scheduler_sp);
}
void leave() { sim_switch(&B.current->stack_pointer, B.scheduler_sp); }
void wait(State state) {
  B.current->pc = __builtin_return_address(0);
  B.current->state = state;
  leave();
}
void barrier(int site) {
  B.current->site = site;
  B.current->pc = __builtin_return_address(0);
  B.current->state = AT_BARRIER;
  B.waiting++;
  leave();
}
char* shared_array(const void* tag, size_t bytes) {
  for (unsigned i = 0; i < statics; i++)
    if (arrays[i].tag == tag) return B.shared + arrays[i].offset;
  unsigned at = (B.shared_top + 127) / 128 * 128;
  if (at + bytes > MOST_SHARED || statics == 64) fail("shared memory exceeds 227 KiB");
  arrays[statics++] = {tag, at};
  B.shared_top = at + bytes;
  memset(B.shared + at, 0xFF, bytes);
  return B.shared + at;
}
void access(const void* p, int bytes, Kind kind) {
  const void* pc = __builtin_return_address(0);
  if ((uintptr_t)p & (bytes - 1)) {
    fail_at("misaligned vector access", pc);
    return leave();
  }
  if (check_access) check_access(p, bytes, kind, pc);
}
void raw_copy(void* to, const void* from, int bytes) { memcpy(to, from, bytes); }

// The copy lands only at the wait that covers its group, so that a missing wait is seen.
void async_copy(void* to, const void* from, int bytes) {
  const void* pc = __builtin_return_address(0);
  auto& q = queues[B.current->linear];
  const char* wrong = ((uintptr_t)to | (uintptr_t)from) & 15 ? "cp.async of 16 bytes: misaligned address"
                      : q.count == 256 ? "more than 256 cp.async of one thread are in flight" : nullptr;
  if (wrong) {
    fail_at(wrong, pc);
    return leave();
  }
  if (bytes && check_access) check_access(from, bytes, READ, pc);
  q.item[q.count++] = {to, from, bytes, q.group, pc};
}
void async_commit() { queues[B.current->linear].group++; }
void async_wait(int keep) {
  auto& q = queues[B.current->linear];
  unsigned left = 0;
  for (unsigned i = 0; i < q.count; i++) {
    Pending e = q.item[i];
    if (int(q.group - e.group) <= keep) { q.item[left++] = e; continue; }
    if (check_access) check_access(e.to, 16, WRITE, e.pc);
    memcpy(e.to, e.from, e.bytes);
    memset((char*)e.to + e.bytes, 0, 16 - e.bytes);
  }
  q.count = left;
}

static uint32_t rnd() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return uint32_t(random_state >> 11);
}
static void shuffle(uint16_t* order, unsigned n) {
  for (unsigned i = n; i-- > 1;) {
    unsigned j = rnd() % (i + 1);
    uint16_t x = order[i];
    order[i] = order[j];
    order[j] = x;
  }
}
static void fiber() {
  entry(entry_argument);
  B.alive--;
  B.current->state = DONE;
  leave();
  __builtin_unreachable();
}
static void start(Thread& t) {
  void** sp = (void**)(uintptr_t(t.stack + STACK - 64) & ~uintptr_t(63));
  *--sp = nullptr;
  *--sp = (void*)fiber;
  for (int i = 0; i < 6; i++) *--sp = nullptr;
  t.stack_pointer = sp;
  t.state = READY;
}
static void release_barrier() {
  const Thread* first = nullptr;
  for (unsigned i = 0; i < B.threads; i++) {
    Thread& t = B.thread[i];
    if (t.state != AT_BARRIER) continue;
    if (first && t.site != first->site) {
      B.current = &t;
      fail_at("__syncthreads is reached at two different places", t.pc);
      say("W", "another thread is at", first->pc, *first, 1);
      return;
    }
    if (!first) first = &t;
  }
  if (B.alive != B.threads) {
    B.current = const_cast<Thread*>(first);
    return fail_at("__syncthreads after some threads of the block have exited", first->pc);
  }
  for (unsigned i = 0; i < B.threads; i++) B.thread[i].state = READY;
  B.waiting = 0;
  B.epoch++;
}
static void report_deadlock() {
  bool first = true;
  for (unsigned i = 0; i < B.threads; i++) {
    Thread& t = B.thread[i];
    if (t.state == DONE || !t.pc) continue;
    unsigned same = 0;
    for (unsigned j = 0; j < B.threads; j++)
      same += B.thread[j].state == t.state && B.thread[j].pc == t.pc;
    bool seen = false;
    for (unsigned j = 0; j < i; j++) seen |= B.thread[j].state == t.state && B.thread[j].pc == t.pc;
    if (seen) continue;
    if (first) {
      B.current = &t;
      fail_at("deadlock: no thread can run", t.pc);
      first = false;
    }
    say("W", t.state == AT_BARRIER ? "waiting at __syncthreads" : "waiting in a warp collective", t.pc, t, same);
  }
}
static bool run_block(unsigned number) {
  unsigned n = B.threads;
  B.alive = n;
  B.waiting = 0;
  B.first_epoch = ++B.epoch;
  memset(B.arrived, 0, sizeof B.arrived);
  static uint16_t warps[32], lanes[32];
  for (unsigned i = 0; i < 32; i++) warps[i] = lanes[i] = i;
  for (unsigned i = 0; i < n; i++) {
    Thread& t = B.thread[i];
    t.linear = i, t.lane = i & 31, t.warp = i >> 5, t.warp_epoch = 0, t.pc = nullptr;
    t.stack = stacks + size_t(i) * STACK;
    t.tid = {i % B.block.x, i / B.block.x % B.block.y, i / (B.block.x * B.block.y)};
    queues[i].count = queues[i].group = 0;
    start(t);
  }
  memset(B.shared, 0xFF, B.shared_top);  // NaN in every float format
  if (check_block) check_block(number);
  bool mixed = random_state != 0;
  while (B.alive && !B.failed) {
    bool progress = false;
    if (mixed) shuffle(warps, B.warps);
    for (unsigned k = 0; k < B.warps; k++) {
      unsigned w = warps[k], width = (w + 1) * 32 < n ? 32 : n - w * 32;
      for (bool again = true; again;) {
        again = false;
        if (mixed) shuffle(lanes, 32);
        for (unsigned i = 0; i < 32; i++) {
          if (lanes[i] >= width) continue;
          Thread& t = B.thread[w * 32 + lanes[i]];
          if (t.state != READY) continue;
          B.current = &t;
          sim_switch(&B.scheduler_sp, t.stack_pointer);
          if (B.failed) return false;
          progress = again = true;
        }
      }
    }
    if (B.waiting && B.waiting == B.alive) release_barrier();
    else if (B.alive && !progress) report_deadlock();
  }
  return !B.failed;
}
static uint64_t gcd(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}
int launch(const unsigned* grid, const unsigned* block, size_t dynamic, uint32_t seed,
           void (*function)(void*), void* argument, char* report, size_t room) {
  out = report, out_room = room;
  out[0] = 0;
  B.grid = {grid[0], grid[1], grid[2]};
  B.block = {block[0], block[1], block[2]};
  unsigned n = block[0] * block[1] * block[2];
  if (n == 0 || n > 1024 || dynamic > MOST_SHARED) {
    snprintf(out, room, "E\tcannot launch %u threads with %zu bytes of dynamic shared memory\t0\t\t\t1\n", n, dynamic);
    return 2;
  }
  if (capacity < n) {
    if (stacks) munmap(stacks, STACK * capacity);
    free(B.thread);
    stacks = (char*)mmap(nullptr, STACK * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    B.thread = (Thread*)calloc(n + 32, sizeof(Thread));
    if (stacks == MAP_FAILED || !B.thread) {
      stacks = nullptr, capacity = 0;
      snprintf(out, room, "E\tno memory for the stacks of %u threads\t0\t\t\t1\n", n);
      return 2;
    }
    capacity = n;
  }
  if (!B.shared) B.shared = (char*)aligned_alloc(1024, MOST_SHARED + 1024);
  B.threads = n, B.warps = (n + 31) / 32, B.failed = false;
  B.shared_top = dynamic, statics = 0;
  entry = function, entry_argument = argument;
  random_state = seed ? (uint64_t(seed) * 0x9E3779B97F4A7C15ull) | 1 : 0;
  if (check_begin) check_begin();
  uint64_t blocks = uint64_t(grid[0]) * grid[1] * grid[2], step = 1, at = 0;
  if (seed && blocks > 1) {  // a random order that visits each block once
    at = rnd() % blocks;
    do step = 1 + rnd() % blocks; while (gcd(step, blocks) != 1);
  }
  for (uint64_t i = 0; i < blocks; i++, at = (at + step) % blocks) {
    B.index = {unsigned(at % grid[0]), unsigned(at / grid[0] % grid[1]), unsigned(at / (uint64_t(grid[0]) * grid[1]))};
    if (!run_block(at)) return 1;
  }
  return 0;
}
}  // namespace sim
