"""What the attentions of onnxruntime's own domain have in common, once operands are taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.semantics._attention import Stages

if TYPE_CHECKING:
    from isomorph.ir.semantics import Call

    Array = np.ndarray[Any, Any]

FILTERED = -10000.0
"""What is added to the score of a key that a mask leaves out, where `mask_filter_value` is not."""


@dataclass(frozen=True, slots=True)
class Parts:
    """One use of an attention, unpacked.

    Attributes:
        queries: (batch, heads, queries, size), rotated and with their bias.
        keys, values: (batch, heads that share them, keys, size), those of the past first.
        scale: factor of the scores.
        added: to the scores, -inf where a query is not to see a key; `None` for nothing.
        present: keys and values as they are handed on, in one array or two.
        cap: of the scores before anything is added; 0 for none.
        summed: Σ of the magnitudes of what `added` is the sum of.
        sink: for each head a score that no value belongs to; `None` for none.
        seen: which keys a query sees at all: (batch, 1, queries, keys). One that sees none gets 0.
    """

    queries: Array
    keys: Array
    values: Array
    scale: float
    added: Array | None
    present: tuple[Array, ...]
    cap: float = 0.0
    summed: Array | None = None
    sink: Array | None = None
    seen: Array | None = None


def weigh(parts: Parts) -> Stages:
    """Scores, their softmax, and what it makes of the values; a sink is one more key, of 0."""
    keys, values, added = parts.keys, parts.values, parts.added
    groups = parts.queries.shape[1] // max(keys.shape[1], 1)
    if groups != 1:
        keys, values = np.repeat(keys, groups, 1), np.repeat(values, groups, 1)
    if parts.sink is not None:
        keys, values = (np.pad(v, ((0, 0), (0, 0), (0, 1), (0, 0))) for v in (keys, values))
        shape = (*parts.queries.shape[:3], keys.shape[2] - 1)
        known = np.zeros(shape, keys.dtype) if added is None else np.broadcast_to(added, shape)
        column = np.broadcast_to(parts.sink[:, None, None], (*shape[:3], 1))
        added = np.concatenate((known, column), -1)
    compute = parts.queries.dtype
    added = None if added is None else added.astype(compute, copy=False)
    raw = compute.type(parts.scale) * np.matmul(parts.queries, np.swapaxes(keys, 2, 3))
    cap = compute.type(parts.cap)
    capped = cap * np.tanh(raw / cap) if cap > 0 else raw
    scores: Array = capped if added is None else capped + added
    if parts.seen is not None:
        beyond = ((0, 0),) * 3 + ((0, keys.shape[2] - parts.seen.shape[3]),)
        seen = np.pad(parts.seen, beyond, constant_values=True)
        scores = np.asarray(np.where(seen, scores, compute.type(-np.inf)))
    weights = n.softmax(scores, -1)
    if parts.seen is not None:
        weights = np.where(np.all(np.isneginf(scores), -1, keepdims=True), 0, weights)
    return Stages(
        parts.queries,
        keys,
        values,
        parts.scale,
        parts.present[0],
        parts.present[-1],
        raw,
        capped,
        added,
        scores,
        weights.astype(compute, copy=False),
        np.matmul(weights.astype(compute, copy=False), values),
    )


def scale_of(call: Call, size: int) -> float:
    """The scale that is stated, unless it is 0: then 1 / √size."""
    stated = call.attr("scale")
    return float(stated) if stated else 1 / np.sqrt(float(max(size, 1)))


def wrong(call: Call, message: str) -> TypeInferenceError:
    """The error of an op whose operands do not fit."""
    return TypeInferenceError(f"{call.op.where}: {message}")


def masked(call: Call, mask: Any, batch: int, length: int, before: int, total: int) -> Array | None:
    """What a mask adds to the scores, in any of its forms; `None` where it says nothing.

    Args:
        call: of the op.
        mask: lengths, ends (and starts), or a number for each key: above 0 where it counts.
        batch, length: how many sequences, and queries of each, there are.
        before: how many keys the past has.
        total: how many there are with those.
    """
    mask, key = np.asarray(mask), np.arange(total)
    short = call.op.type == "MultiHeadAttention" and total - before
    match mask.ndim:
        case 1 if mask.shape[0] in (batch, 2 * batch, 3 * batch + 2):
            seen = key < mask[:batch, None]
            if mask.shape[0] == 2 * batch:
                seen &= key >= mask[batch:, None]
            seen = seen[:, None, None]
        case 2 if mask.shape == (batch, total):
            seen = (mask > 0)[:, None, None]
        case 2 if short and mask.shape == (batch, short):
            known = np.ones((batch, before), bool)
            seen = np.concatenate((known, mask > 0), 1)[:, None, None]
        case 2 if mask.shape[1] == 1:
            return None
        case 3 if mask.shape == (batch, length, total):
            seen = (mask > 0)[:, None]
        case 4 if mask.shape[2] >= total:
            seen = mask[:, :, before : before + length, :total] > 0
        case _:
            raise wrong(call, f"a mask of shape {mask.shape} for {batch} sequences, {total} keys")
    value = call.attr("mask_filter_value")
    return np.where(seen, 0.0, FILTERED if value is None else value)


def plus(*terms: Array | None) -> tuple[Array | None, Array | None]:
    """The sum of what there is, and of the magnitudes of what is finite."""
    found: Array | None = None
    size: Array | None = None
    for term in terms:
        if term is not None:
            part = np.where(np.isfinite(term), np.abs(term), 0.0)
            found = term if found is None else found + term
            size = part if size is None else size + part
    return found, size


def causal(length: int, before: int, total: int) -> Array:
    """-inf for keys that come after a query."""
    later = np.arange(total) > before + np.arange(length)[:, None]
    return np.where(later, -np.inf, 0.0)


def appended(past: Any, new: Array, room: int | None, before: int) -> tuple[Array, Array]:
    """Keys (or values) with the past before them; and how they are handed on.

    Args:
        past: (batch, heads, length, size), or a buffer of such; `None` for none.
        new: those to be appended.
        room: rows of the buffer, which stay as they are but for the new; `None` for no buffer.
        before: how many rows of the past count.
    """
    if past is None:
        return new, new
    whole = np.concatenate((n.up(past)[:, :, :before].astype(new.dtype, copy=False), new), 2)
    if room is None:
        return whole, whole
    rest = n.up(past)[:, :, whole.shape[2] :].astype(new.dtype, copy=False)
    return whole, np.concatenate((whole, rest), 2)


def filled(call: Call, room: int, before: Any, length: int) -> int:
    """How many rows of a buffer count; raises TypeInferenceError where new ones have no room."""
    count = int(np.asarray(before).reshape(-1)[0])
    if count < 0 or count + length > room:
        raise wrong(
            call, f"past_sequence_length is {count}, and {length} more do not fit {room} rows"
        )
    return count
