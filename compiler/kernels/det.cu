// The determinant of each matrix by elimination with row pivots, in float64; one thread per matrix, its
// copy laid out so that threads work side by side.
#include "dialect/core.cuh"
#include "dialect/functions.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  double* scratch;
  T* out;
  uint32_t count, size;
};

KERNEL void __launch_bounds__(64) det(const Params p) {
  uint32_t m = blockIdx.x * 64 + threadIdx.x, size = p.size;
  if (m >= p.count) return;
  auto at = [&](uint32_t r, uint32_t c) -> double& { return p.scratch[(r * size + c) * p.count + m]; };
  for (uint32_t e = 0; e < size * size; e++) at(e / size, e % size) = double(value(p.x[m * size * size + e]));
  double product = 1.0;
  for (uint32_t k = 0; k < size; k++) {
    uint32_t pivot = k;
    for (uint32_t r = k + 1; r < size; r++)
      if (fabs(at(r, k)) > fabs(at(pivot, k))) pivot = r;
    if (pivot != k) {
      product = -product;
      for (uint32_t c = k; c < size; c++) {
        double kept = at(k, c);
        at(k, c) = at(pivot, c);
        at(pivot, c) = kept;
      }
    }
    double head = at(k, k);
    product *= head;
    if (head == 0.0) break;
    double inverse = 1.0 / head;
    for (uint32_t r = k + 1; r < size; r++) {
      double factor = at(r, k) * inverse;
      for (uint32_t c = k + 1; c < size; c++) at(r, c) -= factor * at(k, c);
    }
  }
  using V = decltype(value(p.x[0]));
  p.out[m] = from<T>::f(V(product));
}
HOST_ENTRY(det)
