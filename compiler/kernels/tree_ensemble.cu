// Decision trees: one thread per row and target walks down every tree, and counts what its leaves vote.
#include "dialect/core.cuh"
#include "dialect/functions.cuh"
#include "spec.cuh"

struct Params {
  const T* x;
  const int32_t* nodes;  // of each: mode, feature, follower if true, if false, way of NaN, members' start, end
  const ACC* split;
  const ACC* members;
  const int32_t* roots;
  const int32_t* votes;  // where those of each node begin, and end
  const int32_t* target;
  const ACC* weight;
  const ACC* base;
  ACC* out;
  uint32_t n, targets, features, trees, bases;
};
enum { AVERAGE, SUM, LEAST, MOST };
enum { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER };

KERNEL void __launch_bounds__(256) tree_ensemble(const Params p) {
  uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n) return;
  uint32_t row = i / p.targets;
  int32_t target = int32_t(i % p.targets);
  ACC total = HOW == LEAST ? ACC(INFINITE) : HOW == MOST ? -ACC(INFINITE) : ACC(0);
  bool voted = false;
  for (uint32_t t = 0; t < p.trees; t++) {
    int32_t at = p.roots[t];
    for (;;) {
      const int32_t* node = p.nodes + at * 7;
      int32_t mode = node[0];
      if (mode < 0) break;
      ACC v = ACC(value(p.x[row * p.features + uint32_t(node[1])])), s = p.split[at];
      bool taken = mode == LEQ ? v <= s : mode == LT ? v < s : mode == GTE ? v >= s : mode == GT ? v > s : mode == EQ ? v == s : mode == NEQ && v != s;
      if (mode == MEMBER)
        for (int32_t m = node[5]; m < node[6]; m++) taken = taken || p.members[m] == v;
      if (is_nan(v)) taken = node[4] || mode == NEQ;
      at = taken ? node[2] : node[3];
    }
    for (int32_t k = p.votes[at]; k < p.votes[at + 1]; k++) {
      if (p.target[k] != target) continue;
      ACC w = p.weight[k];
      voted = true;
      total = HOW == LEAST ? min_nan(total, w) : HOW == MOST ? max_nan(total, w) : total + w;
    }
  }
  if (!voted) total = ACC(0);
  if (HOW == AVERAGE) total /= ACC(p.trees);
  p.out[i] = p.bases ? total + p.base[p.bases == 1 ? 0 : target] : total;
}
HOST_ENTRY(tree_ensemble)
