// Convolution whose taps lie where an offset moves them, between the elements of x; one thread per
// result.
#include "dialect/memory.cuh"
#include "dialect/reduce.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const T* w;
  const T* offset;
  const T* bias;
  const T* mask;
  T* out;
  uint32_t n, channels, out_channels, groups, offset_groups, taps, windows;
  uint32_t in[AXES], result[AXES], kernel[AXES];
  int32_t stride[AXES], pad[AXES], dilation[AXES];
};

KERNEL void __launch_bounds__(256) deform_conv(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t window = i % p.windows, m = i / p.windows % p.out_channels, b = i / p.windows / p.out_channels;
  uint32_t many_in = p.channels / p.groups, g = m / (p.out_channels / p.groups), plane = 1;
  UNROLL
  for (int d = 0; d < AXES; d++) plane *= p.in[d];
  ACC sum = ACC(0);
  for (uint32_t tap = 0; tap < p.taps; tap++) {
    uint32_t left = tap, where = window;
    int32_t start[AXES];
    UNROLL
    for (int d = AXES - 1; d >= 0; d--) {
      start[d] = int32_t(where % p.result[d]) * p.stride[d] - p.pad[d] + int32_t(left % p.kernel[d]) * p.dilation[d];
      where /= p.result[d];
      left /= p.kernel[d];
    }
    for (uint32_t c = 0; c < many_in; c++) {
      uint32_t channel = g * many_in + c, og = channel / (p.channels / p.offset_groups);
      uint32_t row = (b * p.offset_groups + og) * p.taps + tap;
      ACC low[AXES], past[AXES];
      UNROLL
      for (int d = 0; d < AXES; d++) {
        ACC at = ACC(value(p.offset[(row * AXES + d) * p.windows + window])) + ACC(start[d]), most = ACC(p.in[d]) + ACC(1);
        if (is_nan(at) || at < ACC(-2)) at = ACC(-2);
        if (at > most) at = most;
        low[d] = floor_(at);
        past[d] = at - low[d];
      }
      ACC seen = ACC(0);
      for (int corner = 0; corner < 1 << AXES; corner++) {
        uint32_t index = 0;
        ACC weight = ACC(1);
        bool inside = true;
        UNROLL
        for (int d = 0; d < AXES; d++) {
          bool next = corner >> d & 1;
          int32_t at = int32_t(low[d]) + next;
          inside = inside && at >= 0 && at < int32_t(p.in[d]);
          weight *= next ? past[d] : ACC(1) - past[d];
          index = index * p.in[d] + uint32_t(at);
        }
        if (inside) seen += ACC(value(p.x[(b * p.channels + channel) * plane + index])) * weight;
      }
      if (p.mask) seen *= ACC(value(p.mask[row * p.windows + window]));
      sum += seen * ACC(value(p.w[(m * many_in + c) * p.taps + tap]));
    }
  }
  if (p.bias) sum += ACC(value(p.bias[m]));
  p.out[i] = from<T>::f(sum);
}
HOST_ENTRY(deform_conv)
