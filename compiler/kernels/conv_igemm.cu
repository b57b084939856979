// Convolution of two axes as a matrix product that is never laid out: rows are output channels of a
// group, columns are (image, output row, output column), depth is (channel, kernel row, column).
#include "simt_tile.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const T* w;
  T_OUT* out;
  uint32_t images, channels, height, width, out_channels, out_height, out_width;
  uint32_t kernel_h, kernel_w, m, n, k;
  int32_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};
using Tile = SimtTile<BM, BN, BK, TM, TN, true, false>;

KERNEL void __launch_bounds__(Tile::THREADS) conv_igemm(const Params p, const Epilogue epilogue) {
  uint32_t group = blockIdx.z, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  uint32_t window = p.kernel_h * p.kernel_w, plane = p.out_height * p.out_width;
  uint32_t group_channels = p.k / window;
  const T* w = p.w + group * p.m * p.k;
  float acc[TM][TN] = {};
  auto image = [&](uint32_t k, uint32_t n) {
    if (k >= p.k || n >= p.n) return 0.0f;
    uint32_t c = k / window, tap = k - c * window, kh = tap / p.kernel_w, kw = tap - kh * p.kernel_w;
    uint32_t b = n / plane, at = n - b * plane, oh = at / p.out_width, ow = at - oh * p.out_width;
    int32_t h = int32_t(oh) * p.stride_h - p.pad_h + int32_t(kh) * p.dilation_h;
    int32_t v = int32_t(ow) * p.stride_w - p.pad_w + int32_t(kw) * p.dilation_w;
    if (h < 0 || v < 0 || h >= int32_t(p.height) || v >= int32_t(p.width)) return 0.0f;
    uint32_t channel = b * p.channels + group * group_channels + c;
    return to_f(p.x[(channel * p.height + uint32_t(h)) * p.width + uint32_t(v)]);
  };
  Tile::run(
      acc, [&](uint32_t m, uint32_t k) { return m < p.m && k < p.k ? to_f(w[m * p.k + k]) : 0.0f; }, image, m0, n0,
      p.k);
  uint32_t n = n0 + threadIdx.x % (BN / TN) * TN;
  UNROLL
  for (int i = 0; i < TM; i++) {
    uint32_t m = m0 + threadIdx.x / (BN / TN) * TM + i;
    if (m >= p.m) break;
    if constexpr (ALIGNED) {
      if (n >= p.n) break;
      uint32_t b = n / plane, at = (b * p.out_channels + group * p.m + m) * plane + n - b * plane;
      epilogue(acc[i], at);
      store<true>(p.out + at, acc[i]);
    } else {
      UNROLL
      for (int j = 0; j < TN; j++) {
        if (n + j >= p.n) break;
        uint32_t b = (n + j) / plane, at = (b * p.out_channels + group * p.m + m) * plane + n + j - b * plane;
        float v[1] = {acc[i][j]};
        epilogue(v, at);
        p.out[at] = from_f<T_OUT>(v[0]);
      }
    }
  }
}
HOST_ENTRY(conv_igemm)
