// out = Σ weight · x over the neighbours along each axis that is resized; which they are and what they
// weigh are tables. An index of −1 stands for a place outside, which has a value of its own.
#include "dialect/reduce.cuh"
#include "dialect/memory.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const int32_t* index;
  const ACC* weight;
  T* out;
  uint32_t n;
  float outside;
  uint32_t size[RANK], step[RANK], taps[RANK], table[RANK];  // no taps: the axis is as it was
};

DEV ACC brought_back(ACC v) {
  if (!ROUNDED) return v;
  ACC low = ACC(lowest<T_VALUE>()), high = ACC(highest<T_VALUE>());
  v = rint_(v);
  return v < low ? low : v > high ? high : v;
}
KERNEL void __launch_bounds__(256) resample(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t rest = i, base = 0, combinations = 1, first[RANK];
  bool outside = false;
  UNROLL
  for (int d = RANK - 1; d >= 0; d--) {
    uint32_t c = rest % p.size[d];
    rest /= p.size[d];
    first[d] = p.table[d] + c * p.taps[d];
    if (p.taps[d]) combinations *= p.taps[d];
    else base += c * p.step[d];
    if (CROPPED && p.taps[d]) outside = outside || p.index[first[d]] < 0;
  }
  if (CROPPED && outside) {
    p.out[i] = from<T>::f(T_VALUE(p.outside));
    return;
  }
  if constexpr (NEAREST) {
    UNROLL
    for (int d = 0; d < RANK; d++)
      if (p.taps[d]) base += uint32_t(p.index[first[d]]) * p.step[d];
    p.out[i] = p.x[base];
  } else {
    ACC sum = ACC(0);
    for (uint32_t t = 0; t < combinations; t++) {
      uint32_t left = t, at = base;
      ACC w = ACC(1);
      UNROLL
      for (int d = RANK - 1; d >= 0; d--) {
        if (!p.taps[d]) continue;
        uint32_t k = first[d] + left % p.taps[d];
        left /= p.taps[d];
        at += uint32_t(p.index[k]) * p.step[d];
        w *= p.weight[k];
      }
      if (w != ACC(0)) sum += w * ACC(value(p.x[at]));
    }
    p.out[i] = from<T>::f(T_VALUE(brought_back(sum)));
  }
}
HOST_ENTRY(resample)
