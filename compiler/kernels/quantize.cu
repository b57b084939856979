// out = x / scale, rounded and moved by a zero point; the quotient has the precision that is asked for.
#include "dialect/quantize.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const S* scale;
  const T_OUT* zero;
  T_OUT* out;
  uint32_t n;
  spread by;
};

KERNEL void __launch_bounds__(256) quantize(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t at = p.by.at(i);
  float v = quotient(single(value(p.x[i])), single(value(p.scale[at])));
  p.out[i] = quantizing<T_OUT>::f(v, p.zero ? float(value(p.zero[at])) : 0.0f, SATURATE);
}
HOST_ENTRY(quantize)
