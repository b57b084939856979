// Batch normalization while training: a block per channel finds its mean and variance, normalizes by
// them, and moves the running ones.
#include "dialect/memory.cuh"
#include "dialect/reduce.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const S* scale;
  const S* shift;
  const R* mean;
  const R* variance;
  T* out;
  R* new_mean;
  R* new_variance;
  uint32_t images, channels, inner;
  float epsilon, momentum;
};

KERNEL void __launch_bounds__(256) batch_norm(const Params p) {
  uint32_t channel = blockIdx.x, count = p.images * p.inner;
  auto at = [&](uint32_t e) { return (e / p.inner * p.channels + channel) * p.inner + e % p.inner; };
  float sum = 0.0f, square = 0.0f;
  for (uint32_t e = threadIdx.x; e < count; e += 256) sum += to_f(p.x[at(e)]);
  float mean = block_reduce<Sum, 8>(sum) / float(count);
  for (uint32_t e = threadIdx.x; e < count; e += 256) {
    float v = to_f(p.x[at(e)]) - mean;
    square += v * v;
  }
  float variance = block_reduce<Sum, 8>(square) / float(count);
  float factor = 1.0f / sqrtf(variance + p.epsilon), scale = to_f(p.scale[channel]), shift = to_f(p.shift[channel]);
  for (uint32_t e = threadIdx.x; e < count; e += 256)
    p.out[at(e)] = from_f<T>((to_f(p.x[at(e)]) - mean) * factor * scale + shift);
  if (threadIdx.x == 0) {
    if (p.new_mean) p.new_mean[channel] = from_f<R>(to_f(p.mean[channel]) * p.momentum + mean * (1.0f - p.momentum));
    if (p.new_variance) p.new_variance[channel] = from_f<R>(to_f(p.variance[channel]) * p.momentum + variance * (1.0f - p.momentum));
  }
}
HOST_ENTRY(batch_norm)
