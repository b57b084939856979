// out = x inside of a frame of one value. T is an unsigned integer of the element's size.
#include "dialect/core.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const T* value;
  T* out;
  uint32_t n;
  uint32_t size[RANK], inner[RANK];
  int32_t before[RANK];
};

KERNEL void __launch_bounds__(256) pad(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t rest = i, from = 0, stride = 1;
  bool inside = true;
  UNROLL
  for (int d = RANK - 1; d >= 0; d--) {
    int32_t at = int32_t(rest % p.size[d]) - p.before[d];
    rest /= p.size[d];
    inside = inside && at >= 0 && at < int32_t(p.inner[d]);
    from += uint32_t(at) * stride;
    stride *= p.inner[d];
  }
  p.out[i] = inside ? p.x[from] : (HAS_VALUE ? p.value[0] : T(0));
}
HOST_ENTRY(pad)
