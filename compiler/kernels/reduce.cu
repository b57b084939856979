// One warp per result: a fold over the reduced axes, which lie anywhere in the operand.
#include "dialect/memory.cuh"
#include "dialect/reduce.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  T_OUT* out;
  uint32_t results, terms;
  strided<KEPT> kept;
  strided<REDUCED> reduced;
};
constexpr int PER_BLOCK = 8;

KERNEL void __launch_bounds__(PER_BLOCK * 32) reduce(const Params p, const Epilogue epilogue) {
  uint32_t result = blockIdx.x * PER_BLOCK + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (result >= p.results) return;
  const T* x = p.x + p.kept.at(result);
  VALUE v = Fold::none<VALUE>();
  for (uint32_t e = lane; e < p.terms; e += 32) v = Fold::join(v, VALUE(prepare(value(x[p.reduced.at(e)]))));
  v = warp_reduce<Fold>(v);
  if (lane == 0) {
    VALUE out[1] = {VALUE(finish(v, VALUE(p.terms)))};
    epilogue(out, result);
    p.out[result] = from<T_OUT>::f(out[0]);
  }
}
HOST_ENTRY(reduce)
