// Vector accesses, asynchronous copies, and coordinates of strided tensors.
#pragma once
#include "dialect/core.cuh"
#include "dialect/functions.cuh"

template <class T, int N> struct alignas(sizeof(T) * N) pack { T v[N]; };

#ifdef __CUDACC_RTC__
template <class T, int N> DEV pack<T, N> load_pack(const T* p) { return *reinterpret_cast<const pack<T, N>*>(p); }
template <class T, int N> DEV void store_pack(T* p, const pack<T, N>& v) { *reinterpret_cast<pack<T, N>*>(p) = v; }
DEV uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
DEV void cp_async16(void* s, const void* g, int bytes = 16) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(s)), "l"(g), "r"(bytes) : "memory");
}
DEV void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEV void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
#else
template <class T, int N> DEV pack<T, N> load_pack(const T* p) {
  pack<T, N> v;
  sim::vector_load(v, p);
  return v;
}
template <class T, int N> DEV void store_pack(T* p, const pack<T, N>& v) { sim::vector_store(p, v); }
DEV void cp_async16(void* s, const void* g, int bytes = 16) { sim::async_copy(s, g, bytes); }
DEV void cp_async_commit() { sim::async_commit(); }
template <int N> DEV void cp_async_wait() { sim::async_wait(N); }
#endif

// N elements as what they are computed as; VECTOR promises that the address is aligned to all of them.
template <bool VECTOR, int N, class T, class V> DEV void load(const T* p, V (&v)[N]) {
  if constexpr (VECTOR && N > 1 && N * sizeof(T) <= 16) {
    pack<T, N> raw = load_pack<T, N>(p);
    UNROLL
    for (int j = 0; j < N; j++) v[j] = value(raw.v[j]);
  } else if constexpr (VECTOR && N * sizeof(T) > 16) {
    constexpr int H = 16 / sizeof(T);
    UNROLL
    for (int q = 0; q < N / H; q++) {
      pack<T, H> raw = load_pack<T, H>(p + q * H);
      UNROLL
      for (int j = 0; j < H; j++) v[q * H + j] = value(raw.v[j]);
    }
  } else {
    UNROLL
    for (int j = 0; j < N; j++) v[j] = value(p[j]);
  }
}
template <bool VECTOR, int N, class T, class V> DEV void store(T* p, const V (&v)[N]) {
  if constexpr (VECTOR && N > 1 && N * sizeof(T) <= 16) {
    pack<T, N> raw;
    UNROLL
    for (int j = 0; j < N; j++) raw.v[j] = from<T>::f(v[j]);
    store_pack<T, N>(p, raw);
  } else if constexpr (VECTOR && N * sizeof(T) > 16) {
    constexpr int H = 16 / sizeof(T);
    UNROLL
    for (int q = 0; q < N / H; q++) {
      pack<T, H> raw;
      UNROLL
      for (int j = 0; j < H; j++) raw.v[j] = from<T>::f(v[q * H + j]);
      store_pack<T, H>(p + q * H, raw);
    }
  } else {
    UNROLL
    for (int j = 0; j < N; j++) p[j] = from<T>::f(v[j]);
  }
}

// Where element i of a row-major iteration lies in a tensor with these strides (in elements).
template <int R> struct strided {
  uint32_t size[R];
  int32_t stride[R];
  DEV int32_t at(uint32_t i) const {
    int32_t offset = 0;
    UNROLL
    for (int d = R - 1; d > 0; d--) {
      uint32_t q = i / size[d];
      offset += int32_t(i - q * size[d]) * stride[d];
      i = q;
    }
    return offset + int32_t(i) * stride[0];
  }
};
