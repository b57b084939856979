// What a kernel sees when it is compiled for the host: one CUDA thread is one fiber, a block runs at
// a time. No header of the C++ library is included, so that a kernel compiles in a fraction of a
// second; the scheduler is compiled once (scheduler.cpp) and linked to every kernel.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };

namespace sim {
enum State : int { READY, AT_BARRIER, IN_COLLECTIVE, DONE };
enum Kind : int { READ, WRITE, ATOMIC };

struct Thread {
  uint3 tid;
  unsigned linear, lane, warp;
  void* stack_pointer;
  char* stack;
  int state, site;
  const void* pc;      // where it waits
  void* slot;          // its own locals in a collective
  uint32_t mask;
  uint32_t warp_epoch; // grows with every __syncwarp
};

// One block at a time, in a global: a thread-local is slower, and a library runs one launch at once.
struct Block {
  dim3 grid, block;
  uint3 index;
  unsigned threads, warps, alive, waiting;
  uint32_t epoch;      // grows with every barrier and every block, never falls
  uint32_t first_epoch;
  Thread* thread;
  Thread* current;
  void* scheduler_sp;
  char* shared;        // dynamic part first, then the static arrays
  unsigned shared_top;
  uint32_t arrived[32];
  bool failed;
};
extern Block B __attribute__((visibility("hidden")));

constexpr unsigned MOST_SHARED = 227 * 1024;
constexpr size_t STACK = (32 << 10) + 64 * 13;  // an odd number of lines: neighbours share no cache set

// Findings stand at the line of the call: two calls are never merged into one.
#if defined(__has_attribute)
#if __has_attribute(nomerge)
#define SIM_NOMERGE __attribute__((noinline, nomerge))
#endif
#endif
#ifndef SIM_NOMERGE
#define SIM_NOMERGE __attribute__((noinline))
#endif
void fail(const char* message) SIM_NOMERGE;
void wait(State state) SIM_NOMERGE;
void barrier(int site) SIM_NOMERGE;
char* shared_array(const void* tag, size_t bytes);
void access(const void* p, int bytes, Kind kind) SIM_NOMERGE;
void raw_copy(void* to, const void* from, int bytes) __attribute__((noinline));
void async_copy(void* to, const void* from, int bytes) SIM_NOMERGE;
void async_commit();
void async_wait(int keep) SIM_NOMERGE;
int launch(const unsigned* grid, const unsigned* block, size_t dynamic, uint32_t seed,
           void (*entry)(void*), void* argument, char* report, size_t room);
}  // namespace sim

#define SIM_INLINE inline __attribute__((always_inline))
#define SIM_PLAIN __attribute__((no_sanitize("thread")))
#if defined(__SANITIZE_THREAD__)
#define SIM_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIM_CHECKED 1
#endif
#endif

namespace sim {
// One access of a whole vector. Without checking only its alignment counts, and the copy is inlined.
template <class V> SIM_INLINE void vector_load(V& v, const void* p) {
#ifdef SIM_CHECKED
  access(p, sizeof v, READ);
  raw_copy(&v, p, sizeof v);
#else
  if ((uintptr_t)p & (sizeof v - 1)) access(p, sizeof v, READ);
  __builtin_memcpy((void*)&v, p, sizeof v);
#endif
}
template <class V> SIM_INLINE void vector_store(void* p, const V& v) {
#ifdef SIM_CHECKED
  access(p, sizeof v, WRITE);
  raw_copy(p, &v, sizeof v);
#else
  if ((uintptr_t)p & (sizeof v - 1)) access(p, sizeof v, WRITE);
  __builtin_memcpy(p, (const void*)&v, sizeof v);
#endif
}
}  // namespace sim

namespace sim {
// All lanes of `mask` meet; the last to arrive runs f(slots), slots[lane] being each one's locals.
template <class L, class F> SIM_INLINE void collective(uint32_t mask, L& local, F f) {
  Thread* me = B.current;
  unsigned w = me->warp;
  if (!(mask >> me->lane & 1)) fail("the calling lane is not in the mask of its warp collective");
  me->slot = &local;
  me->mask = mask;
  B.arrived[w] |= 1u << me->lane;
  if ((B.arrived[w] & mask) != mask) return wait(IN_COLLECTIVE);
  L* slots[32] = {};
  Thread* warp = B.thread + w * 32;
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1) {
      if (warp[i].mask != mask) fail("lanes disagree on the mask of a warp collective");
      slots[i] = static_cast<L*>(warp[i].slot);
      warp[i].state = READY;
    }
  B.arrived[w] &= ~mask;
  f(slots);
}

// ---- launching: arguments arrive as pointers to their bytes
template <size_t... I> struct indices {};
template <size_t N, size_t... I> struct count : count<N - 1, N - 1, I...> {};
template <size_t... I> struct count<0, I...> { using type = indices<I...>; };
template <class T> struct plain { using type = T; };
template <class T> struct plain<const T> { using type = T; };
template <class T> SIM_PLAIN inline T argument(const void* p) {
  T v;
  __builtin_memcpy(static_cast<void*>(&v), p, sizeof v);
  return v;
}
template <class... A> struct Call {
  void (*function)(A...);
  void** arguments;
  template <size_t... I> SIM_PLAIN void go(indices<I...>) {
    function(argument<typename plain<A>::type>(arguments[I])...);
  }
  SIM_PLAIN static void run(void* p) {
    static_cast<Call*>(p)->go(typename count<sizeof...(A)>::type{});
  }
};
template <class... A>
inline int launch_function(void (*f)(A...), const unsigned* grid, const unsigned* block,
                           size_t dynamic, uint32_t seed, void** arguments, char* report,
                           size_t room) {
  Call<A...> call{f, arguments};
  return launch(grid, block, dynamic, seed, &Call<A...>::run, &call, report, room);
}
}  // namespace sim

#define HOST_ENTRY(NAME)                                                                        \
  extern "C" __attribute__((visibility("default"))) int NAME##_launch(                          \
      const unsigned* grid, const unsigned* block, size_t dynamic, uint32_t seed, void** args,  \
      char* report, size_t room) {                                                              \
    return sim::launch_function(NAME, grid, block, dynamic, seed, args, report, room);          \
  }

// ---- the language
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __align__(n) alignas(n)
#define threadIdx (sim::B.current->tid)
#define blockIdx (sim::B.index)
#define blockDim (sim::B.block)
#define gridDim (sim::B.grid)
#define __syncthreads() sim::barrier(__COUNTER__)
#define SHARED(T, NAME, DIMS)         \
  typedef T NAME##_type DIMS;         \
  static char NAME##_tag;             \
  NAME##_type& NAME = *(NAME##_type*)sim::shared_array(&NAME##_tag, sizeof(NAME##_type))
#define DYNAMIC_SHARED(NAME) unsigned char* NAME = (unsigned char*)sim::B.shared

SIM_INLINE void __syncwarp(unsigned mask = ~0u) {
  int none = 0;
  sim::collective(mask, none, [mask](int**) {
    sim::Thread* warp = sim::B.thread + sim::B.current->warp * 32;
    for (int i = 0; i < 32; i++)
      if (mask >> i & 1) warp[i].warp_epoch++;
  });
}

// The lane that is read travels with each lane; a lane outside of the width reads itself.
template <class T> SIM_INLINE T sim_shuffle(unsigned mask, T v, int source) {
  struct L { T v, r; int source; } l{v, v, source};
  sim::collective(mask, l, [](L** p) {
    for (int i = 0; i < 32; i++)
      if (p[i]) {
        int s = p[i]->source;
        if (s < 0 || s > 31 || !p[s]) sim::fail("a shuffle reads a lane that takes no part in it");
        else p[i]->r = p[s]->v;
      }
  });
  return l.r;
}
template <class T> SIM_INLINE T __shfl_xor_sync(unsigned m, T v, int d, int w = 32) {
  int i = sim::B.current->lane, s = i ^ d;
  return sim_shuffle(m, v, s < (i & ~(w - 1)) + w ? s : i);
}
template <class T> SIM_INLINE T __shfl_down_sync(unsigned m, T v, int d, int w = 32) {
  int i = sim::B.current->lane, s = i + d;
  return sim_shuffle(m, v, s < (i & ~(w - 1)) + w ? s : i);
}
template <class T> SIM_INLINE T __shfl_up_sync(unsigned m, T v, int d, int w = 32) {
  int i = sim::B.current->lane, s = i - d;
  return sim_shuffle(m, v, s >= (i & ~(w - 1)) ? s : i);
}
template <class T> SIM_INLINE T __shfl_sync(unsigned m, T v, int source, int w = 32) {
  int i = sim::B.current->lane;
  return sim_shuffle(m, v, (i & ~(w - 1)) + (source & (w - 1)));
}
SIM_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
  struct L { int p; unsigned r; } l{predicate, 0};
  sim::collective(mask, l, [](L** p) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) if (p[i] && p[i]->p) r |= 1u << i;
    for (int i = 0; i < 32; i++) if (p[i]) p[i]->r = r;
  });
  return l.r;
}

// Fibers are never preempted, so a read and a write next to each other are one atomic step.
template <class T> SIM_INLINE T sim_exchange(T* p, T (*f)(T, T), T v) {
  sim::access(p, sizeof(T), sim::ATOMIC);
  T old, made;
  sim::raw_copy(&old, p, sizeof(T));
  made = f(old, v);
  sim::raw_copy(p, &made, sizeof(T));
  return old;
}
SIM_INLINE int atomicAdd(int* p, int v) { return sim_exchange<int>(p, [](int a, int b) { return a + b; }, v); }
SIM_INLINE float atomicAdd(float* p, float v) { return sim_exchange<float>(p, [](float a, float b) { return a + b; }, v); }
SIM_INLINE int atomicMax(int* p, int v) { return sim_exchange<int>(p, [](int a, int b) { return a > b ? a : b; }, v); }

extern "C" {
float expf(float) noexcept; float exp2f(float) noexcept; float logf(float) noexcept;
float log1pf(float) noexcept; float sqrtf(float) noexcept; float fabsf(float) noexcept;
float tanhf(float) noexcept; float erff(float) noexcept; float powf(float, float) noexcept;
float floorf(float) noexcept; float ceilf(float) noexcept; float rintf(float) noexcept;
float sinf(float) noexcept; float cosf(float) noexcept; float tanf(float) noexcept;
float asinf(float) noexcept; float acosf(float) noexcept; float atanf(float) noexcept;
float sinhf(float) noexcept; float coshf(float) noexcept; float fmodf(float, float) noexcept;
float asinhf(float) noexcept; float acoshf(float) noexcept; float atanhf(float) noexcept;
double exp(double) noexcept; double log(double) noexcept; double log1p(double) noexcept;
double sqrt(double) noexcept; double fabs(double) noexcept; double tanh(double) noexcept;
double erf(double) noexcept; double erfc(double) noexcept; double pow(double, double) noexcept;
double floor(double) noexcept; double ceil(double) noexcept; double rint(double) noexcept;
double sin(double) noexcept; double cos(double) noexcept; double tan(double) noexcept;
double asin(double) noexcept; double acos(double) noexcept; double atan(double) noexcept;
double sinh(double) noexcept; double cosh(double) noexcept; double fmod(double, double) noexcept;
double asinh(double) noexcept; double acosh(double) noexcept; double atanh(double) noexcept;
double expm1(double) noexcept;
float erfcf(float) noexcept; float copysignf(float, float) noexcept; float expm1f(float) noexcept;
}
SIM_INLINE uint32_t __float_as_uint(float f) { uint32_t u; __builtin_memcpy(&u, &f, 4); return u; }
SIM_INLINE float __uint_as_float(uint32_t u) { float f; __builtin_memcpy(&f, &u, 4); return f; }
