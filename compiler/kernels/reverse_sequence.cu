// The first steps of each sample in reverse order, so many as its length says.
#include "dialect/core.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const INDEX* length;
  T* out;
  int* status;
  uint32_t n, times, samples, inner;
};

KERNEL void __launch_bounds__(256) reverse_sequence(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t in = i % p.inner, rest = i / p.inner;
  uint32_t t = TIME_FIRST ? rest / p.samples : rest % p.times, b = TIME_FIRST ? rest % p.samples : rest / p.times;
  int64_t length = int64_t(p.length[b]);
  if (length < 0 || length > int64_t(p.times)) {
    atomicMax(p.status, int(b) + 1);
    length = 0;
  }
  if (int64_t(t) < length) t = uint32_t(length) - 1 - t;
  p.out[i] = p.x[(TIME_FIRST ? t * p.samples + b : b * p.times + t) * p.inner + in];
}
HOST_ENTRY(reverse_sequence)
