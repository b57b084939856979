// Maximum or average over windows of two axes; one thread per result.
#include "dialect/memory.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  T_OUT* out;
  uint32_t n, height, width, out_height, out_width;
  int32_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, end_h, end_w, dilation_h, dilation_w;
};

KERNEL void __launch_bounds__(256) pooling(const Params p, const Epilogue epilogue) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t ow = i % p.out_width, oh = i / p.out_width % p.out_height, plane = i / p.out_width / p.out_height;
  const T* x = p.x + plane * p.height * p.width;
  int32_t h0 = int32_t(oh) * p.stride_h - p.pad_h, w0 = int32_t(ow) * p.stride_w - p.pad_w;
  float v = MAXIMUM ? -INFINITE : 0.0f;
  int32_t inside = 0, framed = 0;
  for (int32_t r = 0; r < p.kernel_h; r++) {
    int32_t h = h0 + r * p.dilation_h;
    for (int32_t c = 0; c < p.kernel_w; c++) {
      int32_t w = w0 + c * p.dilation_w;
      framed += h < int32_t(p.height) + p.end_h && w < int32_t(p.width) + p.end_w;
      if (h < 0 || w < 0 || h >= int32_t(p.height) || w >= int32_t(p.width)) continue;
      float e = to_f(x[h * int32_t(p.width) + w]);
      v = MAXIMUM ? max_nan(v, e) : v + e;
      inside++;
    }
  }
  if (!MAXIMUM) v /= float(COUNT_PADDING ? framed : inside);
  float out[1] = {v};
  epilogue(out, i);
  p.out[i] = from_f<T_OUT>(out[0]);
}
HOST_ENTRY(pooling)
