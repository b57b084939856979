// out = softmax(scale · Q Kᵀ + mask) V of 16-bit floats on tensor cores: a warp has 16 queries, a block 64;
// keys and values come in tiles of 64 through cp.async, the next one while this one is computed (Dao,
// "FlashAttention-2", 2023). Weights are rounded to the type of V before the second product, as the
// definition stores them. Rows are aligned to 16 bytes, and HEAD and VALUES are multiples of 16.
#include "attention.cuh"
#include "dialect/mma.cuh"
#include "dialect/reduce.cuh"
#include "spec.cuh"

constexpr int WARPS = 4, ROWS = 64, TILE = 64, THREADS = WARPS * 32, STAGES = 2;

template <int WIDTH> DEV void fetch(T* to, const T* from, int32_t stride, uint32_t first, uint32_t rows, uint32_t size) {
  UNROLL
  for (int i = 0; i < (TILE * WIDTH + THREADS - 1) / THREADS; i++) {
    int e = threadIdx.x + i * THREADS, r = e / WIDTH, c = e % WIDTH;
    if (e >= TILE * WIDTH) break;
    bool in = first + r < rows && uint32_t(c) * 8 < size;
    cp_async16(to + swizzled<WIDTH>(r, c), from + (in ? int32_t(first + r) * stride + c * 8 : 0), in ? 16 : 0);
  }
}
DEV uint32_t packed(float low, float high) {
  return uint32_t(from_f<T>(low).bits) | uint32_t(from_f<T>(high).bits) << 16;
}
DEV float quad(float v, bool sum) {  // over the four lanes that share a row
  UNROLL
  for (int d = 1; d <= 2; d <<= 1) {
    float other = __shfl_xor_sync(0xffffffffu, v, d);
    v = sum ? v + other : max_nan(v, other);
  }
  return v;
}

KERNEL void __launch_bounds__(THREADS) attention_mma(const Attention<T, M> p) {
  constexpr int QW = HEAD / 8, VW = VALUES / 8;
  DYNAMIC_SHARED(raw);
  T* sq = reinterpret_cast<T*>(raw);
  T* sk = sq + ROWS * HEAD;
  T* sv = sk + STAGES * TILE * HEAD;
  uint32_t batch = blockIdx.z, head = blockIdx.y, first = blockIdx.x * ROWS;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const T* k = p.k + p.sk.at(batch, head / p.groups);
  const T* v = p.v + p.sv.at(batch, head / p.groups);
  auto next = [&](uint32_t tile) {
    if (tile * TILE < p.keys) {
      fetch<QW>(sk + tile % STAGES * TILE * HEAD, k, p.sk.row, tile * TILE, p.keys, p.size);
      fetch<VW>(sv + tile % STAGES * TILE * VALUES, v, p.sv.row, tile * TILE, p.keys, p.values);
    }
    cp_async_commit();
  };
  fetch<QW>(sq, p.q + p.sq.at(batch, head), p.sq.row, first, p.queries, p.size);
  next(0);
  float acc[VALUES / 8][4] = {}, most[2] = {-INFINITE, -INFINITE}, sum[2] = {};
  bool seen[2] = {};
  for (uint32_t tile = 0; tile * TILE < p.keys; tile++) {
    next(tile + 1);
    cp_async_wait<1>();
    __syncthreads();
    const T* tk = sk + tile % STAGES * TILE * HEAD;
    const T* tv = sv + tile % STAGES * TILE * VALUES;
    float s[TILE / 8][4] = {};
    UNROLL
    for (int d = 0; d < HEAD / 16; d++) {
      uint32_t fq[4];
      ldmatrix_x4(fq, sq + swizzled<QW>(warp * 16 + (lane & 15), d * 2 + (lane >> 4)));
      UNROLL
      for (int j = 0; j < TILE / 16; j++) {
        uint32_t fk[4];
        ldmatrix_x4(fk, tk + swizzled<QW>(j * 16 + (lane & 7) + ((lane >> 4) << 3), d * 2 + ((lane >> 3) & 1)));
        mma_16816<T>(s[j * 2], fq, &fk[0]);
        mma_16816<T>(s[j * 2 + 1], fq, &fk[2]);
      }
    }
    UNROLL
    for (int h = 0; h < 2; h++) {
      uint32_t row = first + warp * 16 + (lane >> 2) + h * 8;
      float top = -INFINITE;
      bool any = false;
      UNROLL
      for (int j = 0; j < TILE / 8; j++)
        UNROLL
        for (int e = 0; e < 2; e++) {
          uint32_t key = tile * TILE + j * 8 + (lane & 3) * 2 + e;
          float& one = s[j][h * 2 + e];
          float bias = row < p.queries && key < p.keys ? p.bias(batch, head, row, key) : -INFINITE;
          any |= bias != -INFINITE;
          one = key < p.keys ? p.scored(one) + bias : -INFINITE;
          top = max_nan(top, one);
        }
      seen[h] |= any;
      float larger = max_nan(most[h], quad(top, false));
      float kept = p.kept(most[h], larger), added = 0.0f;
      most[h] = larger;
      UNROLL
      for (int j = 0; j < TILE / 8; j++)
        UNROLL
        for (int e = 0; e < 2; e++) {
          float& one = s[j][h * 2 + e];
          one = p.weight(one, larger);
          added += one;
        }
      sum[h] = sum[h] * kept + quad(added, true);
      UNROLL
      for (int c = 0; c < VALUES / 8; c++) acc[c][h * 2] *= kept, acc[c][h * 2 + 1] *= kept;
    }
    UNROLL
    for (int j = 0; j < TILE / 16; j++) {
      uint32_t weights[4] = {packed(s[j * 2][0], s[j * 2][1]), packed(s[j * 2][2], s[j * 2][3]),
                             packed(s[j * 2 + 1][0], s[j * 2 + 1][1]), packed(s[j * 2 + 1][2], s[j * 2 + 1][3])};
      UNROLL
      for (int c = 0; c < VALUES / 16; c++) {
        uint32_t fv[4];
        ldmatrix_x4_trans(fv, tv + swizzled<VW>(j * 16 + (lane & 15), c * 2 + (lane >> 4)));
        mma_16816<T>(acc[c * 2], weights, &fv[0]);
        mma_16816<T>(acc[c * 2 + 1], weights, &fv[2]);
      }
    }
    __syncthreads();
  }
  T* out = p.out + p.so.at(batch, head);
  UNROLL
  for (int h = 0; h < 2; h++) {
    uint32_t row = first + warp * 16 + (lane >> 2) + h * 8;
    bool open = __shfl_xor_sync(0xffffffffu, int(seen[h]), 1) | seen[h];
    open |= __shfl_xor_sync(0xffffffffu, int(open), 2);
    if (row >= p.queries) continue;
    UNROLL
    for (int c = 0; c < VALUES / 8; c++) {
      uint32_t d = c * 8 + (lane & 3) * 2;
      float pair[2] = {open ? acc[c][h * 2] / sum[h] : 0.0f, open ? acc[c][h * 2 + 1] / sum[h] : 0.0f};
      if (d < p.values) store<true>(out + int32_t(row) * p.so.row + int32_t(d), pair);
    }
  }
}
HOST_ENTRY(attention_mma)
