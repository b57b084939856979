// out[o, j, i] = x[o, index[j], i]; an index from the end is negative. One out of range reads the
// nearest valid element and leaves its position + 1 in `status`.
#include "dialect/core.cuh"
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
  int64_t at = p.index[j], size = p.axis;
  if (at < 0) at += size;
  if (at < 0 || at >= size) {
    atomicMax(p.status, int(j) + 1);
    at = at < 0 ? 0 : size - 1;
  }
  p.out[i] = p.x[(outer * p.axis + uint32_t(at)) * p.inner + in];
}
HOST_ENTRY(indexing)
