// ldmatrix and mma.sync.m16n8k16 of float16 or bfloat16 with float32 accumulators (PTX ISA, "Matrix multiply-accumulate").
#pragma once
#include "dialect/memory.cuh"

// Where a chunk of 8 elements lies in rows of WIDTH chunks: eight consecutive rows of one chunk are in
// eight different bank groups.
template <int WIDTH> DEV int swizzled(int row, int chunk) {
  constexpr int SHARE = WIDTH >= 8 ? 1 : 8 / WIDTH, TURNS = WIDTH >= 8 ? 8 : WIDTH;
  return (row * WIDTH + (chunk ^ (row / SHARE % TURNS))) * 8;
}

#ifdef __CUDACC_RTC__
DEV void ldmatrix_x4(uint32_t (&r)[4], const void* s) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(s)) : "memory");
}
DEV void ldmatrix_x4_trans(uint32_t (&r)[4], const void* s) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(s)) : "memory");
}
template <class T> DEV void mma_16816(float (&d)[4], const uint32_t (&a)[4], const uint32_t* b);
#define MMA(T, NAME)                                                                                                  \
  template <> DEV void mma_16816<T>(float (&d)[4], const uint32_t (&a)[4], const uint32_t* b) {                       \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." NAME "." NAME                                               \
                 ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                                         \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                 \
  }
MMA(half_t, "f16") MMA(bfloat_t, "bf16")
#else
// Lane 8j + i gives the address of row i of matrix j; lane t receives, of each matrix, row t/4,
// columns 2(t%4) and 2(t%4)+1 (of its transpose with .trans).
struct sim_rows { const void* row; uint32_t* r; uint16_t mine[8]; };
template <bool TRANS> DEV void sim_ldmatrix(uint32_t (&r)[4], const void* s) {
  sim::access(s, 16, sim::READ);
  sim_rows l{s, r, {}};
  sim::raw_copy(l.mine, s, 16);
  sim::collective(~0u, l, [](sim_rows** p) {
    for (int t = 0; t < 32; t++)
      for (int j = 0; j < 4; j++) {
        uint32_t both = 0;
        for (int h = 0; h < 2; h++) {
          int row = TRANS ? (t % 4) * 2 + h : t / 4, column = TRANS ? t / 4 : (t % 4) * 2 + h;
          both |= uint32_t(p[j * 8 + row]->mine[column]) << (16 * h);
        }
        p[t]->r[j] = both;
      }
  });
}
DEV void ldmatrix_x4(uint32_t (&r)[4], const void* s) { sim_ldmatrix<false>(r, s); }
DEV void ldmatrix_x4_trans(uint32_t (&r)[4], const void* s) { sim_ldmatrix<true>(r, s); }
struct sim_fragments { float* d; const uint32_t *a, *b; };
template <class T> inline SIM_PLAIN __attribute__((noinline)) void sim_mma(sim_fragments** p) {
  float A[16][16], B[16][8], C[16][8];
  auto half = [](uint32_t w, int high) SIM_PLAIN { return to_f(T{uint16_t(high ? w >> 16 : w)}); };
  for (int t = 0; t < 32; t++) {
    int g = t >> 2, q = (t & 3) * 2;
    for (int h = 0; h < 2; h++) {
      for (int r = 0; r < 4; r++) A[g + (r & 1) * 8][q + h + (r >> 1) * 8] = half(p[t]->a[r], h);
      for (int r = 0; r < 2; r++) B[q + h + r * 8][g] = half(p[t]->b[r], h);
    }
    for (int i = 0; i < 4; i++) C[g + (i >> 1) * 8][q + (i & 1)] = p[t]->d[i];
  }
  for (int i = 0; i < 16; i++)
    for (int k = 0; k < 16; k++)
      for (int j = 0; j < 8; j++) C[i][j] += A[i][k] * B[k][j];
  for (int t = 0; t < 32; t++) {
    int g = t >> 2, q = (t & 3) * 2;
    for (int i = 0; i < 4; i++) p[t]->d[i] = C[g + (i >> 1) * 8][q + (i & 1)];
  }
}
template <class T> DEV void mma_16816(float (&d)[4], const uint32_t (&a)[4], const uint32_t* b) {
  sim_fragments l{d, a, b};
  sim::collective(~0u, l, [](sim_fragments** p) { sim_mma<T>(p); });
}
#endif
