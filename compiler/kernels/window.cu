// Maximum, average or norm over windows of up to three axes, one thread per result; of the maximum the
// place too, in row-major order the first.
#include "dialect/reduce.cuh"
#include "dialect/memory.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  T_OUT* out;
  int64_t* places;
  uint32_t n;
  uint32_t in[3], result[3];
  int32_t kernel[3], stride[3], pad[3], end[3], dilation[3];
  uint32_t step[3];  // of a place
};
enum { MAXIMUM, AVERAGE, NORM };

KERNEL void __launch_bounds__(256, 4) window(const Params p, const Finish finish) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t o2 = i % p.result[2], o1 = i / p.result[2] % p.result[1], rest = i / p.result[2] / p.result[1];
  uint32_t o0 = rest % p.result[0], plane = rest / p.result[0], size = p.in[0] * p.in[1] * p.in[2];
  const T* x = p.x + plane * size;
  uint32_t o[3] = {o0, o1, o2};
  int32_t first[3];
  UNROLL
  for (int d = 0; d < 3; d++) first[d] = int32_t(o[d]) * p.stride[d] - p.pad[d];
  ACC v = KIND == MAXIMUM ? lowest<ACC>() : ACC(0);
  int64_t place = -1;
  uint32_t inside = 0, framed = 0;
  for (int32_t k0 = 0; k0 < p.kernel[0]; k0++) {
    int32_t a0 = first[0] + k0 * p.dilation[0];
    for (int32_t k1 = 0; k1 < p.kernel[1]; k1++) {
      int32_t a1 = first[1] + k1 * p.dilation[1];
      for (int32_t k2 = 0; k2 < p.kernel[2]; k2++) {
        int32_t a2 = first[2] + k2 * p.dilation[2];
        framed += a0 < int32_t(p.in[0]) + p.end[0] && a1 < int32_t(p.in[1]) + p.end[1] && a2 < int32_t(p.in[2]) + p.end[2];
        if (a0 < 0 || a1 < 0 || a2 < 0 || a0 >= int32_t(p.in[0]) || a1 >= int32_t(p.in[1]) || a2 >= int32_t(p.in[2])) continue;
        ACC e = ACC(value(x[(uint32_t(a0) * p.in[1] + uint32_t(a1)) * p.in[2] + uint32_t(a2)]));
        if (KIND == MAXIMUM) {
          if (place < 0 || e > v || (is_nan(e) && !is_nan(v))) {
            v = e;
            place = int64_t(plane) * size + int64_t(uint32_t(a0) * p.step[0] + uint32_t(a1) * p.step[1] + uint32_t(a2) * p.step[2]);
          }
        } else {
          v = plus(v, KIND == AVERAGE ? e : powered(e));
        }
        inside++;
      }
    }
  }
  if (KIND == AVERAGE) v /= ACC(COUNT_PADDING ? framed : inside);
  if (KIND == NORM) v = rooted(v);
  p.out[i] = finish(v, i, 0);
  if (PLACES) p.places[i] = place;
}
HOST_ENTRY(window)
