// x / (bias + alpha / size · Σ x²)^beta, the sum over neighbouring channels, in float64: squares of
// float32 overflow.
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
  double sum = double(0);
  for (int32_t d = -before; d <= after; d++) {
    if (c + d < 0 || c + d >= int32_t(p.channels)) continue;
    double v = double(value(p.x[int32_t(i) + d * int32_t(p.inner)]));
    sum += v * v;
  }
  using V = decltype(value(p.x[0]));
  double base = double(p.bias) + double(p.alpha) / double(p.size) * sum;
  p.out[i] = from<T>::f(V(double(value(p.x[i])) / pow(base, double(p.beta))));
}
HOST_ENTRY(lrn)
