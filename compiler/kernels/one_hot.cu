// out[o, d, i] = values[1] where the index at (o, i) is d, else values[0]; a negative one counts from
// the end.
#include "dialect/core.cuh"
#include "spec.cuh"

struct Params {
  const INDEX* index;
  const T* values;
  T* out;
  uint32_t n, depth, inner;
};

KERNEL void __launch_bounds__(256) one_hot(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t in = i % p.inner, d = i / p.inner % p.depth, outer = i / p.inner / p.depth;
  int64_t at = int64_t(value(p.index[outer * p.inner + in]));
  if (at < 0) at += p.depth;
  p.out[i] = p.values[at == int64_t(d)];
}
HOST_ENTRY(one_hot)
