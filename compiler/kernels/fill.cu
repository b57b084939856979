// One value, everywhere or on a diagonal of a matrix that is 0 elsewhere.
#include "dialect/core.cuh"
#include "spec.cuh"

struct Params {
  T* out;
  uint32_t n, columns;
  int32_t k;
};

KERNEL void __launch_bounds__(256) fill(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  bool on = !DIAGONAL || int64_t(i % p.columns) - int64_t(i / p.columns) == p.k;
  p.out[i] = from<T>::f(on ? 1.0f : 0.0f);
}
HOST_ENTRY(fill)
