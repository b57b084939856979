// Copies between strided views: transpose, slice, expand, concatenation, split, padding. T is an
// unsigned integer of the element's size; nothing is computed.
#include "dialect/memory.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  T* out;
  uint32_t n;
  int32_t from_base, to_base;
  strided<RANK> from, to;
};

KERNEL void __launch_bounds__(256) movement(const Params p) {
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < p.n; i += gridDim.x * 256)
    p.out[p.to_base + p.to.at(i)] = p.x[p.from_base + p.from.at(i)];
}
HOST_ENTRY(movement)
