// out[o, j, i] = x[o, index[j], i].
#include "dialect/core.cuh"
#include "dialect/functions.cuh"
#include "dialect/index.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const INDEX* index;
  T* out;
  int* status;
  uint32_t n, axis, count, inner;
};

KERNEL void __launch_bounds__(256) indexing(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t in = i % p.inner, j = i / p.inner % p.count, outer = i / p.inner / p.count;
  p.out[i] = p.x[(outer * p.axis + checked_index(p.index[j], p.axis, p.status, j)) * p.inner + in];
}
HOST_ENTRY(indexing)
