// Floats and integers of 8 bits and fewer that only storage has: a byte each, in its low bits.
#pragma once
#include "dialect/core.cuh"
#include "dialect/functions.cuh"

// BITS in all, MANTISSA of them of the fraction; TOP is the code of the largest finite number, INF and
// NOT_A_NUMBER those of what is not finite (TOP where a format has none). MOST_NEGATIVE: -0 is NaN.
template <int BITS, int MANTISSA, int BIAS, int TOP, int INF, int NOT_A_NUMBER, bool MOST_NEGATIVE> struct small_float {
  uint8_t bits;
  static constexpr uint32_t SIGN = 1u << (BITS - 1);
  DEV float decoded() const {
    uint32_t code = bits & (SIGN - 1), sign = (bits & SIGN) << (32 - BITS);
    if (MOST_NEGATIVE ? (bits & (2 * SIGN - 1)) == SIGN : NOT_A_NUMBER != TOP && code >= uint32_t(NOT_A_NUMBER)) return __uint_as_float(0x7fc00000u);
    if (INF != TOP && INF != NOT_A_NUMBER && code == uint32_t(INF)) return __uint_as_float(sign | 0x7f800000u);
    uint32_t exponent = code >> MANTISSA;
    if (exponent == 0) return __uint_as_float(sign | __float_as_uint(float(code) * __uint_as_float(uint32_t(128 - BIAS - MANTISSA) << 23)));
    return __uint_as_float(sign | (code << (23 - MANTISSA)) + (uint32_t(127 - BIAS) << 23));
  }
  DEV static small_float encoded(float v, bool saturate) {
    uint32_t all = __float_as_uint(v), x = all & 0x7fffffffu, sign = all >> 31 << (BITS - 1), code;
    if (x > 0x7f800000u) return small_float{uint8_t(MOST_NEGATIVE ? SIGN : NOT_A_NUMBER == TOP ? SIGN : sign | NOT_A_NUMBER)};
    if (x < (uint32_t(128 - BIAS) << 23))  // subnormal, or rounded up to the least normal number
      code = uint32_t(rintf(__uint_as_float(x) * __uint_as_float(uint32_t(126 + BIAS + MANTISSA) << 23)));
    else
      code = (x + ((1u << (22 - MANTISSA)) - 1u) + (x >> (23 - MANTISSA) & 1u) >> (23 - MANTISSA)) - (uint32_t(127 - BIAS) << MANTISSA);
    if (code > uint32_t(TOP)) {
      if (MOST_NEGATIVE && !saturate) return small_float{uint8_t(SIGN)};
      code = saturate ? TOP : INF;
    }
    if (MOST_NEGATIVE && code == 0) sign = 0;
    return small_float{uint8_t(sign | code)};
  }
};
using e4m3_t = small_float<8, 3, 7, 0x7e, 0x7f, 0x7f, false>;
using e5m2_t = small_float<8, 2, 15, 0x7b, 0x7c, 0x7d, false>;
using e4m3z_t = small_float<8, 3, 8, 0x7f, 0x7f, 0x7f, true>;
using e5m2z_t = small_float<8, 2, 16, 0x7f, 0x7f, 0x7f, true>;
using e2m1_t = small_float<4, 1, 1, 7, 7, 7, false>;
using e2m3_t = small_float<6, 3, 1, 31, 31, 31, false>;
using e3m2_t = small_float<6, 2, 3, 31, 31, 31, false>;
struct e8m0_t {
  uint8_t bits;
  DEV float decoded() const {
    return __uint_as_float(bits == 255 ? 0x7fc00000u : bits == 0 ? 0x00400000u : uint32_t(bits) << 23);
  }
  // The power of two above (ROUNDING 0), below (1) or next to (2) a magnitude.
  DEV static e8m0_t encoded(float v, bool saturate, int rounding) {
    uint32_t x = __float_as_uint(v) & 0x7fffffffu;
    if (x > 0x7f800000u) return e8m0_t{255};
    bool below = x < 0x00400000u, infinite = x == 0x7f800000u;
    int32_t exponent = int32_t(x >> 23);
    uint32_t rest = x & 0x7fffffu;
    if (exponent == 0) {  // between 2^-127 and 2^-126
      rest = (x & 0x3fffffu) << 1;
      if (below && x) {  // its exponent is less by one at least; only one less can be rounded up to 2^-127
        exponent = x >= 0x00200000u ? -1 : -2;
        rest = x == 0x00200000u ? 0 : x >= 0x00300000u ? 0x400000u : 1u;
      }
    }
    if (rounding == 0 ? rest != 0 : rounding == 2 ? rest >= 0x400000u : false) exponent++;
    below = x == 0 || exponent < 0;
    bool above = infinite || exponent > 254;
    if (!saturate && (below || above)) return e8m0_t{255};
    return e8m0_t{uint8_t(below ? 0 : above ? 254 : exponent)};
  }
};
template <int BITS, bool SIGNED> struct small_int {
  uint8_t bits;
  static constexpr uint32_t TOP = 1u << (BITS - 1), ALL = (1u << BITS) - 1u;
};
using int4_t = small_int<4, true>;
using uint4_t = small_int<4, false>;
using int2_t = small_int<2, true>;
using uint2_t = small_int<2, false>;

template <int A, int B, int C, int D, int E, int F, bool G> DEV float value(small_float<A, B, C, D, E, F, G> v) { return v.decoded(); }
DEV float value(e8m0_t v) { return v.decoded(); }
template <int BITS, bool SIGNED> DEV int32_t value(small_int<BITS, SIGNED> v) {
  using T = small_int<BITS, SIGNED>;
  uint32_t code = v.bits & T::ALL;
  return SIGNED ? int32_t(code ^ T::TOP) - int32_t(T::TOP) : int32_t(code);
}
template <int A, int B, int C, int D, int E, int F, bool G> struct from<small_float<A, B, C, D, E, F, G>> {
  DEV static small_float<A, B, C, D, E, F, G> f(float v) { return small_float<A, B, C, D, E, F, G>::encoded(v, false); }
};
template <> struct from<e8m0_t> { DEV static e8m0_t f(float v) { return e8m0_t::encoded(v, true, 1); } };
template <int BITS, bool SIGNED> struct from<small_int<BITS, SIGNED>> {
  DEV static small_int<BITS, SIGNED> f(int32_t v) { return small_int<BITS, SIGNED>{uint8_t(uint32_t(v) & small_int<BITS, SIGNED>::ALL)}; }
};
// What a number becomes in a small format, still computed as a float32.
template <class T> DEV float rounded_to(float v, bool saturate) { return T::encoded(v, saturate).decoded(); }
DEV float rounded_exponent(float v, bool saturate, int rounding) { return e8m0_t::encoded(v, saturate, rounding).decoded(); }
