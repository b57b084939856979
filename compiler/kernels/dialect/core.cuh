// The dialect: all that a kernel may use. NVRTC compiles it to PTX, a host compiler to the simulator.
#pragma once
#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef signed char int8_t;
typedef unsigned short uint16_t;
typedef short int16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int int32_t;
typedef long long int64_t;
#define DEV __device__ __forceinline__
#define SHARED(T, NAME, DIMS) __shared__ __align__(128) T NAME DIMS
#define DYNAMIC_SHARED(NAME) extern __shared__ __align__(1024) unsigned char NAME[]
#define HOST_ENTRY(NAME)
#else
#include "sim.hpp"
#define DEV inline __attribute__((always_inline))
#endif
#define KERNEL extern "C" __global__
#define UNROLL _Pragma("unroll")

#define INFINITE __uint_as_float(0x7f800000u)

// ---- element types: arithmetic is in float32, storage is any of these
struct half_t { uint16_t bits; };
struct bfloat_t { uint16_t bits; };
struct bool_t { uint8_t byte; };
#ifdef __CUDACC_RTC__
DEV float to_f(half_t h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.bits));
  return f;
}
DEV half_t to_half(float f) {
  half_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
  return h;
}
#elif defined(__FLT16_MAX__)
DEV float to_f(half_t h) {
  _Float16 v;
  __builtin_memcpy(&v, &h.bits, 2);
  return float(v);
}
DEV half_t to_half(float f) {
  _Float16 v = _Float16(f);
  half_t h;
  __builtin_memcpy(&h.bits, &v, 2);
  return h;
}
#else  // a host compiler without _Float16, such as clang before 15
DEV float to_f(half_t h) {
  uint32_t sign = (h.bits & 0x8000u) << 16, exponent = h.bits >> 10 & 31, rest = h.bits & 1023;
  if (exponent == 0) return __uint_as_float(sign | __float_as_uint(float(rest) * 5.9604644775390625e-8f));
  return __uint_as_float(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | rest << 13);
}
DEV half_t to_half(float f) {
  uint32_t bits = __float_as_uint(f), sign = bits >> 16 & 0x8000u, x = bits & 0x7fffffffu;
  if (x > 0x7f800000u) return half_t{uint16_t(sign | 0x7e00u | (x >> 13 & 0x3ffu))};
  if (x >= 0x477ff000u) return half_t{uint16_t(sign | 0x7c00u)};
  if (x < 0x38800000u)  // the sum is rounded where a subnormal half ends
    return half_t{uint16_t(sign | (__float_as_uint(__uint_as_float(x) + 0.5f) - 0x3f000000u))};
  return half_t{uint16_t(sign | ((x - 0x38000000u + 0xfffu + (x >> 13 & 1u)) >> 13))};
}
#endif
DEV float to_f(bfloat_t h) { return __uint_as_float(uint32_t(h.bits) << 16); }
DEV bfloat_t to_bfloat(float f) {
  uint32_t x = __float_as_uint(f);
  if ((x & 0x7fffffffu) > 0x7f800000u) return bfloat_t{uint16_t(x >> 16 | 64u)};
  return bfloat_t{uint16_t((x + 0x7fffu + (x >> 16 & 1u)) >> 16)};
}
DEV float to_f(float f) { return f; }
DEV float to_f(bool_t b) { return b.byte ? 1.0f : 0.0f; }

// What an element is computed as, and what is stored of it.
template <class T> DEV T value(T v) { return v; }
DEV float value(half_t h) { return to_f(h); }
DEV float value(bfloat_t h) { return to_f(h); }
DEV bool value(bool_t b) { return b.byte != 0; }
template <class T> struct from { template <class V> DEV static T f(V v) { return T(v); } };
template <> struct from<half_t> { DEV static half_t f(float v) { return to_half(v); } };
template <> struct from<bfloat_t> { DEV static bfloat_t f(float v) { return to_bfloat(v); } };
template <> struct from<bool_t> { template <class V> DEV static bool_t f(V v) { return bool_t{uint8_t(v != V(0))}; } };
template <class T> DEV T from_f(float v) { return from<T>::f(v); }
DEV float round_half(float v) { return to_f(to_half(v)); }
DEV float round_bfloat(float v) { return to_f(to_bfloat(v)); }
template <class T> DEV bool is_nan(T v) { return v != v; }

template <class T> DEV T smaller(T a, T b) { return a < b ? a : b; }
template <class T> DEV T larger(T a, T b) { return a > b ? a : b; }
template <class T> struct same { using type = T; };
template <class T> DEV T max_nan(T a, typename same<T>::type b) { return a > b || is_nan(a) ? a : b; }  // a NaN wins
template <class T> DEV T min_nan(T a, typename same<T>::type b) { return a < b || is_nan(a) ? a : b; }
