// A sum of products of COUNT operands, each read through strides over the result's axes and the summed
// ones; one thread per result.
#include "dialect/memory.cuh"
#include "spec.cuh"

struct Params {
  const T* x[COUNT];
  T* out;
  uint32_t n, terms;
  strided<KEPT> kept[COUNT];
  strided<SUMMED> summed[COUNT];
};

KERNEL void __launch_bounds__(256) einsum(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  int32_t base[COUNT];
  UNROLL
  for (int o = 0; o < COUNT; o++) base[o] = p.kept[o].at(i);
  ACC sum = ACC(0);
  for (uint32_t t = 0; t < p.terms; t++) {
    ACC term = ACC(1);
    UNROLL
    for (int o = 0; o < COUNT; o++) term = times(term, ACC(value(p.x[o][base[o] + p.summed[o].at(t)])));
    sum = plus(sum, term);
  }
  p.out[i] = from<T>::f(sum);
}
HOST_ENTRY(einsum)
