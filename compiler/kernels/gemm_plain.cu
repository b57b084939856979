// C[m, n] = Finish(Σₖ (A[m, k] − zero of m) (B[k, n] − zero of n)) in any type that sums are exact or
// float64 in: 16 × 16 results a block, through tiles of shared memory.
#include "dialect/memory.cuh"
#include "dialect/quantize.cuh"
#include "spec.cuh"

struct Params {
  const TA* a;
  const TB* b;
  const TA* a_zero;
  const TB* b_zero;
  T_OUT* c;
  uint32_t m, n, k;
  int32_t a_row, a_column, b_row, b_column, a_zero_step, b_zero_step;
  strided<BATCH> a_batch, b_batch;
};
constexpr int TILE = 16;

KERNEL void __launch_bounds__(TILE * TILE) gemm_plain(const Params p, const Finish finish) {
  SHARED(ACC, sa, [TILE][TILE + 1]);
  SHARED(ACC, sb, [TILE][TILE + 1]);
  const TA* a = p.a + p.a_batch.at(blockIdx.z);
  const TB* b = p.b + p.b_batch.at(blockIdx.z);
  uint32_t x = threadIdx.x % TILE, y = threadIdx.x / TILE, m = blockIdx.y * TILE + y, n = blockIdx.x * TILE + x;
  ACC zero_a = p.a_zero && m < p.m ? ACC(value(p.a_zero[int32_t(m) * p.a_zero_step])) : ACC(0);
  ACC zero_b = p.b_zero && n < p.n ? ACC(value(p.b_zero[int32_t(n) * p.b_zero_step])) : ACC(0);
  ACC sum = ACC(0);
  for (uint32_t k0 = 0; k0 < p.k; k0 += TILE) {
    bool in_a = m < p.m && k0 + x < p.k, in_b = n < p.n && k0 + y < p.k;
    sa[y][x] = in_a ? ACC(ACC(value(a[int32_t(m) * p.a_row + int32_t(k0 + x) * p.a_column])) - zero_a) : ACC(0);
    sb[y][x] = in_b ? ACC(ACC(value(b[int32_t(k0 + y) * p.b_row + int32_t(n) * p.b_column])) - zero_b) : ACC(0);
    __syncthreads();
    UNROLL
    for (int k = 0; k < TILE; k++) sum = plus(sum, times(sa[y][k], sb[k][x]));
    __syncthreads();
  }
  if (m < p.m && n < p.n) p.c[(blockIdx.z * p.m + m) * p.n + n] = finish(sum, m, n);
}
HOST_ENTRY(gemm_plain)
