// Convolution over up to three axes and its transpose, one thread per result, in any type that sums
// are exact or a float in; zero points are taken from integers first.
#include "dialect/memory.cuh"
#include "dialect/quantize.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const TW* w;
  const T* x_zero;
  const TW* w_zero;
  T_OUT* out;
  uint32_t n, channels, out_channels, groups, w_zero_step;
  uint32_t in[3], result[3], kernel[3];
  int32_t stride[3], pad[3], dilation[3];
};

// Where tap `k` of window `o` lies along an axis; −1 is outside.
DEV int32_t tap_at(const Params& p, int axis, uint32_t o, uint32_t k) {
  int32_t at;
  if (TRANSPOSED) {
    int32_t full = int32_t(o) + p.pad[axis] - int32_t(k) * p.dilation[axis];
    at = int32_t(uint32_t(full) / uint32_t(p.stride[axis]));
    if (full < 0 || at * p.stride[axis] != full) return -1;
  } else {
    at = int32_t(o) * p.stride[axis] - p.pad[axis] + int32_t(k) * p.dilation[axis];
  }
  return at >= int32_t(p.in[axis]) ? -1 : at;
}
KERNEL void __launch_bounds__(256, 4) conv_direct(const Params p, const Finish finish) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t o2 = i % p.result[2], o1 = i / p.result[2] % p.result[1], rest = i / p.result[2] / p.result[1];
  uint32_t o0 = rest % p.result[0], m = rest / p.result[0] % p.out_channels, b = rest / p.result[0] / p.out_channels;
  uint32_t many_in = p.channels / p.groups, many_out = p.out_channels / p.groups, g = m / many_out;
  ACC zero_x = p.x_zero ? ACC(value(p.x_zero[0])) : ACC(0), zero_w = p.w_zero ? ACC(value(p.w_zero[m * p.w_zero_step])) : ACC(0);
  ACC sum = ACC(0);
  for (uint32_t c = 0; c < many_in; c++) {
    uint32_t channel = g * many_in + c;
    uint32_t taps = TRANSPOSED ? channel * many_out + m % many_out : m * many_in + c;
    for (uint32_t k0 = 0; k0 < p.kernel[0]; k0++) {
      int32_t a0 = tap_at(p, 0, o0, k0);
      if (a0 < 0) continue;
      for (uint32_t k1 = 0; k1 < p.kernel[1]; k1++) {
        int32_t a1 = tap_at(p, 1, o1, k1);
        if (a1 < 0) continue;
        for (uint32_t k2 = 0; k2 < p.kernel[2]; k2++) {
          int32_t a2 = tap_at(p, 2, o2, k2);
          if (a2 < 0) continue;
          uint32_t at = ((b * p.channels + channel) * p.in[0] + uint32_t(a0)) * p.in[1] + uint32_t(a1);
          uint32_t tap = ((taps * p.kernel[0] + k0) * p.kernel[1] + k1) * p.kernel[2] + k2;
          sum = plus(sum, times(ACC(ACC(value(p.x[at * p.in[2] + uint32_t(a2)])) - zero_x), ACC(ACC(value(p.w[tap])) - zero_w)));
        }
      }
    }
  }
  p.out[i] = finish(sum, i, m);
}
HOST_ENTRY(conv_direct)
