// out = x, updated along one axis where indices say. A thread has a whole line along the axis and
// takes its updates in their order, so that repeated places are always the same.
#include "dialect/memory.cuh"
#include "dialect/index.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const INDEX* index;
  const T* updates;
  T* out;
  int* status;
  uint32_t lines, length, step, count, index_step;
  uint32_t size[RANK], within[RANK], place[RANK], source[RANK];
};

KERNEL void __launch_bounds__(256) scatter_elements(const Params p) {
  uint32_t rest = blockIdx.x * 256 + threadIdx.x, at = 0, first = 0;
  if (rest >= p.lines) return;
  bool touched = true;
  UNROLL
  for (int d = RANK - 1; d >= 0; d--) {
    uint32_t c = rest % p.size[d];
    rest /= p.size[d];
    touched = touched && c < p.within[d];
    at += c * p.place[d];
    first += c * p.source[d];
  }
  for (uint32_t j = 0; j < p.length; j++) p.out[at + j * p.step] = p.x[at + j * p.step];
  if (!touched) return;
  for (uint32_t j = 0; j < p.count; j++) {
    uint32_t from = first + j * p.index_step;
    T* to = p.out + at + checked_index(p.index[from], p.length, p.status, from) * p.step;
    *to = updated<KIND>(*to, p.updates[from]);
  }
}
HOST_ENTRY(scatter_elements)
