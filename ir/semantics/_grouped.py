"""GroupQueryAttention of onnxruntime's own domain, taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import UnsupportedError
from isomorph.ir.semantics import _multihead as m
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.semantics._attention import split_heads

if TYPE_CHECKING:
    from isomorph.ir.semantics import Call

    Array = np.ndarray[Any, Any]

FURTHEST = 1 << 22
"""Keys that a sequence may have had, most of which were dropped."""


def grouped(
    call: Call,
    q: Any,
    k: Any,
    v: Any,
    past_key: Any,
    past_value: Any,
    lengths: Any,
    total: Any,
    cos: Any = None,
    sin: Any = None,
    places: Any = None,
    added: Any = None,
    sink: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    q_norm: Any = None,
    k_norm: Any = None,
) -> m.Parts:
    """GroupQueryAttention: each sequence has as many keys as `seqlens_k` says, and one.

    Raises:
        TypeInferenceError: where lengths or positions do not fit the operands.
        UnsupportedError: where the cache is quantized, or drops keys of a sequence that is longer
            than `FURTHEST`.
    """
    kinds = {str(call.attr(name, "NONE")) for name in ("k_quant_type", "v_quant_type")}
    if kinds != {"NONE"} or k_scale is not None or v_scale is not None:
        raise UnsupportedError(f"{call.op}: a quantized cache is not evaluated here")
    heads, groups = int(call.attr("num_heads")), int(call.attr("kv_num_heads"))
    if k is None:
        size = q.shape[2] // (heads + 2 * groups)
        q, k, v = np.split(q, ((heads * size), (heads + groups) * size), 2)
    queries = n.up(split_heads(call, q, heads))
    keys, values = (n.up(split_heads(call, x, groups)) for x in (k, v))
    batch, _, length, size = queries.shape
    for fresh in (keys, values):
        call.fitting(fresh, (batch, groups, keys.shape[2], size))
    room = 0 if past_key is None else past_key.shape[2]
    count = int(np.asarray(total).reshape(-1)[0])
    each = np.asarray(lengths).reshape(-1).astype(np.int64) + 1
    new = keys.shape[2]
    slides = _slides(call, room)
    if slides and count > FURTHEST:
        raise UnsupportedError(f"{call.op}: {count} keys; up to {FURTHEST} are evaluated")
    _check(call, each, count, count if slides else room, batch, length, new)
    prompt = length == count
    if q_norm is not None:
        queries, keys = (_normalized(call, x, w) for x, w in ((queries, q_norm), (keys, k_norm)))
    before = np.zeros(batch, np.int64) if prompt else each - new
    first = np.zeros(batch, np.int64) if prompt else each - length
    if call.attr("do_rotary"):
        where = _places(call, places, first, length, prompt=prompt)
        cos, sin = np.asarray(cos), np.asarray(sin)
        if where.size and not 0 <= where.min() <= where.max() < min(len(cos), len(sin)):
            raise m.wrong(call, f"position {where.max()} has no angle among {len(cos)}")
        turned = bool(call.attr("rotary_interleaved"))
        queries = _rotated(queries, n.up(cos)[where], n.up(sin)[where], interleaved=turned)
        if new:
            keys = _rotated(keys, n.up(cos)[where], n.up(sin)[where], interleaved=turned)
    held = resident(before, room, slides) if slides else before
    whole: list[Array] = []
    for past, fresh in ((past_key, keys), (past_value, values)):
        buffer = np.zeros((batch, groups, max(count, room), size), queries.dtype)
        for row, start in enumerate(before):
            if past is not None:
                buffer[row, :, start - held[row] : start] = n.up(past)[row, :, : held[row]]
            buffer[row, :, start : start + new] = fresh[row]
        whole.append(buffer)
    kept = [_last(b, each, resident(each, room, slides), room) for b in whole] if slides else whole
    valid = np.arange(count) < each[:, None]
    if sink is None and call.attr("smooth_softmax", -1) == 1:
        sink = np.zeros(heads, queries.dtype)
    return m.Parts(
        queries,
        whole[0][:, :, :count],
        np.where(valid[:, None, :, None], whole[1][:, :, :count], 0).astype(queries.dtype),
        m.scale_of(call, size),
        None if added is None else n.up(added),
        (kept[0], kept[1]),
        float(call.attr("softcap") or 0.0),
        sink=None if sink is None else n.up(sink),
        seen=_seen(call, each, first, length, count),
    )


def resident(seen: Array, room: int, window: int) -> Array:
    """How many of the keys that each sequence has seen are in a cache that drops old ones.

    Where there is no more room, as many go at once as leave the window alone.
    """
    step = room - window + 1
    return seen - step * -(-np.maximum(seen - room, 0) // step)


def _slides(call: Call, room: int) -> int:
    """The window of a cache that drops old keys; 0 where it keeps all."""
    if not call.attr("sliding_window_cache", 0):
        return 0
    window = int(call.attr("local_window_size", -1))
    if not 0 < window <= room:
        raise m.wrong(call, f"a cache of {room} rows drops what a window of {window} still sees")
    return window


def _last(whole: Array, ends: Array, held: Array, room: int) -> Array:
    """The last rows up to each end, in a buffer."""
    found = np.zeros((*whole.shape[:2], room, whole.shape[3]), whole.dtype)
    for row, (end, count) in enumerate(zip(ends, held, strict=True)):
        found[row, :, :count] = whole[row, :, end - count : end]
    return found


def _check(
    call: Call, each: Array, count: int, room: int, batch: int, length: int, new: int
) -> None:
    """That lengths fit each other; what is refused here is refused by onnxruntime."""
    if count < 1 or (count > room and count != room + new):
        raise m.wrong(call, f"total_sequence_length is {count}; {room} and {new} more were given")
    if len(each) != batch or (batch and not 0 < each.min() <= each.max() <= count):
        raise m.wrong(call, f"seqlens_k are {each - 1}; {batch} below {count} were expected")
    if length > 1 and length != count and batch != 1:
        raise m.wrong(call, f"{batch} sequences of {length} queries, with a past: one was expected")
    if length != count and (length < 1 or (batch and each.min() < length)):
        raise m.wrong(call, f"{length} queries of sequences of {each}")


def _places(call: Call, places: Any, first: Array, length: int, *, prompt: bool) -> Array:
    """Positions of the queries, and of the new keys: a prompt's count on from its first."""
    if places is None:
        return first[:, None] + np.arange(length)
    places = np.asarray(places)
    if not prompt:
        return places
    start = int(places.reshape(-1)[0]) if places.size else 0
    return np.broadcast_to(start + np.arange(length), (len(first), length))


def _rotated(x: Array, cos: Array, sin: Array, *, interleaved: bool) -> Array:
    """Pairs of numbers of a head turned by the angles of their position; the rest is kept."""
    width = 2 * cos.shape[-1]
    cos, sin, part = cos[:, None], sin[:, None], x[..., :width]
    a, b = (part[..., 0::2], part[..., 1::2]) if interleaved else np.split(part, 2, -1)
    pair = cos * a - sin * b, sin * a + cos * b
    turned = np.stack(pair, -1).reshape(part.shape) if interleaved else np.concatenate(pair, -1)
    return np.concatenate((turned, x[..., width:]), -1).astype(x.dtype, copy=False)


def _normalized(call: Call, x: Array, weight: Any) -> Array:
    """Each head's numbers divided by the root of their mean square."""
    mean = np.mean(x * x, -1, keepdims=True)
    return x / np.sqrt(mean + x.dtype.type(call.attr("qk_norm_epsilon"))) * n.up(weight)


def _seen(call: Call, each: Array, first: Array, length: int, count: int) -> Array:
    """Whether a query sees a key: (batch, 1, queries, keys)."""
    key, place = np.arange(count), first[:, None, None] + np.arange(length)[:, None]
    seen = np.broadcast_to(key < each[:, None, None], (len(each), length, count))
    if call.attr("causal", 1):
        seen = seen & (key <= place)
        window = int(call.attr("local_window_size", -1))
        if window >= 0:
            seen = seen & (key > place - window)
    return seen[:, None]
