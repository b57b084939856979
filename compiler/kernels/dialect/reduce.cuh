// Reductions over a warp, and over the warps of a block.
#pragma once
#include "dialect/core.cuh"

struct Sum { DEV static float none() { return 0.0f; } DEV static float join(float a, float b) { return a + b; } };
struct Product { DEV static float none() { return 1.0f; } DEV static float join(float a, float b) { return a * b; } };
struct Largest { DEV static float none() { return -INFINITE; } DEV static float join(float a, float b) { return max_nan(a, b); } };
struct Smallest { DEV static float none() { return INFINITE; } DEV static float join(float a, float b) { return min_nan(a, b); } };

template <class F> DEV float warp_reduce(float v) {
  UNROLL
  for (int d = 16; d; d >>= 1) v = F::join(v, __shfl_xor_sync(0xffffffffu, v, d));
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
    v = lane < WARPS ? parts[lane] : F::none();
    v = warp_reduce<F>(v);
    __syncthreads();
  }
  return v;
}
