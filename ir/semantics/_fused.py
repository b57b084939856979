"""What onnxruntime's optimizer makes of several operators: sums with an activation, normal sums.

Everything is computed in float32 at least, and rounded once. Source: "Contrib Operator Schemas",
docs/ContribOperators.md of onnxruntime; where that is silent, what its CPU kernels were measured to
do is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.semantics._accumulate import accumulate
from isomorph.ir.semantics._activation import activation_of
from isomorph.ir.semantics._attention import join_heads, split_heads
from isomorph.ir.semantics.attention import rotate
from isomorph.ir.semantics.convolution import convolve
from isomorph.ir.semantics.linear import gemm
from isomorph.ir.semantics.normalization import standardize
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.ir.semantics import Call

    Array = np.ndarray[Any, Any]


def fused_conv(call: Call, x: Any, w: Any, bias: Any = None, added: Any = None) -> Array:
    """FusedConv: the sums, what is added to them, the activation."""
    sums = convolve(call, accumulate(x), accumulate(w))
    if bias is not None:
        each = accumulate(call.fitting(bias, sums.shape[1:2]))
        sums = sums + each.reshape(-1, *(1,) * (sums.ndim - 2))
    if added is not None:
        if added.shape != sums.shape:
            raise TypeInferenceError(
                f"{call.op.where}: Z has shape {added.shape}, {sums.shape} was expected"
            )
        sums = sums + accumulate(added)
    return _activated(call, sums, x)


def fused_gemm(call: Call, a: Any, b: Any, c: Any = None) -> Array:
    """FusedGemm: the same of a product of matrices."""
    sums = gemm(call, accumulate(a), accumulate(b), None if c is None else accumulate(c))
    return _activated(call, sums, a)


def _activated(call: Call, sums: Array, like: Any) -> Array:
    found = activation_of(call.op)
    return n.like(sums if found is None else found(sums, wide=call.wide), like)


# -- normalizations -------------------------------------------------------------------------------


def skip_normalization(
    call: Call, x: Any, skip: Any, gamma: Any, beta: Any = None, bias: Any = None
) -> tuple[Array, ...]:
    """SkipLayerNormalization: of input + skip + bias, along the last axis."""
    total = skipped(call, x, skip, bias)
    normal, mean, factor = standardize(total, (-1,), call.attr("epsilon"))
    y = normal * n.up(_along_last(call, total, gamma))
    if beta is not None:
        y = y + n.up(_along_last(call, total, beta))
    return _with_statistics(call, x, y, mean, factor, total)


def skip_simplified(
    call: Call, x: Any, skip: Any, gamma: Any, bias: Any = None
) -> tuple[Array, ...]:
    """SkipSimplifiedLayerNormalization: by the root of the mean square, so that the mean is 0."""
    total = skipped(call, x, skip, bias)
    factor = _inverse_root(total, (-1,), call.attr("epsilon"))
    y = total * factor * n.up(_along_last(call, total, gamma))
    return _with_statistics(call, x, y, np.zeros_like(factor), factor, total)


def simplified_normalization(call: Call, x: Any, scale: Any) -> tuple[Array, Array]:
    """SimplifiedLayerNormalization: the axes from `axis` on, in the type of the scale."""
    a, own = n.up(x), n.up(scale)
    a = a.astype(np.result_type(a, own), copy=False)
    axes = tuple(range(call.attr("axis", -1) % a.ndim, a.ndim))
    factor = _inverse_root(a, axes, call.attr("epsilon"))
    stash = call.float_dtype(DType(call.attr("stash_type", 1)))
    return n.like(a * factor * own, scale), factor.astype(stash)


def _along_last(call: Call, x: Array, vector: Any) -> Any:
    """A vector with one number for each index of the last axis."""
    return call.fitting(vector, x.shape[-1:])


def _inverse_root(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    return 1 / np.sqrt((x * x).mean(axes, keepdims=True) + epsilon)


def skipped(call: Call, x: Any, skip: Any, bias: Any) -> Array:
    """The sum that is normalized; a skip of one batch, or of none, is that of every batch."""
    a, b = n.up(x), n.up(skip)
    fits = a.shape[-2:] == b.shape[-2:] and b.shape[:-2] in (a.shape[:-2], (), (1,))
    if not fits or b.ndim > a.ndim:
        raise TypeInferenceError(
            f"{call.op.where}: a skip of shape {b.shape} for an input of shape {a.shape}"
        )
    return a + b if bias is None else a + b + n.up(_along_last(call, a, bias))


def _with_statistics(
    call: Call, x: Any, y: Array, mean: Array, factor: Array, total: Array
) -> tuple[Array, ...]:
    stored = call.float_dtype(DType.FLOAT32)
    return n.like(y, x), mean.astype(stored), factor.astype(stored), n.like(total, x)


def embed_normalization(
    call: Call,
    words: Any,
    segments: Any,
    word_table: Any,
    place_table: Any,
    segment_table: Any,
    gamma: Any,
    beta: Any,
    mask: Any = None,
    places: Any = None,
) -> tuple[Array, Array, Array]:
    """EmbedLayerNormalization.

    Without segment_ids, every word is of segment 0. The index of a mask counts its ones; it is 0
    without a mask.
    """
    total = embedded(call, words, segments, word_table, place_table, segment_table, places)
    normal, _, _ = standardize(total, (-1,), call.attr("epsilon"))
    y = normal * n.up(_along_last(call, total, gamma)) + n.up(_along_last(call, total, beta))
    counts = np.zeros(words.shape[:1], np.int32)
    if mask is not None:
        counts = (np.asarray(call.fitting(mask, words.shape)) == 1).sum(1).astype(np.int32)
    return n.like(y, word_table), counts, n.like(total, word_table)


def embedded(
    call: Call,
    words: Any,
    segments: Any,
    word_table: Any,
    place_table: Any,
    segment_table: Any,
    places: Any,
) -> Array:
    """The sum of what is looked up: (batch, length, hidden)."""
    index = np.arange(int(words.shape[1]))[None] if places is None else np.asarray(places)
    total = _looked_up(call, "word", word_table, words)
    total = total + _looked_up(call, "position", place_table, index)
    if segment_table is None:
        return total
    segments = np.zeros(words.shape, np.int32) if segments is None else segments
    return total + _looked_up(call, "segment", segment_table, segments)


def _looked_up(call: Call, name: str, table: Any, index: Any) -> Array:
    rows, wanted = len(table), np.asarray(index)
    wrong = wanted[(wanted < 0) | (wanted >= rows)]
    if wrong.size:
        raise TypeInferenceError(
            f"{call.op.where}: index {wrong[0]} into the {name} embedding, which has {rows} rows"
        )
    return n.up(table)[wanted]


# -- rotation -------------------------------------------------------------------------------------


def rotary(call: Call, x: Any, places: Any, cos: Any, sin: Any) -> Array:
    """RotaryEmbedding: pairs of numbers of each head turned by the angles of their position.

    One position is that of the first of a row. `scale` is for angles that a run time would make
    itself beyond the given ones, which none does; `is_packed_batching` changes no number.
    """
    half = np.shape(call.fitting(cos, np.shape(sin)))[1]
    heads = call.attr("num_heads") or (x.shape[-1] // (2 * half) if half else 0)
    a = x if x.ndim == 4 else split_heads(call, x, heads)
    batch, length, size = int(a.shape[0]), int(a.shape[2]), int(a.shape[3])
    turned = call.attr("rotary_embedding_dim") or size
    if 2 * half != turned or turned > size:
        raise TypeInferenceError(
            f"{call.op.where}: {turned} of {size} numbers cannot be rotated by {half} angles"
        )
    index: Any = np.asarray(places)
    if index.size == 1 and index.ndim < 2:
        first = int(index.reshape(-1)[0])
        index = np.broadcast_to(np.arange(first, first + length), (batch, length))
    if index.shape != (batch, length):
        raise TypeInferenceError(
            f"{call.op.where}: position_ids of shape {index.shape}, {(batch, length)} was expected"
        )
    angles = [_looked_up(call, "angle", table, index) for table in (cos, sin)]
    found = rotate(a, *angles, interleaved=bool(call.attr("interleaved") or 0))
    return found if x.ndim == 4 else join_heads(found)
