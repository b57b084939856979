// Indices that only the device knows.
#pragma once
#include "dialect/core.cuh"
#include "dialect/functions.cuh"

// An index from the end is negative. One out of range is brought to the nearest valid one, and leaves
// its position + 1 in `status`, which the host reads when all is done.
template <class I> DEV uint32_t checked_index(I given, uint32_t size, int* status, uint32_t position) {
  int64_t at = int64_t(given), end = size;
  if (at < 0) at += end;
  if (at < 0 || at >= end) {
    atomicMax(status, int(position) + 1);
    at = at < 0 ? 0 : end - 1;
  }
  return uint32_t(at);
}
// What a scattered update does to an element.
enum { REPLACE, PLUS, TIMES, GREATEST, LEAST };
template <int KIND, class T> DEV T updated(T old, T update) {
  if constexpr (KIND == REPLACE) return update;
  auto a = value(old), b = value(update);
  using V = decltype(a);
  if constexpr (KIND == PLUS) return from<T>::f(plus(a, b));
  if constexpr (KIND == TIMES) return from<T>::f(times(a, b));
  if constexpr (KIND == GREATEST) return from<T>::f(V(max_nan(a, b)));
  if constexpr (KIND == LEAST) return from<T>::f(V(min_nan(a, b)));
}
