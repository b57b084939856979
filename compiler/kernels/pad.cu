// out = x inside of a frame: of one value, or of what an axis repeats, mirrors, or goes on with. T is
// an unsigned integer of the element's size.
#include "dialect/core.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const T* value;
  T* out;
  uint32_t n;
  uint32_t size[RANK], inner[RANK];
  int32_t before[RANK];
  uint32_t first[RANK], kept[RANK];  // where x is cut before it is padded, and what is left of it
};
enum { CONSTANT, EDGE, REFLECT, WRAP };

DEV int32_t folded(int32_t at, int32_t size) {
  if (MODE == EDGE) return at < 0 ? 0 : at < size ? at : size - 1;
  int32_t period = MODE == WRAP ? size : size > 1 ? 2 * size - 2 : 1;
  at %= period;
  if (at < 0) at += period;
  return at < size ? at : period - at;
}
KERNEL void __launch_bounds__(256) pad(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t rest = i, from = 0, stride = 1;
  bool inside = true;
  UNROLL
  for (int d = RANK - 1; d >= 0; d--) {
    int32_t at = int32_t(rest % p.size[d]) - p.before[d], kept = int32_t(p.kept[d]);
    rest /= p.size[d];
    if (MODE != CONSTANT) at = folded(at, kept);
    inside = inside && at >= 0 && at < kept;
    from += (uint32_t(at) + p.first[d]) * stride;
    stride *= p.inner[d];
  }
  p.out[i] = inside ? p.x[from] : (HAS_VALUE ? p.value[0] : T(0));
}
HOST_ENTRY(pad)
