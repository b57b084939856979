// x / (bias + alpha / size · Σ x²)^beta, the sum over neighbouring channels.
#include "dialect/core.cuh"
#include "dialect/functions.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  T* out;
  uint32_t n, channels, inner, size;
  float bias, alpha, beta;
};

KERNEL void __launch_bounds__(256) lrn(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  int32_t c = int32_t(i / p.inner % p.channels), before = int32_t(p.size - 1) / 2, after = int32_t(p.size - 1) - before;
  ACC sum = ACC(0);
  for (int32_t d = -before; d <= after; d++) {
    if (c + d < 0 || c + d >= int32_t(p.channels)) continue;
    ACC v = ACC(value(p.x[int32_t(i) + d * int32_t(p.inner)]));
    sum += v * v;
  }
  ACC base = ACC(p.bias) + ACC(p.alpha) / ACC(p.size) * sum;
  p.out[i] = from<T>::f(ACC(value(p.x[i])) / pow_(base, ACC(p.beta)));
}
HOST_ENTRY(lrn)
