// C = Epilogue(alpha · A B) for every batch index, operands with any strides, float32 arithmetic.
#include "simt_tile.cuh"
#include "spec.cuh"

struct Params {
  const T* a;
  const T* b;
  T_OUT* c;
  uint32_t m, n, k;
  int32_t a_row, a_column, b_row, b_column;
  float alpha;
  strided<BATCH> a_batch, b_batch;
};
using Tile = SimtTile<BM, BN, BK, TM, TN, A_K_FAST, B_K_FAST>;

KERNEL void __launch_bounds__(Tile::THREADS) gemm_simt(const Params p, const Epilogue epilogue) {
  const T* a = p.a + p.a_batch.at(blockIdx.z);
  const T* b = p.b + p.b_batch.at(blockIdx.z);
  uint32_t m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  float acc[TM][TN] = {};
  Tile::run(
      acc, [&](uint32_t m, uint32_t k) { return m < p.m && k < p.k ? to_f(a[int32_t(m) * p.a_row + int32_t(k) * p.a_column]) : 0.0f; },
      [&](uint32_t k, uint32_t n) { return n < p.n && k < p.k ? to_f(b[int32_t(k) * p.b_row + int32_t(n) * p.b_column]) : 0.0f; },
      m0, n0, p.k);
  uint32_t n = n0 + threadIdx.x % (BN / TN) * TN;
  UNROLL
  for (int i = 0; i < TM; i++) {
    uint32_t m = m0 + threadIdx.x / (BN / TN) * TM + i;
    if (m >= p.m) break;
    uint32_t at = (blockIdx.z * p.m + m) * p.n + n;
    UNROLL
    for (int j = 0; j < TN; j++) acc[i][j] *= p.alpha;
    if constexpr (ALIGNED) {
      if (n >= p.n) break;
      epilogue(acc[i], at);
      store<true>(p.c + at, acc[i]);
    } else {
      UNROLL
      for (int j = 0; j < TN; j++) {
        if (n + j >= p.n) break;
        float v[1] = {acc[i][j]};
        epilogue(v, at + j);
        p.c[at + j] = from_f<T_OUT>(v[0]);
      }
    }
  }
}
HOST_ENTRY(gemm_simt)
