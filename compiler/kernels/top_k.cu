// The k best of each line along an axis, in order: an element's place is how many are better than it.
// Of equals the first is better; NaN is larger than any number.
#include "dialect/core.cuh"
#include "dialect/functions.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  T* out;
  int64_t* places;
  uint32_t n, length, inner, k;
};

KERNEL void __launch_bounds__(256) top_k(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t in = i % p.inner, e = i / p.inner % p.length, outer = i / p.inner / p.length;
  const T* line = p.x + outer * p.length * p.inner + in;
  auto own = value(line[e * p.inner]);
  uint32_t rank = 0;
  for (uint32_t j = 0; j < p.length && rank < p.k; j++) {
    auto other = value(line[j * p.inner]);
    bool equal = other == own || (is_nan(other) && is_nan(own));
    bool above = is_nan(own) ? false : is_nan(other) || other > own;
    rank += equal ? j < e : LARGEST == above;
  }
  if (rank >= p.k) return;
  uint32_t to = (outer * p.k + rank) * p.inner + in;
  p.out[to] = from<T>::f(own);
  if (p.places) p.places[to] = int64_t(e);
}
HOST_ENTRY(top_k)
