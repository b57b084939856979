// The main loop that gemm_simt and conv_igemm share: double-buffered shared memory, a TM × TN tile of
// float32 in the registers of each thread. Loaders return 0 outside of the operand.
#pragma once
#include "dialect/memory.cuh"

template <int BM, int BN, int BK, int TM, int TN, bool A_K_FAST, bool B_K_FAST> struct SimtTile {
  static constexpr int THREADS = (BM / TM) * (BN / TN), PAD = 4;
  static constexpr int LA = BM * BK / THREADS, LB = BN * BK / THREADS;

  template <class A, class B>
  DEV static void run(float (&acc)[TM][TN], const A& a, const B& b, uint32_t m0, uint32_t n0, uint32_t depth) {
    SHARED(float, sa, [2][BK][BM + PAD]);
    SHARED(float, sb, [2][BK][BN + PAD]);
    int t = threadIdx.x, tx = t % (BN / TN), ty = t / (BN / TN);
    float ra[LA], rb[LB];
    auto fetch = [&](uint32_t k0) {
      UNROLL
      for (int i = 0; i < LA; i++) {
        int e = t + i * THREADS, m = A_K_FAST ? e / BK : e % BM, k = A_K_FAST ? e % BK : e / BM;
        ra[i] = a(m0 + m, k0 + k);
      }
      UNROLL
      for (int i = 0; i < LB; i++) {
        int e = t + i * THREADS, n = B_K_FAST ? e / BK : e % BN, k = B_K_FAST ? e % BK : e / BN;
        rb[i] = b(k0 + k, n0 + n);
      }
    };
    auto put = [&](int buffer) {
      UNROLL
      for (int i = 0; i < LA; i++) {
        int e = t + i * THREADS;
        sa[buffer][A_K_FAST ? e % BK : e / BM][A_K_FAST ? e / BK : e % BM] = ra[i];
      }
      UNROLL
      for (int i = 0; i < LB; i++) {
        int e = t + i * THREADS;
        sb[buffer][B_K_FAST ? e % BK : e / BN][B_K_FAST ? e / BK : e % BN] = rb[i];
      }
    };
    fetch(0);
    put(0);
    __syncthreads();
    int buffer = 0;
    for (uint32_t k0 = 0; k0 < depth; k0 += BK) {
      bool more = k0 + BK < depth;
      if (more) fetch(k0 + BK);
      UNROLL
      for (int k = 0; k < BK; k++) {
        pack<float, TM> x = load_pack<float, TM>(&sa[buffer][k][ty * TM]);
        pack<float, TN> y = load_pack<float, TN>(&sb[buffer][k][tx * TN]);
        UNROLL
        for (int i = 0; i < TM; i++)
          UNROLL
          for (int j = 0; j < TN; j++) acc[i][j] += x.v[i] * y.v[j];
      }
      if (more) {
        put(buffer ^ 1);
        __syncthreads();
        buffer ^= 1;
      }
    }
  }
};
