// out = x, updated in rows of `inner` elements that tuples of DEPTH indices name. A thread owns one
// element of every row whose number leaves its remainder, and takes their updates in their order, so
// that repeated places are always the same.
#include "dialect/core.cuh"
#include "dialect/functions.cuh"
#include "dialect/index.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const INDEX* index;
  const T* updates;
  T* out;
  int* status;
  uint32_t rows, inner, tuples, owners;
  uint32_t size[DEPTH], step[DEPTH];
};

KERNEL void __launch_bounds__(256) scatter_nd(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.inner * p.owners) return;
  uint32_t own = i / p.inner, j = i % p.inner;
  for (uint32_t row = own; row < p.rows; row += p.owners) p.out[row * p.inner + j] = p.x[row * p.inner + j];
  for (uint32_t t = 0; t < p.tuples; t++) {
    uint32_t row = 0;
    UNROLL
    for (int d = 0; d < DEPTH; d++) row += checked_index(p.index[t * DEPTH + d], p.size[d], p.status, t) * p.step[d];
    if (row % p.owners != own) continue;
    T* to = p.out + row * p.inner + j;
    *to = updated<KIND>(*to, p.updates[t * p.inner + j]);
  }
}
HOST_ENTRY(scatter_nd)
