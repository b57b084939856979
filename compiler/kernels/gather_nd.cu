// out[b, t, i] = x[b, tuple t of b, i]: each tuple of DEPTH indices names `inner` elements.
#include "dialect/core.cuh"
#include "dialect/functions.cuh"
#include "dialect/index.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const INDEX* index;
  T* out;
  int* status;
  uint32_t n, inner, tuples, batch;
  uint32_t size[DEPTH], step[DEPTH];
};

KERNEL void __launch_bounds__(256) gather_nd(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t tuple = i / p.inner, at = tuple / p.tuples * p.batch + i % p.inner;
  UNROLL
  for (int d = 0; d < DEPTH; d++)
    at += checked_index(p.index[tuple * DEPTH + d], p.size[d], p.status, tuple) * p.step[d];
  p.out[i] = p.x[at];
}
HOST_ENTRY(gather_nd)
