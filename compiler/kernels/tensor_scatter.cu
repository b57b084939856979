// out = past, with `count` entries of an axis replaced by an update; where they begin, each sample says.
#include "dialect/core.cuh"
#include "spec.cuh"

struct Params {
  const T* past;
  const T* update;
  const INDEX* begin;
  T* out;
  int* status;
  uint32_t n, sample, axis, inner, count;
};

KERNEL void __launch_bounds__(256) tensor_scatter(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t in = i % p.inner, at = i / p.inner % p.axis, outer = i / p.inner / p.axis, b = i / p.sample;
  int64_t begin = p.begin ? int64_t(p.begin[b]) : 0, size = p.axis;
  if (begin < 0 || (CIRCULAR ? begin >= size : begin + p.count > size)) {
    atomicMax(p.status, int(b) + 1);
    begin = 0;
  }
  int64_t j = int64_t(at) - begin;
  if (CIRCULAR && j < 0) j += size;
  p.out[i] = j >= 0 && j < int64_t(p.count) ? p.update[(outer * p.count + uint32_t(j)) * p.inner + in] : p.past[i];
}
HOST_ENTRY(tensor_scatter)
