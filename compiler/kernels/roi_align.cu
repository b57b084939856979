// Regions of an image cut into bins, each the mean or the largest of its samples, which lie between
// the elements.
#include "dialect/memory.cuh"
#include "dialect/index.cuh"
#include "dialect/reduce.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const T* regions;
  const INDEX* batch;
  T* out;
  int* status;
  uint32_t n, images, channels, height, width, out_height, out_width;
  int32_t ratio;
  float scale;
};
struct Neighbours { uint32_t low, high; ACC low_weight, high_weight; };

DEV Neighbours neighbours(ACC place, uint32_t size) {
  bool outside = place < ACC(-1) || place > ACC(size);
  ACC most = ACC(size) - ACC(1);
  place = place < ACC(0) ? ACC(0) : place > most ? most : place;
  uint32_t low = smaller(uint32_t(place), size - 1), high = smaller(low + 1, size - 1);
  ACC part = place - ACC(low);
  return outside ? Neighbours{low, high, ACC(0), ACC(0)} : Neighbours{low, high, ACC(1) - part, part};
}
KERNEL void __launch_bounds__(256) roi_align(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t column = i % p.out_width, row = i / p.out_width % p.out_height;
  uint32_t channel = i / p.out_width / p.out_height % p.channels, r = i / p.out_width / p.out_height / p.channels;
  ACC shift = HALF_PIXEL ? ACC(0.5) : ACC(0), corner[4];
  UNROLL
  for (int k = 0; k < 4; k++) corner[k] = ACC(value(p.regions[r * 4 + k])) * ACC(p.scale) - shift;
  ACC wide = corner[2] - corner[0], high = corner[3] - corner[1];
  if (!HALF_PIXEL) {
    wide = larger(wide, ACC(1));
    high = larger(high, ACC(1));
  }
  ACC step_y = high / ACC(p.out_height), step_x = wide / ACC(p.out_width);
  int32_t rows = p.ratio > 0 ? p.ratio : int32_t(ceil_(step_y)), columns = p.ratio > 0 ? p.ratio : int32_t(ceil_(step_x));
  const T* x = p.x + (checked_index(p.batch[r], p.images, p.status, r) * p.channels + channel) * p.height * p.width;
  ACC v = MAXIMUM ? lowest<ACC>() : ACC(0);
  for (int32_t a = 0; a < rows; a++) {
    Neighbours y = neighbours(corner[1] + ACC(row) * step_y + (ACC(a) + ACC(0.5)) * step_y / ACC(rows), p.height);
    for (int32_t b = 0; b < columns; b++) {
      Neighbours z = neighbours(corner[0] + ACC(column) * step_x + (ACC(b) + ACC(0.5)) * step_x / ACC(columns), p.width);
      ACC e[4] = {ACC(value(x[y.low * p.width + z.low])) * y.low_weight * z.low_weight,
                  ACC(value(x[y.low * p.width + z.high])) * y.low_weight * z.high_weight,
                  ACC(value(x[y.high * p.width + z.low])) * y.high_weight * z.low_weight,
                  ACC(value(x[y.high * p.width + z.high])) * y.high_weight * z.high_weight};
      UNROLL
      for (int k = 0; k < 4; k++) v = MAXIMUM ? max_nan(v, e[k]) : v + e[k];
    }
  }
  if (rows <= 0 || columns <= 0) v = ACC(0);
  else if (!MAXIMUM) v /= ACC(rows * columns);
  p.out[i] = from<T>::f(v);
}
HOST_ENTRY(roi_align)
