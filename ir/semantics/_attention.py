"""Attention step by step: every stage of it stays at hand for whoever bounds its errors.

Sums are taken in float32 at least, and in float64 where an operand is that wide; every stage is
stored in the type of Q, in which it may overflow. What the definition leaves to prose is taken from
its function body, which is normative: a mask's numbers are first rounded to the type of Q, and
`softcap` counts wherever it is not 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.ir.semantics import Call

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Stages:
    """What one evaluation of Attention goes through; heads of K and V are repeated for Q's.

    Attributes:
        queries, keys, values: of shape (batch, heads, length, size).
        scale: factor of the scores.
        present_key, present_value: keys and values after the past ones, as they are stored.
        raw: scaled products (batch, heads, queries, keys).
        capped: the same after `softcap`.
        bias: what masks add, broadcastable to the scores; `None` when nothing is masked.
        scores: `capped` and `bias`.
        weights: their softmax; zero where a row has no key left.
        result: (batch, heads, queries, size of values).
    """

    queries: Array
    keys: Array
    values: Array
    scale: float
    present_key: Array
    present_value: Array
    raw: Array
    capped: Array
    bias: Array | None
    scores: Array
    weights: Array
    result: Array


def attend(
    call: Call,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    nonpad: Any = None,
) -> Stages:
    """Attention, in any of its versions.

    Raises:
        TypeInferenceError: when operands do not fit each other.
    """
    if (past_key is None) != (past_value is None):
        raise TypeInferenceError(f"{call.op.where}: past_key without past_value, or the reverse")
    q_heads, kv_heads = call.attr("q_num_heads"), call.attr("kv_num_heads")
    q = split_heads(call, q, q_heads)
    present_key, present_value = (split_heads(call, x, kv_heads) for x in (k, v))
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        present_key = np.concatenate((past_key, present_key), 2)
        present_value = np.concatenate((past_value, present_value), 2)
    narrow = q.dtype
    compute = np.result_type(*(n.up(x) for x in (q, present_key, present_value)))
    queries, keys, values = (
        n.up(x).astype(compute, copy=False) for x in (q, present_key, present_value)
    )
    batch, kv_heads, total, size = keys.shape
    call.fitting(queries, (batch, *queries.shape[1:3], size))
    call.fitting(values, (batch, kv_heads, total, values.shape[3]))
    groups = _groups(call, queries.shape[1], kv_heads)
    if groups != 1:
        keys, values = np.repeat(keys, groups, 1), np.repeat(values, groups, 1)
    scale = call.attr("scale")
    if scale is None:
        scale = 1 / np.sqrt(float(max(queries.shape[3], 1)))
    root = compute.type(np.sqrt(scale))

    def stored(stage: Array) -> Array:
        return n.up(stage.astype(narrow, copy=False)).astype(compute, copy=False)

    turned = np.swapaxes(keys, 2, 3)
    raw = stored(np.matmul(stored(queries * root), stored(turned * root)))
    cap = compute.type(call.attr("softcap", 0.0))
    capped = raw if cap == 0 else stored(cap * np.tanh(raw / cap))
    length = queries.shape[2]
    bias: Array | None = None
    zero, lowest = np.zeros((), compute), np.full((), -np.inf, compute)
    if mask is not None:
        mask = _padded(call, np.asarray(mask), total)
        bias = np.where(mask, zero, lowest) if mask.dtype == bool else stored(mask)
    if nonpad is not None:
        call.fitting(nonpad, queries.shape[:1])
    for allowed in _windows(call, length, total, past, nonpad):
        added = np.where(allowed, zero, lowest)
        bias = added if bias is None else bias + added
    scores = capped if bias is None else call.fitting(stored(capped + bias), raw.shape)
    weights = stored(_softmax(call, scores))
    if bias is not None:
        emptied = bias.max(-1, keepdims=True, initial=-np.inf) == -np.inf
        weights = np.where(emptied, zero, weights)
    result = np.matmul(weights, values)
    return Stages(
        queries,
        keys,
        values,
        float(scale),
        present_key,
        present_value,
        raw,
        capped,
        bias,
        scores,
        weights,
        result,
    )


def split_heads(call: Call, x: Any, heads: int | None) -> Array:
    """(batch, length, heads · size) as (batch, heads, length, size); rank 4 stays as it is."""
    x = np.asarray(x)
    if x.ndim == 4:
        return x
    if x.ndim != 3 or not heads or x.shape[2] % heads:
        raise TypeInferenceError(
            f"{call.op.where}: an operand of shape {x.shape} does not split into {heads} heads"
        )
    batch, length, hidden = x.shape
    return x.reshape(batch, length, heads, hidden // heads).transpose(0, 2, 1, 3)


def join_heads(x: Array) -> Array:
    """(batch, heads, length, size) as (batch, length, heads · size)."""
    batch, heads, length, size = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * size)


def _groups(call: Call, queries: int, keys: int) -> int:
    """How many query heads share a head of the keys."""
    if not keys or queries % keys:
        raise TypeInferenceError(
            f"{call.op.where}: {queries} query heads cannot share {keys} heads of keys"
        )
    return queries // keys


def _padded(call: Call, mask: Array, total: int) -> Array:
    """Since version 24 a mask for fewer keys leaves out the others; before, it broadcasts."""
    if call.op.version < 24 or not mask.ndim or mask.shape[-1] >= total:
        return mask
    lowest = False if mask.dtype == bool else -np.inf
    wide = mask if mask.dtype == bool else n.up(mask)
    wide = wide.astype(np.float64) if wide.dtype.kind in "iu" else wide
    rest = np.full((*mask.shape[:-1], total - mask.shape[-1]), lowest, wide.dtype)
    return np.concatenate((wide, rest), -1)


def _windows(call: Call, length: int, total: int, past: int, nonpad: Any) -> list[Array]:
    """Which keys each query may see, by causality, by window, and by how many are valid."""
    offset = np.asarray(past)
    if nonpad is not None:
        nonpad = np.asarray(nonpad).reshape(-1, 1, 1, 1)
        offset = nonpad - length
    place = np.arange(length).reshape(-1, 1) + offset
    key = np.arange(total)
    found: list[Array] = []
    if call.attr("is_causal", 0):
        found.append(key <= place)
    left, right = call.attr("left_window_size", -1), call.attr("right_window_size", -1)
    if left >= 0:
        found.append(place - key <= left)
    if right >= 0:
        found.append(key - place <= right)
    if nonpad is not None:
        found.append(key < nonpad)
    return found


def _softmax(call: Call, scores: Array) -> Array:
    """Along the keys, in the precision that `softmax_precision` names."""
    named = call.attr("softmax_precision")
    if named is None:
        return n.softmax(scores, -1)
    dtype = call.float_dtype(DType(named))
    found = n.softmax(n.up(scores.astype(dtype)), -1).astype(dtype)
    return n.up(found).astype(scores.dtype)
