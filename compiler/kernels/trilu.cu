// The upper or the lower triangle of each matrix from diagonal k on; the rest is 0.
#include "dialect/core.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  T* out;
  uint32_t n, rows, columns;
  int32_t k;
};

KERNEL void __launch_bounds__(256) trilu(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  int64_t distance = int64_t(i % p.columns) - int64_t(i / p.columns % p.rows);
  p.out[i] = (UPPER ? distance >= p.k : distance <= p.k) ? p.x[i] : T(0);
}
HOST_ENTRY(trilu)
