// out[i] = Body(i): a chain of elementwise operations, its operands broadcast by strides.
#include "dialect/memory.cuh"
#include "dialect/narrow.cuh"
#include "spec.cuh"

struct Params { T* out; uint32_t n; };

KERNEL void __launch_bounds__(256, 4) elementwise(const Params p, const Epilogue body) {
  uint32_t i = (blockIdx.x * 256 + threadIdx.x) * VECTOR;
  if (i + VECTOR <= p.n) {
    VALUE v[VECTOR] = {};
    body(v, i);
    store<true>(p.out + i, v);
  } else {
    for (; i < p.n; i++) {
      VALUE v[1] = {};
      body(v, i);
      p.out[i] = from<T>::f(v[0]);
    }
  }
}
HOST_ENTRY(elementwise)
