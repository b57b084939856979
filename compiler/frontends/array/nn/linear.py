"""Dense layers, embeddings and attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.functions import function
from isomorph.frontends.array.operators import op


def linear(x: Any, w: Any, b: Any = None) -> Any:
    """x·wᵀ + b: x[…, in], w[out, in], b[out] → […, out], the layout that torch trains.

    Source: ONNX Gemm for two axes, MatMul and Add for more.
    """
    if len(x.shape) == 2:
        return op("Gemm", x, w, *(() if b is None else (b,)), transB=1)
    y = np.matmul(x, np.transpose(w))
    return y if b is None else y + b


def embedding(indices: Any, weight: Any) -> Any:
    """Rows of a table: indices[…] of integers, weight[n, d] → […, d]. Source: ONNX Gather."""
    return op("Gather", weight, _int64(indices), axis=0)


def _int64(indices: Any) -> Any:
    return indices if indices.dtype in (np.int32, np.int64) else indices.astype(np.int64)


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
) -> Any:
    """Scaled dot-product attention: q[…, L, E], k[…, S, E], v[…, S, D] → […, L, D].

    `mask` broadcasts to [..., L, S]: bools keep what is true, floats are added. `causal` keeps
    positions up to each one's own. `scale` is 1/√E by default.
    Source: ONNX MatMul, Softmax, Where.
    """
    if scale is None:
        width = q.shape[-1]
        if not isinstance(width, int):
            raise TraceError("attention over an open feature axis", "scale=…")
        scale = 1 / math.sqrt(width)
    scores = np.matmul(q * scale, np.swapaxes(k, -1, -2))
    if causal:
        kept = _causal(q.shape[-2], k.shape[-2])
        scores = np.where(kept, scores, -math.inf)
    if mask is not None:
        kept = mask.dtype == np.bool_
        scores = np.where(mask, scores, -math.inf) if kept else scores + mask
    return np.matmul(op("Softmax", scores, axis=-1), v)


scaled_dot_product_attention = attention


def _causal(rows: Any, columns: Any) -> Any:
    """True up to the diagonal."""
    arange, expand = function("arange"), function("expand_dims")
    assert arange is not None  # noqa: S101 - both are numpy's
    assert expand is not None  # noqa: S101
    return expand(arange(columns), 0) <= expand(arange(rows), 1)
