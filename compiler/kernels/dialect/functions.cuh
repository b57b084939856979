// Functions of elementwise expressions. Float16 and bfloat16 are computed in float32; float64 and
// integers as what they are, integers wrapping around.
#pragma once
#include "dialect/core.cuh"

#define FLOATING(NAME)                                \
  DEV float NAME##_(float x) { return NAME##f(x); }   \
  DEV double NAME##_(double x) { return NAME(x); }
FLOATING(fabs) FLOATING(acos) FLOATING(acosh) FLOATING(asin) FLOATING(asinh) FLOATING(atan) FLOATING(atanh)
FLOATING(ceil) FLOATING(cos) FLOATING(cosh) FLOATING(erf) FLOATING(erfc) FLOATING(exp) FLOATING(expm1)
FLOATING(floor) FLOATING(log) FLOATING(log1p) FLOATING(rint) FLOATING(sin) FLOATING(sinh) FLOATING(sqrt)
FLOATING(tan) FLOATING(tanh)
DEV float pow_(float a, float b) { return powf(a, b); }
DEV double pow_(double a, double b) { return pow(a, b); }
DEV float fmod_(float a, float b) { return fmodf(a, b); }
DEV double fmod_(double a, double b) { return fmod(a, b); }
template <class R> DEV R floor_mod(R a, R b) {  // with the sign of b
  R r = fmod_(a, b);
  return r != R(0) && (r < R(0)) != (b < R(0)) ? r + b : r;
}

// ---- without overflow or cancellation in their tails
template <class R> DEV R sigmoid(R x) {
  R e = exp_(-fabs_(x));
  return (x < R(0) ? e : R(1)) / (R(1) + e);
}
template <class R> DEV R softplus(R x) { return max_nan(x, R(0)) + log1p_(exp_(-fabs_(x))); }
template <class R> DEV R gelu_erf(R x) { return R(0.5) * x * erfc_(R(-0.70710678118654752) * x); }
template <class R> DEV R gelu_tanh(R x) { return x * sigmoid(R(1.5957691216057308) * (x + R(0.044715) * x * x * x)); }

// ---- integers
template <class T> struct wrapping { using type = uint32_t; };
template <> struct wrapping<int64_t> { using type = uint64_t; };
template <> struct wrapping<uint64_t> { using type = uint64_t; };
template <class T> using wrapped = typename wrapping<T>::type;
template <class T> DEV bool is_signed() { return T(-1) < T(0); }
template <class T> DEV T wrap_add(T a, T b) { return T(wrapped<T>(a) + wrapped<T>(b)); }
template <class T> DEV T wrap_sub(T a, T b) { return T(wrapped<T>(a) - wrapped<T>(b)); }
template <class T> DEV T wrap_mul(T a, T b) { return T(wrapped<T>(a) * wrapped<T>(b)); }
template <class T> DEV T plus(T a, T b) { return wrap_add(a, b); }
template <class T> DEV T times(T a, T b) { return wrap_mul(a, b); }
template <> DEV float plus<float>(float a, float b) { return a + b; }
template <> DEV float times<float>(float a, float b) { return a * b; }
template <> DEV double plus<double>(double a, double b) { return a + b; }
template <> DEV double times<double>(double a, double b) { return a * b; }
template <class T> DEV T negative(T a) { return wrap_sub(T(0), a); }
template <class T> DEV T magnitude(T a) { return a < T(0) ? negative(a) : a; }
template <class T> DEV T sign_of(T a) { return T((a > T(0)) - (a < T(0))); }
template <class T> DEV T divided(T a, T b) {  // towards zero; by zero it is zero
  if (b == T(0)) return T(0);
  return is_signed<T>() && b == T(-1) ? negative(a) : T(a / b);
}
template <class T> DEV T remainder_of(T a, T b) {  // with the sign of a
  return b == T(0) || (is_signed<T>() && b == T(-1)) ? T(0) : T(a % b);
}
template <class T> DEV T modulo(T a, T b) {  // with the sign of b
  T r = remainder_of(a, b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? wrap_add(r, b) : r;
}
template <class T, class E> DEV T power(T a, E e) {
  if (e < E(0)) return a == T(1) ? T(1) : is_signed<T>() && a == T(-1) ? (e & E(1) ? T(-1) : T(1)) : T(0);
  T r = T(1);
  for (; e; e = E(e >> 1), a = wrap_mul(a, a))
    if (e & E(1)) r = wrap_mul(r, a);
  return r;
}
template <class T> DEV T shift_left(T a, T n) { return wrapped<T>(n) >= 8 * sizeof(T) ? T(0) : T(wrapped<T>(a) << n); }
template <class T> DEV T shift_right(T a, T n) { return wrapped<T>(n) >= 8 * sizeof(T) ? T(a < T(0) ? -1 : 0) : T(a >> n); }

// ---- conversions
DEV float to_odd(double d) {  // a float32 from which a shorter type is rounded as from the float64
  float f = float(d);
  uint32_t bits = __float_as_uint(f);
  if (double(f) == d || d != d || (bits & 1u) || (bits & 0x7fffffffu) == 0x7f800000u) return f;
  return __uint_as_float(fabs(double(f)) > fabs(d) ? bits - 1 : bits + 1);
}
template <class T> DEV float single(T v) { return float(v); }
template <> DEV float single<double>(double v) { return to_odd(v); }
template <class To, class From> struct casting { DEV static To from(From v) { return To(v); } };
#define SHORT(TO, FROM) template <> struct casting<TO, FROM> { DEV static TO from(FROM v) { return TO(int64_t(v)); } };
SHORT(int8_t, float) SHORT(uint8_t, float) SHORT(int16_t, float) SHORT(uint16_t, float)
SHORT(int8_t, double) SHORT(uint8_t, double) SHORT(int16_t, double) SHORT(uint16_t, double)
template <class To, class From> DEV To cast_to(From v) { return casting<To, From>::from(v); }
