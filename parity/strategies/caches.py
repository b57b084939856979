"""What masks, lengths and positions of attentions have to be: those of onnxruntime's own domain.

How many keys there are, how many of them count in each sequence and where the new ones go are
operands of their own, which have to agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.constants import integers
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.ir.dims import Dim
    from isomorph.ir.graph import Graph, Op, Value

Restriction = tuple[str, "Dim", int]
"""A role's kind, bound and offset."""

MASKS = {"Attention": 3, "MultiHeadAttention": 4}
LENGTHS, TOTAL, ANGLES, POSITIONS = 5, 6, 7, 9
"""Operands of GroupQueryAttention."""
CARRIERS = frozenset({"Add", "Cast", "Identity", "Reshape", "Squeeze", "Sub", "Unsqueeze"})
LONGEST = 5
"""Ops between the sum of a mask and the lengths that an attention takes."""


def restriction(op: Op, position: int) -> Restriction | None:
    """What an integer operand is restricted to; `None` where that is not known."""
    if MASKS.get(op.type) == position:
        return _mask(op, position)
    match op.type, position:
        case "Attention", 6:
            room, new = _dim(op.input(4), 3), _dim(op.input(0), 1)
            return None if room is None or new is None else ("index", room - new + 1, 0)
        case "MultiHeadAttention", 8:
            room, new = _dim(op.input(6), 2), _new_keys(op)
            stated = _dim(op.input(5), 3)
            if stated is None and len(_shape(op.input(4)) or ()) > 1:
                stated = (_shape(op.input(4)) or (None,))[-1]
            if stated is not None and new is not None:
                return "exact", stated - new, 0
            return None if room is None or new is None else ("index", room - new + 1, 0)
        case "MultiHeadAttention", 9:
            width = _dim(op.input(9), 1)
            return None if width is None else ("index", width, 0)
        case "GroupQueryAttention", n if n == TOTAL:
            total = _total(op)
            return None if total is None else ("exact", total, 0)
        case "GroupQueryAttention", n if n == LENGTHS:
            return _lengths(op)
        case "GroupQueryAttention", n if n == POSITIONS:
            rows, length = _dim(op.input(ANGLES), 0), _dim(op.input(0), 1)
            if rows is None:
                return None
            return ("index", rows - length + 1 if isinstance(length, int) else rows, 0)
        case _:
            return None


def counts_keys(graph: Graph, op: Op) -> bool:
    """Whether an op sums up which keys count, and its results are the lengths of an attention.

    All have to count there: new keys go behind those that do.
    """
    if op.key != ("", "ReduceSum"):
        return False
    left = list(op.results)
    for _ in range(LONGEST):
        reached = [
            (user, value)
            for value in left
            for user in graph.consumers(value)
            if user.key == (DOMAIN, "GroupQueryAttention") or user.type in CARRIERS
        ]
        for user, value in reached:
            if user.domain and user.input(LENGTHS) is value:
                return True
        left = [r for user, _ in reached if not user.domain for r in user.results]
    return False


def _mask(op: Op, position: int) -> Restriction | None:
    """0 or 1 for each key; or ends, and starts, of 0 to all of them."""
    mask = op.input(position)
    shape = _shape(mask)
    if shape is None:
        return None
    if len(shape) != 1:
        return "index", 2, 0
    if op.type == "Attention":
        new, past = _dim(op.input(0), 1), _dim(op.input(4), 3) if op.input(4) else 0
    else:
        new, past = _new_keys(op), _dim(op.input(6), 2) if op.input(6) else 0
    return None if new is None or past is None else ("index", new + past + 1, 0)


def _new_keys(op: Op) -> Dim:
    """How many keys a MultiHeadAttention is given beside the past."""
    key = op.input(1)
    if key is None:
        return _dim(op.input(0), 1)
    shape = _shape(key)
    return None if shape is None else shape[2 if len(shape) == 4 else 1]


def _total(op: Op) -> Dim:
    """The number of keys of a GroupQueryAttention: stated, or all that there may be.

    A prompt of several sequences is put into a buffer that has room for it.
    """
    stated = integers(op.input(TOTAL))
    if stated is not None and len(stated) == 1:
        return stated[0]
    new, past = _dim(op.input(1) or op.input(0), 1), _dim(op.input(3), 2) if op.input(3) else 0
    if new is None or past is None:
        return None
    batch = _dim(op.input(0), 0)
    if isinstance(new, int) and isinstance(past, int) and past >= new > 1 and batch != 1:
        return new
    return past + new


def _lengths(op: Op) -> Restriction | None:
    """One less than the keys of each sequence: all, where a query has to be among the last."""
    total, length = _total(op), _dim(op.input(0), 1)
    if total is None:
        return None
    if not isinstance(length, int):
        return "exact", total - 1, 0
    if total == length:
        return "index", total, 0
    return "index", total - length + 1, 1 - length


def _shape(value: Value | None) -> tuple[Dim, ...] | None:
    if value is None:
        return None
    if value.weight is not None:
        return value.weight.shape
    return value.type.shape if isinstance(value.type, TensorType) else None


def _dim(value: Value | None, axis: int) -> Dim:
    shape = _shape(value)
    return None if shape is None or len(shape) <= axis else shape[axis]
