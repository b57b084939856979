// Checking mode. Kernels are compiled with -fsanitize=thread, so that every access calls
// __tsan_readN or __tsan_writeN; the ones here are ours, libtsan is not linked. Each byte of shared
// memory and of every registered buffer has a shadow: who wrote it last, who read it since.
#include "sim.hpp"
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
#include <stdio.h>
#define API extern "C" __attribute__((visibility("default")))

extern "C" char __ehdr_start __attribute__((visibility("hidden")));
extern "C" char _end __attribute__((visibility("hidden")));
namespace sim {
char* stack_begin();
char* stack_end();
char* threads_end();
void fail_at(const char*, const void*);
void leave();
}
using namespace sim;

namespace {
constexpr uint16_t MANY_LANES = 0xFFFE, MANY_WARPS = 0xFFFF;
constexpr uint32_t MANY_BLOCKS = ~0u;
struct Access { uint32_t epoch, block, warp_epoch; uint16_t thread, warp; const void* pc; };
struct Cell { Access write, read; bool atomic; };
enum Flags { WRITABLE = 1, INITIALISED = 2 };
struct Buffer { const char* begin; size_t bytes; int flags; std::vector<Cell> cells; };
std::vector<Cell> shared_cells;
std::vector<Buffer> buffers;
uint32_t block_number;

struct Finding { unsigned count, block, thread; };
std::map<std::tuple<std::string, const void*, const void*>, Finding> findings;
void report(const char* kind, const void* pc, const void* other) {
  auto& f = findings[{kind, pc, other}];
  if (!f.count++) f.block = block_number, f.thread = B.current->linear;
}

// ---- counters: the accesses of one warp through one instruction are one request
struct Line { uint64_t requests, units, bytes; int size; };
struct Request { uint32_t mask; uint64_t address[32]; int size; };
struct Place {  // a cp.async reads global and writes shared memory at one place
  const void* pc;
  int kind;
  bool shared;
  uint32_t which;  // the how manieth time that the warp comes here
  bool operator==(const Place& o) const { return pc == o.pc && kind == o.kind && shared == o.shared && which == o.which; }
};
struct Hash {
  size_t operator()(const Place& k) const { return (size_t(k.pc) * 0x9E3779B97F4A7C15ull) ^ (k.which * 8 + k.kind * 2 + k.shared) * 0xC2B2AE3D27D4EB4Full; }
};
std::unordered_map<Place, Line, Hash> lines;
std::unordered_map<Place, Request, Hash> requests;
std::unordered_map<Place, std::vector<uint32_t>, Hash> occurrences;

void tally(const void* a, int bytes, int kind, const void* pc, bool shared) {
  Thread* me = B.current;
  Place place{pc, kind, shared, 0};
  auto& of = occurrences[place];
  if (of.empty()) of.resize(1024);
  place.which = of[me->linear]++ * 32 + me->warp;
  Request& r = requests[place];
  r.mask |= 1u << me->lane;
  r.address[me->lane] = uint64_t(a);
  r.size = bytes;
}
uint64_t sectors(const Request& r) {
  std::vector<uint64_t> of;
  for (int i = 0; i < 32; i++)
    if (r.mask >> i & 1)
      for (int b = 0; b < r.size; b += 32) of.push_back((r.address[i] + b) / 32);
  std::sort(of.begin(), of.end());
  return std::unique(of.begin(), of.end()) - of.begin();
}
uint64_t wavefronts(const Request& r) {  // 4, 8 and 16 bytes a lane take 1, 2 and 4 phases
  int phases = std::max(1, r.size / 4), lanes = 32 / phases;
  uint64_t total = 0;
  for (int q = 0; q < phases; q++) {
    std::vector<uint64_t> bank[32];
    size_t most = 0;
    for (int i = q * lanes; i < (q + 1) * lanes; i++)
      if (r.mask >> i & 1)
        for (int b = 0; b < std::max(4, r.size); b += 4) {
          uint64_t word = (r.address[i] + b) / 4;
          auto& v = bank[word % 32];
          if (std::find(v.begin(), v.end(), word) == v.end()) v.push_back(word);
          most = std::max(most, v.size());
        }
    total += most;
  }
  return total;
}
void flush() {
  for (auto& [place, r] : requests) {
    Line& l = lines[{place.pc, place.kind, place.shared, 0}];
    l.requests++, l.size = r.size;
    l.bytes += uint64_t(__builtin_popcount(r.mask)) * r.size;
    l.units += place.shared ? wavefronts(r) : sectors(r);
  }
  requests.clear();
  occurrences.clear();
}

// ---- order: a barrier, a __syncwarp of the same warp, or being the same thread
bool ordered(const Access& before, bool local) {
  Thread* me = B.current;
  if (!before.thread || (local && before.epoch < B.first_epoch)) return true;
  if (!local && before.block != block_number + 1) return false;
  if (before.epoch != B.epoch || before.thread == me->linear + 1) return true;
  return before.thread != MANY_WARPS && before.warp == me->warp && before.warp_epoch < me->warp_epoch;
}
void note(Access& a, const void* pc) {
  Thread* me = B.current;
  a = {B.epoch, block_number + 1, me->warp_epoch, uint16_t(me->linear + 1), uint16_t(me->warp), pc};
}
void note_read(Access& a, const void* pc, bool local) {
  Thread* me = B.current;
  bool fresh = !a.thread || a.epoch != B.epoch || (local && a.epoch < B.first_epoch);
  uint32_t block = a.block;
  uint16_t thread = a.thread, warp = a.warp;
  note(a, pc);
  if (!local && thread && block != a.block) a.block = MANY_BLOCKS;
  if (fresh || thread == a.thread) return;
  a.thread = thread == MANY_WARPS || warp != me->warp ? MANY_WARPS : MANY_LANES;
}
void visit(Cell& c, int kind, const void* pc, bool local, bool initialised) {
  bool wrote = c.write.thread && (!local || c.write.epoch >= B.first_epoch);
  bool both_atomic = kind == ATOMIC && c.atomic;
  const char* where = local ? "shared" : "global";
  char text[64];
  if (kind != WRITE && !wrote && !initialised) {
    snprintf(text, sizeof text, "uninitialised %s read", where);
    report(text, pc, nullptr);
  }
  if (!both_atomic && !ordered(c.write, local)) {
    snprintf(text, sizeof text, "%s race, write then %s", where, kind == READ ? "read" : "write");
    report(text, pc, c.write.pc);
  }
  if (kind != READ && !both_atomic && !ordered(c.read, local)) {
    snprintf(text, sizeof text, "%s race, read then write", where);
    report(text, pc, c.read.pc);
  }
  if (kind != WRITE) note_read(c.read, pc, local);
  if (kind != READ) note(c.write, pc), c.atomic = kind == ATOMIC;
}
[[noreturn]] void stop(const char* message, const void* pc) {  // before the access happens
  report(message, pc, nullptr);
  fail_at(message, pc);
  for (;;) leave();
}
}  // namespace

API void check_reset() { buffers.clear(); findings.clear(); lines.clear(); requests.clear(); occurrences.clear(); }
API void check_buffer(const void* p, size_t bytes, int flags) {
  buffers.push_back({(const char*)p, bytes, flags, {}});
  if (flags & WRITABLE) buffers.back().cells.resize(bytes);
}
extern "C" void check_begin() { shared_cells.assign(MOST_SHARED, Cell{}); }
extern "C" void check_block(unsigned number) { flush(); block_number = number; }
extern "C" void check_access(const void* p, int bytes, int kind, const void* pc) {
  const char* here = (const char*)__builtin_frame_address(0);
  if (here < stack_begin() || here >= stack_end()) return;
  const char* a = (const char*)p;
  if (a >= stack_begin() && a < stack_end()) return;
  if (a >= B.shared && a < B.shared + MOST_SHARED) {
    if (a + bytes > B.shared + B.shared_top) stop("shared access out of bounds", pc);
    if (uintptr_t(a) & (bytes - 1)) stop("misaligned shared access", pc);
    tally(a, bytes, kind, pc, true);
    for (int i = 0; i < bytes; i++) visit(shared_cells[a - B.shared + i], kind, pc, true, false);
    return;
  }
  for (Buffer& b : buffers) {
    if (a < b.begin || a >= b.begin + b.bytes) continue;
    if (a + bytes > b.begin + b.bytes) break;
    if (uintptr_t(a) & (bytes - 1)) stop("misaligned global access", pc);
    if (kind != READ && !(b.flags & WRITABLE)) stop("write to a read-only buffer", pc);
    tally(a, bytes, kind, pc, false);
    if (b.flags & WRITABLE)
      for (int i = 0; i < bytes; i++) visit(b.cells[a - b.begin + i], kind, pc, false, b.flags & INITIALISED);
    return;
  }
  if ((a >= &__ehdr_start && a < &_end) || (a >= (char*)B.thread && a < threads_end())) return;
  stop(kind == READ ? "global read out of bounds" : "global write out of bounds", pc);
}
API size_t check_report(char* out, size_t room) {
  flush();
  std::string text;
  char line[300];
  auto at = [](const void* pc) { return pc ? (long)((const char*)pc - &__ehdr_start) : 0L; };
  for (auto& [key, f] : findings) {
    snprintf(line, sizeof line, "F\t%s\t%lx\t%lx\t%u\t%u\t%u\n", std::get<0>(key).c_str(), at(std::get<1>(key)), at(std::get<2>(key)), f.count, f.block, f.thread);
    text += line;
  }
  for (auto& [place, l] : lines) {
    snprintf(line, sizeof line, "P\t%lx\t%d\t%d\t%d\t%lu\t%lu\t%lu\n", at(place.pc), place.shared, place.kind, l.size, l.requests, l.units, l.bytes);
    text += line;
  }
  if (text.size() < room) __builtin_memcpy(out, text.c_str(), text.size() + 1);
  return text.size() + 1;
}
#define RETURN __builtin_return_address(0)
#define ACCESSES(N)                                                                     \
  API void __tsan_read##N(void* p) { check_access(p, N, READ, RETURN); }                \
  API void __tsan_write##N(void* p) { check_access(p, N, WRITE, RETURN); }              \
  API void __tsan_unaligned_read##N(void* p) { check_access(p, N, READ, RETURN); }      \
  API void __tsan_unaligned_write##N(void* p) { check_access(p, N, WRITE, RETURN); }    \
  API void __tsan_volatile_read##N(void* p) { check_access(p, N, READ, RETURN); }       \
  API void __tsan_volatile_write##N(void* p) { check_access(p, N, WRITE, RETURN); }
ACCESSES(1) ACCESSES(2) ACCESSES(4) ACCESSES(8) ACCESSES(16)
API void __tsan_read_range(void* p, long n) { for (long i = 0; i < n; i++) check_access((char*)p + i, 1, READ, RETURN); }
API void __tsan_write_range(void* p, long n) { for (long i = 0; i < n; i++) check_access((char*)p + i, 1, WRITE, RETURN); }
API void* __tsan_memcpy(void* to, const void* from, size_t n) { __tsan_read_range((void*)from, n); __tsan_write_range(to, n); return __builtin_memcpy(to, from, n); }
API void* __tsan_memset(void* to, int v, size_t n) { __tsan_write_range(to, n); return __builtin_memset(to, v, n); }
API void* __tsan_memmove(void* to, const void* from, size_t n) { __tsan_read_range((void*)from, n); __tsan_write_range(to, n); return __builtin_memmove(to, from, n); }
API void __tsan_init() {}
API void __tsan_func_entry(void*) {}
API void __tsan_func_exit() {}
API void __tsan_vptr_update(void**, void*) {}
API void __tsan_vptr_read(void**) {}
