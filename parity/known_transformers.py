"""What onnxruntime's attentions of its own domain do otherwise: measured on 1.31.1."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.runtimes.divergences import words
from isomorph.ir.semantics import Call
from isomorph.ir.semantics._attention import join_heads
from isomorph.ir.semantics._grouped import resident
from isomorph.ir.semantics._multihead import causal, weigh
from isomorph.parity.arrays import is_double
from isomorph.parity.tolerance.transformers import PARTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.parity.tolerance.units import Unit

    Array = np.ndarray[Any, Any]

LOWEST = float(np.finfo(np.float32).min)
NEAR = 2.0**-8
"""Of the largest value: what rounding of scores that were filtered leaves of their weights."""


def masked_otherwise(
    op: Op, operands: Sequence[Any], got: Array, _truth: Array, _unit: Unit
) -> Array:
    """Elements that are what follows from how onnxruntime keeps later keys out.

    It gives them the lowest score, in place of whatever a mask had added: no less than that of a
    key which a mask filters with that number. And it lets the last query see every key.
    """
    found = np.zeros(got.shape, bool)
    if not op.attr("unidirectional", 0):
        return found
    parts = PARTS[op.type](Call(op, wide=True), *operands)
    length, total = parts.queries.shape[2], parts.keys.shape[2]
    plain = type(op)(op.domain, op.type, op.version, op.inputs, {**op.attributes})
    plain.attributes.pop("unidirectional")
    open_ = PARTS[op.type](Call(plain, wide=True), *operands)
    added = 0.0 if open_.added is None else open_.added
    before = _before(op, operands, total)
    later = np.isneginf(causal(length, before, total))
    best = np.where(later, -np.inf, added).max(-1, keepdims=True, initial=-np.inf)
    filtered = np.broadcast_to(best <= LOWEST / 8, (*parts.queries.shape[:3], 1))
    last = np.zeros(filtered.shape, bool)
    last[:, :, -1:] = bool(later[-1:].any())
    later[-1:] = False
    stages = weigh(replace(open_, added=np.where(later, LOWEST, added)))
    if got.shape == stages.raw.shape:
        return (filtered | last) & (np.abs(got - stages.scores) <= NEAR)
    size = np.fmax.reduce(np.abs(stages.values), axis=None, initial=0.0)
    if join_heads(stages.result).shape != got.shape:
        return found
    near = np.abs(got - join_heads(stages.result)) <= NEAR * size
    whole, rows = (join_heads(np.broadcast_to(r, stages.result.shape)) for r in (filtered, last))
    return whole | (rows & near)


def _before(op: Op, operands: Sequence[Any], total: int) -> int:
    """How many keys went before the first query."""
    if op.type == "Attention":
        return total - np.shape(operands[0])[1]
    new = operands[1] if len(operands) > 1 and operands[1] is not None else operands[0]
    return total - (np.shape(new)[2] if np.ndim(new) == 4 else np.shape(new)[1])


def shows_lowest(_op: Op, _operands: Sequence[Any], got: Array, truth: Array, unit: Unit) -> Array:
    """Scores of later keys, which are the lowest number and not -inf."""
    return np.isneginf(truth) & (got < -unit.top / 2)


def not_finite(op: Op, operands: Sequence[Any], got: Array, truth: Array, _unit: Unit) -> Array:
    """NaN that comes of what is not finite among the operands, or that does not come of it."""
    if all(bool(np.isfinite(v).all()) for v in operands if is_double(v)):
        return np.zeros(got.shape, bool)
    return np.isnan(truth) | np.isnan(got)


def beyond_the_end(
    op: Op, operands: Sequence[Any], got: Array, _truth: Array, _unit: Unit
) -> Array:
    """What a query beyond a sequence's end makes of a sink.

    And rows of what is handed on beyond that end, and the scores of keys that a query does not see.
    """
    parts = PARTS[op.type](Call(op, wide=True), *operands)
    ends = np.asarray(operands[5]).reshape(-1).astype(np.int64) + 1
    queries, keys = parts.queries.shape[2], parts.keys.shape[2]
    if got.ndim != 4:
        if parts.sink is None or queries != keys:
            return np.zeros(got.shape, bool)
        return np.broadcast_to(_after(ends, queries)[:, :, None], got.shape)
    if parts.seen is not None and got.shape[1:] == (parts.queries.shape[1], queries, keys):
        return np.broadcast_to(~parts.seen, got.shape)
    ends = np.maximum(ends, keys) if queries == keys else ends
    if op.attr("sliding_window_cache", 0):
        ends = resident(ends, got.shape[2], int(op.attr("local_window_size", -1)))
    return np.broadcast_to(_after(ends, got.shape[2])[:, None, :, None], got.shape)


def _after(ends: Array, count: int) -> Array:
    """Places from the end of each sequence on: (batch, count)."""
    return np.asarray(np.greater_equal(np.arange(count), ends[:, None]))


def broken(op: Op) -> str:
    """Why the results of a use are whatever lies in memory; empty for those that are computed."""
    past = {"GroupQueryAttention": 3, "MultiHeadAttention": 6}.get(op.type)
    if past is None or op.input(past) is None:
        return ""
    if len(op.outputs) > 2 and None not in op.outputs[1:3]:
        return ""
    return words("transformers-past-kept")
