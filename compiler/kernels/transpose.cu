// out[b, j, i] = x[b, i, j] through a tile of shared memory, so that both sides are contiguous.
#include "dialect/core.cuh"
#include "spec.cuh"

struct Params { const T* x; T* out; uint32_t rows, columns; };

KERNEL void __launch_bounds__(256) transpose(const Params p) {
  SHARED(T, tile, [32][32 + (sizeof(T) < 4 ? 4 / sizeof(T) : 1)]);  // rows an odd number of banks apart
  uint32_t x = threadIdx.x % 32, y = threadIdx.x / 32, i0 = blockIdx.y * 32, j0 = blockIdx.x * 32;
  uint32_t base = blockIdx.z * p.rows * p.columns;
  for (uint32_t r = y; r < 32; r += 8)
    if (i0 + r < p.rows && j0 + x < p.columns) tile[r][x] = p.x[base + (i0 + r) * p.columns + j0 + x];
  __syncthreads();
  for (uint32_t r = y; r < 32; r += 8)
    if (j0 + r < p.columns && i0 + x < p.rows) p.out[base + (j0 + r) * p.rows + i0 + x] = tile[x][r];
}
HOST_ENTRY(transpose)
