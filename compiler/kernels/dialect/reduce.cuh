// Reductions over a warp, and over the warps of a block.
#pragma once
#include "dialect/core.cuh"
#include "dialect/functions.cuh"

template <class T> DEV T lowest() { return is_signed<T>() ? T(wrapped<T>(1) << (8 * sizeof(T) - 1)) : T(0); }
template <> DEV float lowest<float>() { return -INFINITE; }
template <> DEV double lowest<double>() { return -double(INFINITE); }
template <> DEV bool lowest<bool>() { return false; }
template <class T> DEV T highest() { return T(~lowest<T>()); }
template <> DEV float highest<float>() { return INFINITE; }
template <> DEV double highest<double>() { return double(INFINITE); }
template <> DEV bool highest<bool>() { return true; }

// Folds: V is what is folded, float32 unless the elements are computed as something else.
#define FOLD(NAME, NONE, JOIN)                                            \
  struct NAME {                                                           \
    template <class V = float> DEV static V none() { return NONE; }       \
    template <class V> DEV static V join(V a, V b) { return V(JOIN); }    \
  };
FOLD(Sum, V(0), plus(a, b))
FOLD(Product, V(1), times(a, b))
FOLD(Largest, lowest<V>(), max_nan(a, b))
FOLD(Smallest, highest<V>(), min_nan(a, b))

template <class F, class V> DEV V warp_reduce(V v) {
  UNROLL
  for (int d = 16; d; d >>= 1) v = F::join(v, V(__shfl_xor_sync(0xffffffffu, v, d)));
  return v;
}
// Every thread of the WARPS warps receives the result; with one warp no barrier is needed.
template <class F, int WARPS> DEV float block_reduce(float v) {
  v = warp_reduce<F>(v);
  if constexpr (WARPS > 1) {
    SHARED(float, parts, [WARPS]);
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    if (lane == 0) parts[warp] = v;
    __syncthreads();
    v = lane < WARPS ? parts[lane] : F::template none<float>();
    v = warp_reduce<F>(v);
    __syncthreads();
  }
  return v;
}
