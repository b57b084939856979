// out[…] = x[…] at the result's own place, one of its axes replaced by an index.
#include "dialect/memory.cuh"
#include "dialect/index.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const INDEX* index;
  T* out;
  int* status;
  uint32_t n, axis, step;
  strided<RANK> place;
};

KERNEL void __launch_bounds__(256) gather_elements(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  p.out[i] = p.x[uint32_t(p.place.at(i)) + checked_index(p.index[i], p.axis, p.status, i) * p.step];
}
HOST_ENTRY(gather_elements)
