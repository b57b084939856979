// out = (x − zero point) · scale, rounded once: the difference and the product are exact in R.
#include "dialect/quantize.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const S* scale;
  const T* zero;
  T_OUT* out;
  uint32_t n;
  spread by;
};

KERNEL void __launch_bounds__(256) dequantize(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t at = p.by.at(i);
  R v = R(value(p.x[i]));
  if (p.zero) v -= R(value(p.zero[at]));
  p.out[i] = from<T_OUT>::f(stored(v * R(value(p.scale[at]))));
}
HOST_ENTRY(dequantize)
