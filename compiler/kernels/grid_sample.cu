// Elements of x at places between them that a grid names, −1 to 1 along each of AXES axes: the nearest
// one, or a sum of 2 or 4 along each axis. What lies outside is 0, the border, or mirrored.
#include "dialect/memory.cuh"
#include "dialect/reduce.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const G* grid;
  T* out;
  uint32_t n, channels, places;
  uint32_t size[AXES];
};
enum { NEAREST, LINEAR, CUBIC };
enum { ZEROS, BORDER, REFLECTION };
constexpr int TAPS = MODE == NEAREST ? 1 : MODE == LINEAR ? 2 : 4;

DEV int64_t held(int64_t at, int64_t size, bool& inside) {
  if (PADDING == REFLECTION) {
    int64_t period = CORNERS ? 2 * (size - 1) : 2 * size;
    if (period < 1) period = 1;
    at %= period;
    if (at < 0) at += period;
    int64_t mirrored = (CORNERS ? period : period - 1) - at;
    return at < mirrored ? at : mirrored;
  }
  int64_t kept = at < 0 ? 0 : at < size ? at : size - 1;
  if (PADDING == ZEROS && kept != at) inside = false;
  return kept;
}
DEV ACC weight_of(int k, ACC t) {
  constexpr float A = -0.75f;
  if (MODE == LINEAR) return k ? t : ACC(1) - t;
  ACC s = ACC(1) - t;
  switch (k) {
    case 0: return A * t * s * s;
    case 1: return ((A + 2) * t - (A + 3)) * t * t + ACC(1);
    case 2: return ((A + 2) * s - (A + 3)) * s * s + ACC(1);
    default: return A * s * t * t;
  }
}
KERNEL void __launch_bounds__(256) grid_sample(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t place = i % p.places, plane = i / p.places, b = plane / p.channels;
  int64_t first[AXES];
  ACC past[AXES];
  uint32_t elements = 1;
  UNROLL
  for (int d = 0; d < AXES; d++) {
    ACC unit = ACC(value(p.grid[(b * p.places + place) * AXES + (AXES - 1 - d)])) + ACC(1), size = ACC(p.size[d]);
    ACC at = CORNERS ? unit / ACC(2) * (size - ACC(1)) : (unit * size - ACC(1)) / ACC(2);
    constexpr ACC FARTHEST = ACC(9007199254740992.0);
    if (is_nan(at) || at < -FARTHEST) at = -FARTHEST;
    if (at > FARTHEST) at = FARTHEST;
    ACC low = MODE == NEAREST ? rint_(at) : floor_(at);
    past[d] = at - low;
    first[d] = int64_t(low) - (MODE == CUBIC);
    elements *= p.size[d];
  }
  if (elements == 0) {
    p.out[i] = from<T>::f(T_VALUE(0));
    return;
  }
  constexpr int COMBINATIONS = AXES == 1 ? TAPS : AXES == 2 ? TAPS * TAPS : TAPS * TAPS * TAPS;
  ACC sum = ACC(0);
  for (int t = 0; t < COMBINATIONS; t++) {
    int left = t;
    uint32_t at = 0, step = 1;
    ACC w = ACC(1);
    bool inside = true;
    UNROLL
    for (int d = AXES - 1; d >= 0; d--) {
      int k = left % TAPS;
      left /= TAPS;
      at += uint32_t(held(first[d] + k, p.size[d], inside)) * step;
      step *= p.size[d];
      if (MODE != NEAREST) w *= weight_of(k, past[d]);
    }
    T e = inside ? p.x[plane * elements + at] : from<T>::f(T_VALUE(0));
    if constexpr (MODE == NEAREST) {
      p.out[i] = e;
      return;
    }
    sum += w * ACC(value(e));
  }
  p.out[i] = from<T>::f(T_VALUE(sum));
}
HOST_ENTRY(grid_sample)
