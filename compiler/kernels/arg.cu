// One warp per line along an axis: the place of its largest or smallest element, of several the first
// or the last; a NaN is taken for both. HARD writes 1 at that place and 0 elsewhere.
#include "dialect/core.cuh"
#include "dialect/functions.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  T_OUT* out;
  uint32_t lines, length, inner;
};
constexpr int PER_BLOCK = 8;
constexpr uint32_t NOWHERE = 0xffffffffu;

template <class V> DEV bool better(V a, uint32_t at, V b, uint32_t other) {  // b than a
  if (other == NOWHERE || at == NOWHERE) return at == NOWHERE && other != NOWHERE;
  if (is_nan(a) != is_nan(b)) return is_nan(b);
  if (MOST ? b > a : b < a) return true;
  return (b == a || is_nan(a)) && (LAST ? other > at : other < at);
}
KERNEL void __launch_bounds__(PER_BLOCK * 32) arg(const Params p) {
  uint32_t line = blockIdx.x * PER_BLOCK + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (line >= p.lines) return;
  uint32_t base = line / p.inner * p.length * p.inner + line % p.inner;
  using V = decltype(value(p.x[0]));
  V best = V(0);
  uint32_t at = NOWHERE;
  for (uint32_t e = lane; e < p.length; e += 32) {
    V v = value(p.x[base + e * p.inner]);
    if (better(best, at, v, e)) { best = v; at = e; }
  }
  UNROLL
  for (int d = 16; d; d >>= 1) {
    V v = V(__shfl_xor_sync(0xffffffffu, best, d));
    uint32_t e = __shfl_xor_sync(0xffffffffu, at, d);
    if (better(best, at, v, e)) { best = v; at = e; }
  }
  if constexpr (HARD) {
    for (uint32_t e = lane; e < p.length; e += 32) p.out[base + e * p.inner] = from<T_OUT>::f(e == at ? 1.0f : 0.0f);
  } else {
    if (lane == 0) p.out[line] = from<T_OUT>::f(at);
  }
}
HOST_ENTRY(arg)
