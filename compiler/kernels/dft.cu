// out[k] = Σ x[j] e^(∓2πi jk / points) of each line along an axis, or of each frame of a signal; sums are
// float64, roots of unity a table.
#include "dialect/memory.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const T* window;
  const double* roots;  // cosine and sine of each
  T* out;
  uint32_t n, bins, inner, length, points;
  uint32_t frames, signal_step, frame_step;  // line l begins at l / frames · signal_step + l % frames · frame_step
};

KERNEL void __launch_bounds__(256) dft(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t in = i % p.inner, k = i / p.inner % p.bins, line = i / p.inner / p.bins;
  uint32_t base = line / p.frames * p.signal_step + line % p.frames * p.frame_step;
  double real = 0.0, imaginary = 0.0;
  for (uint32_t j = 0; j < p.length; j++) {
    uint32_t turn = uint32_t(uint64_t(j) * k % p.points), at = (base + j * p.inner + in) * PARTS;
    double c = p.roots[2 * turn], s = INVERSE ? p.roots[2 * turn + 1] : -p.roots[2 * turn + 1];
    double w = p.window ? double(value(p.window[j])) : 1.0;
    if (REAL_RESULT && j && 2 * j != p.points) w *= 2.0;  // its mirror image
    double a = double(value(p.x[at])) * w, b = PARTS == 2 ? double(value(p.x[at + PARTS - 1])) * w : 0.0;
    if (c != 0.0) {
      real += a * c;
      imaginary += b * c;
    }
    if (s != 0.0) {
      real -= PARTS == 2 ? b * s : 0.0;
      imaginary += a * s;
    }
  }
  if (INVERSE) {
    real /= double(p.points);
    imaginary /= double(p.points);
  }
  using V = decltype(value(p.x[0]));
  if (REAL_RESULT) {
    p.out[i] = from<T>::f(V(real));
  } else {
    p.out[2 * i] = from<T>::f(V(real));
    p.out[2 * i + 1] = from<T>::f(V(imaginary));
  }
}
HOST_ENTRY(dft)
