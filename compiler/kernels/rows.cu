// Normalizations of rows: softmax, log-softmax, to mean 0 and (or) variance 1, and to norm 1 or maximum 1 (a
// row of zeros stays); scale and bias are the epilogue's. A row is `columns` elements that lie `inner` apart; each step reads it again.
#include "dialect/memory.cuh"
#include "dialect/reduce.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  T_OUT* out;
  uint32_t rows, columns, inner;
  float epsilon;
};
enum { SOFTMAX, LOG_SOFTMAX, LAYER, RMS, NORM_1, NORM_2, NORM_MOST };
constexpr int STEP = WARPS * 32;

template <class F, class G> DEV float over_row(const T* x, uint32_t columns, uint32_t inner, G g) {
  float v = F::template none<float>();
  for (uint32_t e = threadIdx.x; e < columns; e += STEP) v = F::join(v, g(to_f(x[e * inner])));
  return block_reduce<F, WARPS>(v);
}
KERNEL void __launch_bounds__(STEP) rows(const Params p, const Epilogue epilogue) {
  uint32_t row = blockIdx.x, columns = p.columns, inner = p.inner;
  uint32_t base = row / inner * columns * inner + row % inner;
  const T* x = p.x + base;
  float shift = 0.0f, factor = 1.0f, unit = 1.0f;
  if constexpr (KIND == SOFTMAX || KIND == LOG_SOFTMAX) {
    shift = over_row<Largest>(x, columns, inner, [](float v) { return v; });
    float sum = over_row<Sum>(x, columns, inner, [&](float v) { return expf(v - shift); });
    factor = KIND == SOFTMAX ? sum : logf(sum);
  } else if constexpr (KIND == NORM_MOST) {
    factor = over_row<Largest>(x, columns, inner, [](float v) { return v; });
  } else if constexpr (KIND == NORM_1 || KIND == NORM_2) {
    float most = over_row<Largest>(x, columns, inner, [](float v) { return fabsf(v); });
    if (most > 0.0f && most < INFINITE) unit = most;  // sums neither overflow nor vanish
    float sum = over_row<Sum>(x, columns, inner, [&](float v) { return KIND == NORM_1 ? fabsf(v / unit) : v / unit * (v / unit); });
    factor = KIND == NORM_1 ? sum : sqrtf(sum);
  } else {
    if constexpr (KIND == LAYER) shift = over_row<Sum>(x, columns, inner, [](float v) { return v; }) / columns;
    float square = over_row<Sum>(x, columns, inner, [&](float v) { return (v - shift) * (v - shift); });
    factor = 1.0f / sqrtf(square / columns + p.epsilon);
  }
  for (uint32_t e = threadIdx.x; e < columns; e += STEP) {
    float v[1] = {to_f(x[e * inner]) - shift};
    if constexpr (KIND == SOFTMAX) v[0] = expf(v[0]) / factor;
    if constexpr (KIND == LOG_SOFTMAX) v[0] -= factor;
    if constexpr (KIND == NORM_1 || KIND == NORM_2) v[0] = factor == 0.0f ? 0.0f : v[0] / unit / factor;
    if constexpr (KIND == LAYER || KIND == RMS) v[0] *= factor;
    if constexpr (KIND == NORM_MOST) v[0] = factor == 0.0f ? v[0] : v[0] / factor;
    epilogue(v, base + e * inner);
    p.out[base + e * inner] = from_f<T_OUT>(v[0]);
  }
}
HOST_ENTRY(rows)
