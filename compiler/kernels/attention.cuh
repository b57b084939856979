// What kernels of attention share: operands by batch, head and row, and which keys a query sees.
#pragma once
#include "dialect/memory.cuh"

struct Strides {
  int32_t batch, head, row;
  DEV int32_t at(uint32_t b, uint32_t h) const { return int32_t(b) * batch + int32_t(h) * head; }
};
template <class T, class M> struct Attention {
  const T* q;
  const T* k;
  const T* v;
  const M* mask;
  const int64_t* valid;
  T* out;
  uint32_t groups, queries, keys, size, values, masked;  // `masked`: keys that the mask has
  Strides sq, sk, sv, so, sm;
  int32_t column, past, causal, left, right;
  float scale, cap;

  // What is added to a score: -inf where the key is hidden from the query.
  DEV float bias(uint32_t batch, uint32_t head, uint32_t row, uint32_t key) const {
    int64_t place = int64_t(row) + past;
    if (valid) {
      int64_t count = valid[batch];
      if (int64_t(key) >= count) return -INFINITE;
      place = int64_t(row) + count - queries;
    }
    int64_t ahead = int64_t(key) - place;
    if ((causal && ahead > 0) || (left >= 0 && -ahead > left) || (right >= 0 && ahead > right)) return -INFINITE;
    if (!mask) return 0.0f;
    if (key >= masked) return -INFINITE;
    return added(mask[sm.at(batch, head) + int32_t(row) * sm.row + int32_t(key) * column]);
  }
  DEV static float added(bool_t open) { return open.byte ? 0.0f : -INFINITE; }
  template <class E> DEV static float added(E number) { return to_f(number); }
  DEV float scored(float product) const {
    float s = product * scale;
    return cap == 0.0f ? s : cap * tanhf(s / cap);
  }
  // What a row's new maximum leaves of its sums, and the weight of a score under it.
  DEV static float kept(float before, float most) { return most == -INFINITE ? 1.0f : expf(before - most); }
  DEV static float weight(float score, float most) { return most == -INFINITE ? 0.0f : expf(score - most); }
};
