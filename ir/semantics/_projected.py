"""Attention and MultiHeadAttention of onnxruntime's own domain, taken apart."""

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


def attention(
    call: Call,
    x: Any,
    weights: Any,
    bias: Any = None,
    mask: Any = None,
    past: Any = None,
    added: Any = None,
    past_length: Any = None,
) -> m.Parts:
    """Attention: Q, K and V are products of the input.

    Raises:
        UnsupportedError: where heads are rotated, by angles that no operand tells.
    """
    if call.attr("do_rotary"):
        raise UnsupportedError(f"{call.op}: do_rotary makes angles that its definition leaves open")
    heads = int(call.attr("num_heads"))
    columns = np.shape(weights)[1]
    sizes = call.attr("qkv_hidden_sizes") or (columns // 3,) * 3
    projected = np.matmul(n.up(x), n.up(call.fitting(weights, (x.shape[2], sum(sizes)))))
    if bias is not None:
        projected = projected + n.up(call.fitting(bias, (columns,)))
    parts = np.split(projected, np.cumsum(sizes)[:2], 2)
    queries, keys, values = (split_heads(call, p, heads) for p in parts)
    batch, _, length, size = queries.shape
    before, room = 0, None
    if past is not None:
        before = past.shape[3]
        if call.attr("past_present_share_buffer"):
            room = before
            before = m.filled(call, room, past_length, length)
    keys, kept_keys = m.appended(None if past is None else past[0], keys, room, before)
    values, kept_values = m.appended(None if past is None else past[1], values, room, before)
    total = keys.shape[2]
    bias, summed = m.plus(
        None if added is None else n.up(added),
        None if mask is None else m.masked(call, mask, batch, length, before, total),
        m.causal(length, before, total) if call.attr("unidirectional", 0) else None,
    )
    same = kept_keys.shape == kept_values.shape
    return m.Parts(
        queries,
        keys,
        values,
        m.scale_of(call, size),
        bias,
        (np.stack((kept_keys, kept_values)),) if same else (kept_keys,),
        summed=summed,
    )


def multi_head(
    call: Call,
    q: Any,
    k: Any = None,
    v: Any = None,
    bias: Any = None,
    mask: Any = None,
    added: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    past_length: Any = None,
    beams: Any = None,
) -> m.Parts:
    """MultiHeadAttention: Q, K and V apart, or in one operand, or in two."""
    heads = int(call.attr("num_heads"))
    ready = k is not None and np.ndim(k) == 4
    if np.ndim(q) == 5:
        q, k, v = (q[:, :, :, i] for i in range(3))
    elif k is not None and np.ndim(k) == 5:
        k, v = k[:, :, :, 0], k[:, :, :, 1]
    if k is None or v is None:
        raise m.wrong(call, "neither query nor key holds what is not given")

    def split(x: Any) -> Array:
        return n.up(split_heads(call, x, heads) if np.ndim(x) == 3 else x.transpose(0, 2, 1, 3))

    queries = split(q)
    keys, values = (n.up(x) if ready else split(x) for x in (k, v))
    if bias is not None:
        sizes = (heads * queries.shape[3], heads * keys.shape[3])
        whole = sum(sizes) + heads * values.shape[3]
        short = ready and np.shape(bias) == (sum(sizes),)  # that of values is never added
        if not short:
            call.fitting(bias, (whole,))
        parts = np.split(n.up(bias), np.cumsum(sizes))
        offsets = [p.reshape(heads, 1, -1) for p in parts]
        queries = queries + offsets[0]
        if not ready:
            keys, values = keys + offsets[1], values + offsets[2]
    batch, _, length, size = queries.shape
    before, room = 0, None
    if past_key is not None:
        before = past_key.shape[2]
        if past_length is not None:
            room = before
            before = m.filled(call, room, past_length, keys.shape[2])
    found: list[tuple[Array, Array]] = []
    for past, new in ((past_key, keys), (past_value, values)):
        whole, kept = m.appended(past, new, room, before)
        if beams is not None and room is not None and length == 1:
            whole = _followed(call, whole, np.asarray(beams), before)
        found.append((whole, kept))
    total = found[0][0].shape[2]
    bias, summed = m.plus(
        None if added is None else n.up(added),
        None if mask is None else m.masked(call, mask, batch, length, before, total),
        m.causal(length, before, total) if call.attr("unidirectional", 0) else None,
    )
    return m.Parts(
        queries,
        found[0][0],
        found[1][0],
        m.scale_of(call, size),
        bias,
        (found[0][1], found[1][1]),
        summed=summed,
    )


def _followed(call: Call, whole: Array, beams: Array, before: int) -> Array:
    """Keys whose past is that of the beams that they came from."""
    width = beams.shape[1]
    if whole.shape[0] != beams.shape[0] * width or beams.shape[2] < before:
        raise m.wrong(call, f"cache_indirection of {beams.shape} for {whole.shape[0]} sequences")
    source = beams[:, :, :before]
    if source.size and not 0 <= source.min() <= source.max() < width:
        raise m.wrong(call, f"cache_indirection names beam {source.max()} of {width}")
    found = whole.copy()
    for sequence in range(whole.shape[0]):
        group, beam = divmod(sequence, width)
        rows = group * width + source[group, beam]
        found[sequence, :, :before] = np.swapaxes(whole[rows, :, np.arange(before)], 0, 1)
    return found
