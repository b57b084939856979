// How often each n-gram of a pool occurs in each row of tokens, with gaps between its words as far as
// they may skip; one thread per row and column of the result.
#include "dialect/core.cuh"
#include "dialect/functions.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const int64_t* pool;
  const int32_t* grams;    // of each its place in the pool, and its length
  const float* weight;
  const int32_t* columns;  // where the n-grams of each column begin, and end
  float* out;
  uint32_t n, width, words, least, most, skips;
};

KERNEL void __launch_bounds__(256) tf_idf(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t column = i % p.width;
  const T* row = p.x + i / p.width * p.words;
  float sum = 0.0f;
  for (int32_t g = p.columns[column]; g < p.columns[column + 1]; g++) {
    const int64_t* gram = p.pool + p.grams[2 * g];
    uint32_t length = uint32_t(p.grams[2 * g + 1]), count = 0;
    if (length < p.least || length > p.most || length > p.words) continue;
    uint32_t reach = length > 1 ? (p.words - 1) / (length - 1) : 1;
    for (uint32_t distance = 1; distance <= smaller(p.skips + 1, reach); distance++)
      for (uint32_t start = 0; start + distance * (length - 1) < p.words; start++) {
        bool same = true;
        for (uint32_t k = 0; k < length && same; k++) same = int64_t(row[start + k * distance]) == gram[k];
        count += same;
      }
    sum += (SEEN_ONCE ? float(count > 0) : float(count)) * p.weight[g];
  }
  p.out[i] = sum;
}
HOST_ENTRY(tf_idf)
