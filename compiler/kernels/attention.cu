// out = softmax(scale · Q Kᵀ + mask) V, a row of queries at a time: keys come in tiles of 32, one to a
// lane, and maximum, sum and result are brought up to each (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018; Dao et al., "FlashAttention", 2022). Keys that a row may not see are
// not skipped: their weight is 0, and 0 times an infinite value is NaN by definition.
#include "attention.cuh"
#include "dialect/reduce.cuh"
#include "spec.cuh"

constexpr int ROWS = 4, WARPS = 4, TILE = 32, BLOCK = ROWS * WARPS;
constexpr int PARTS = VALUES / 32;  // elements of the result that a lane holds

KERNEL void __launch_bounds__(WARPS * 32) attention(const Attention<T, M> p) {
  SHARED(float, sq, [BLOCK][HEAD]);
  SHARED(float, sk, [TILE][HEAD + 1]);
  SHARED(float, sv, [TILE][VALUES]);
  uint32_t batch = blockIdx.z, head = blockIdx.y, first = blockIdx.x * BLOCK;
  int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const T* q = p.q + p.sq.at(batch, head);
  const T* k = p.k + p.sk.at(batch, head / p.groups);
  const T* v = p.v + p.sv.at(batch, head / p.groups);
  for (int e = t; e < BLOCK * HEAD; e += WARPS * 32) {
    uint32_t row = first + e / HEAD, d = e % HEAD;
    sq[e / HEAD][e % HEAD] = row < p.queries && d < p.size ? to_f(q[int32_t(row) * p.sq.row + int32_t(d)]) : 0.0f;
  }
  float most[ROWS], sum[ROWS] = {}, acc[ROWS][PARTS] = {};
  bool seen[ROWS] = {};
  UNROLL
  for (int r = 0; r < ROWS; r++) most[r] = -INFINITE;
  for (uint32_t start = 0; start < p.keys; start += TILE) {
    __syncthreads();
    for (int e = t; e < TILE * HEAD; e += WARPS * 32) {
      uint32_t key = start + e / HEAD, d = e % HEAD;
      sk[e / HEAD][e % HEAD] = key < p.keys && d < p.size ? to_f(k[int32_t(key) * p.sk.row + int32_t(d)]) : 0.0f;
    }
    for (int e = t; e < TILE * VALUES; e += WARPS * 32) {
      uint32_t key = start + e / VALUES, d = e % VALUES;
      sv[e / VALUES][e % VALUES] = key < p.keys && d < p.values ? to_f(v[int32_t(key) * p.sv.row + int32_t(d)]) : 0.0f;
    }
    __syncthreads();
    float score[ROWS] = {};
    UNROLL
    for (int d = 0; d < HEAD; d++) {
      float one = sk[lane][d];
      UNROLL
      for (int r = 0; r < ROWS; r++) score[r] += sq[warp * ROWS + r][d] * one;
    }
    uint32_t key = start + lane;
    UNROLL
    for (int r = 0; r < ROWS; r++) {
      uint32_t row = first + warp * ROWS + r;
      float bias = row < p.queries && key < p.keys ? p.bias(batch, head, row, key) : -INFINITE;
      score[r] = key < p.keys ? p.scored(score[r]) + bias : -INFINITE;
      seen[r] |= __ballot_sync(0xffffffffu, bias != -INFINITE) != 0;
      float larger = max_nan(most[r], warp_reduce<Largest>(score[r]));
      float kept = p.kept(most[r], larger);
      float weight = p.weight(score[r], larger);
      most[r] = larger;
      sum[r] = sum[r] * kept + warp_reduce<Sum>(weight);
      score[r] = weight;
      UNROLL
      for (int c = 0; c < PARTS; c++) acc[r][c] *= kept;
    }
    UNROLL
    for (int j = 0; j < TILE; j++) {
      float one[PARTS];
      UNROLL
      for (int c = 0; c < PARTS; c++) one[c] = sv[j][c * 32 + lane];
      UNROLL
      for (int r = 0; r < ROWS; r++) {
        float weight = __shfl_sync(0xffffffffu, score[r], j);
        UNROLL
        for (int c = 0; c < PARTS; c++) acc[r][c] += weight * one[c];
      }
    }
  }
  T* out = p.out + p.so.at(batch, head);
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    uint32_t row = first + warp * ROWS + r;
    if (row >= p.queries) break;
    UNROLL
    for (int c = 0; c < PARTS; c++) {
      uint32_t d = c * 32 + lane;
      if (d < p.values) out[int32_t(row) * p.so.row + int32_t(d)] = from_f<T>(seen[r] ? acc[r][c] / sum[r] : 0.0f);
    }
  }
}
HOST_ENTRY(attention)
