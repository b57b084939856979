// Windows over up to three axes, laid out as columns, added up where they overlap.
#include "dialect/memory.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  T* out;
  uint32_t n;
  uint32_t image[3], kernel[3], count[3];
  int32_t stride[3], pad[3], dilation[3];
};

KERNEL void __launch_bounds__(256) col2im(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t rest = i, at[3];
  UNROLL
  for (int d = 2; d >= 0; d--) {
    at[d] = rest % p.image[d];
    rest /= p.image[d];
  }
  uint32_t taps = p.kernel[0] * p.kernel[1] * p.kernel[2], windows = p.count[0] * p.count[1] * p.count[2];
  ACC sum = ACC(0);
  for (uint32_t tap = 0; tap < taps; tap++) {
    uint32_t left = tap, window = 0, step = 1;
    bool inside = true;
    UNROLL
    for (int d = 2; d >= 0; d--) {
      int32_t from = int32_t(at[d]) + p.pad[d] - int32_t(left % p.kernel[d]) * p.dilation[d];
      left /= p.kernel[d];
      inside = inside && from >= 0 && from % p.stride[d] == 0 && from / p.stride[d] < int32_t(p.count[d]);
      window += uint32_t(from / p.stride[d]) * step;
      step *= p.count[d];
    }
    if (inside) sum = plus(sum, ACC(value(p.x[(rest * taps + tap) * windows + window])));
  }
  p.out[i] = from<T>::f(sum);
}
HOST_ENTRY(col2im)
