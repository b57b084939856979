// C = Epilogue(alpha · A B) of 16-bit floats with float32 accumulation: cp.async, STAGES deep, into swizzled
// shared memory, ldmatrix, mma.sync. Rows of A, and of B or of its transpose, are aligned to 16 bytes.
#include "dialect/mma.cuh"
#include "spec.cuh"

struct Params {
  const T* a;
  const T* b;
  T_OUT* c;
  uint32_t m, n, k;
  int32_t a_row, b_row;
  float alpha;
  strided<BATCH> a_batch, b_batch;
};
constexpr int WARPS_N = BN / WN, THREADS = (BM / WM) * WARPS_N * 32;
constexpr int CHUNKS = BK / 8, B_ROWS = B_IS_NK ? BN : BK, B_CHUNKS = B_IS_NK ? BK / 8 : BN / 8;

KERNEL void __launch_bounds__(THREADS) gemm_mma(const Params p, const Epilogue epilogue) {
  DYNAMIC_SHARED(raw);
  T* sa = reinterpret_cast<T*>(raw);
  T* sb = sa + STAGES * BM * BK;
  const T* a = p.a + p.a_batch.at(blockIdx.z);
  const T* b = p.b + p.b_batch.at(blockIdx.z);
  int t = threadIdx.x, warp = t / 32, lane = t % 32;
  int wm = warp / WARPS_N * WM, wn = warp % WARPS_N * WN;
  uint32_t m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  float acc[WM / 16][WN / 8][4] = {};
  auto fetch = [&](int stage, uint32_t k0) {
    UNROLL
    for (int i = 0; i < BM * CHUNKS / THREADS; i++) {
      int e = t + i * THREADS, r = e / CHUNKS, c = e % CHUNKS;
      uint32_t m = m0 + r, k = k0 + c * 8;
      bool in = m < p.m && k < p.k;
      cp_async16(sa + stage * BM * BK + swizzled<CHUNKS>(r, c), a + (in ? int32_t(m) * p.a_row + int32_t(k) : 0), in ? 16 : 0);
    }
    UNROLL
    for (int i = 0; i < B_ROWS * B_CHUNKS / THREADS; i++) {
      int e = t + i * THREADS, r = e / B_CHUNKS, c = e % B_CHUNKS;
      uint32_t row = (B_IS_NK ? n0 : k0) + r, column = (B_IS_NK ? k0 : n0) + c * 8;
      bool in = row < (B_IS_NK ? p.n : p.k) && column < (B_IS_NK ? p.k : p.n);
      cp_async16(sb + stage * BN * BK + swizzled<B_CHUNKS>(r, c), b + (in ? int32_t(row) * p.b_row + int32_t(column) : 0), in ? 16 : 0);
    }
  };
  int steps = (p.k + BK - 1) / BK;
  UNROLL
  for (int s = 0; s < STAGES - 1; s++) {
    if (s < steps) fetch(s, s * BK);
    cp_async_commit();
  }
  for (int step = 0; step < steps; step++) {
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    if (step + STAGES - 1 < steps) fetch((step + STAGES - 1) % STAGES, (step + STAGES - 1) * BK);
    cp_async_commit();
    const T* ta = sa + step % STAGES * BM * BK;
    const T* tb = sb + step % STAGES * BN * BK;
    UNROLL
    for (int kk = 0; kk < BK / 16; kk++) {
      uint32_t fa[WM / 16][4], fb[WN / 16][4];
      UNROLL
      for (int i = 0; i < WM / 16; i++)
        ldmatrix_x4(fa[i], ta + swizzled<CHUNKS>(wm + i * 16 + (lane & 15), kk * 2 + (lane >> 4)));
      UNROLL
      for (int j = 0; j < WN / 16; j++) {
        if constexpr (B_IS_NK)
          ldmatrix_x4(fb[j], tb + swizzled<B_CHUNKS>(wn + j * 16 + (lane & 7) + ((lane >> 4) << 3), kk * 2 + ((lane >> 3) & 1)));
        else
          ldmatrix_x4_trans(fb[j], tb + swizzled<B_CHUNKS>(kk * 16 + (lane & 15), wn / 8 + j * 2 + (lane >> 4)));
      }
      UNROLL
      for (int i = 0; i < WM / 16; i++)
        UNROLL
        for (int j = 0; j < WN / 8; j++) mma_16816<T>(acc[i][j], fa[i], &fb[j / 2][(j & 1) * 2]);
    }
  }
  UNROLL
  for (int i = 0; i < WM / 16; i++)
    UNROLL
    for (int h = 0; h < 2; h++) {
      uint32_t m = m0 + wm + i * 16 + (lane >> 2) + h * 8;
      UNROLL
      for (int j = 0; j < WN / 8; j++) {
        uint32_t n = n0 + wn + j * 8 + (lane & 3) * 2, at = (blockIdx.z * p.m + m) * p.n + n;
        float v[2] = {acc[i][j][h * 2] * p.alpha, acc[i][j][h * 2 + 1] * p.alpha};
        if constexpr (ALIGNED) {
          if (m >= p.m || n >= p.n) continue;
          epilogue(v, at);
          store<true>(p.c + at, v);
        } else {
          UNROLL
          for (int e = 0; e < 2; e++) {
            if (m >= p.m || n + e >= p.n) continue;
            float one[1] = {v[e]};
            epilogue(one, at + e);
            p.c[at + e] = from_f<T_OUT>(one[0]);
          }
        }
      }
    }
}
HOST_ENTRY(gemm_mma)
