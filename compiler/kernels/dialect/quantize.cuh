// Rounding to integers and to small floats, scaled and moved by a zero point.
#pragma once
#include "dialect/narrow.cuh"
#include "dialect/reduce.cuh"

template <class T> struct whole { DEV static float low() { return float(lowest<T>()); } DEV static float high() { return float(highest<T>()); } };
template <int BITS, bool SIGNED> struct whole<small_int<BITS, SIGNED>> {
  DEV static float low() { return SIGNED ? -float(1 << (BITS - 1)) : 0.0f; }
  DEV static float high() { return float((1 << (BITS - SIGNED)) - 1); }
};
template <class T> struct quantizing {  // to nearest, ties to even; then moved, and saturated; 0 of NaN
  DEV static T f(float v, float zero, bool) {
    float moved = rintf(v) + zero;
    if (is_nan(moved)) moved = 0.0f;
    return from<T>::f(int32_t(smaller(larger(moved, whole<T>::low()), whole<T>::high())));
  }
};
template <int A, int B, int C, int D, int E, int F, bool G> struct quantizing<small_float<A, B, C, D, E, F, G>> {
  using T = small_float<A, B, C, D, E, F, G>;
  DEV static T f(float v, float zero, bool saturate) { return T::encoded(zero == 0.0f ? v : v + zero, saturate); }
};

// Which scale belongs to an element: one for all, one per index of an axis, or one per block of it.
struct spread {
  uint32_t inner, axis, block, outer_step, axis_step, inner_step;
  DEV uint32_t at(uint32_t i) const {
    uint32_t rest = i / inner;
    return rest / axis * outer_step + rest % axis / block * axis_step + i % inner * inner_step;
  }
};
