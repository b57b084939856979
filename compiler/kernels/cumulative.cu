// Running totals along an axis, one warp per line: 32 elements a step, each lane's total by shuffles,
// and the total of all steps before.
#include "dialect/reduce.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  T* out;
  uint32_t lines, length, inner;
};
constexpr int PER_BLOCK = 8;

KERNEL void __launch_bounds__(PER_BLOCK * 32) cumulative(const Params p) {
  uint32_t line = blockIdx.x * PER_BLOCK + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (line >= p.lines) return;
  uint32_t base = line / p.inner * p.length * p.inner + line % p.inner;
  VALUE before = Fold::none<VALUE>();
  for (uint32_t start = 0; start < p.length; start += 32) {
    uint32_t e = start + lane;
    bool there = e < p.length;
    uint32_t at = base + (REVERSE ? p.length - 1 - e : e) * p.inner;
    VALUE v = there ? VALUE(value(p.x[at])) : Fold::none<VALUE>();
    UNROLL
    for (int d = 1; d < 32; d <<= 1) {
      VALUE other = VALUE(__shfl_up_sync(0xffffffffu, v, d));
      if (int(lane) >= d) v = Fold::join(other, v);
    }
    VALUE total = Fold::join(before, v);
    VALUE earlier = VALUE(__shfl_up_sync(0xffffffffu, total, 1));
    if (there) p.out[at] = from<T>::f(EXCLUSIVE ? (lane ? earlier : before) : total);
    before = VALUE(__shfl_sync(0xffffffffu, total, 31));
  }
}
HOST_ENTRY(cumulative)
