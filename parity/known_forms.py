"""Results that onnxruntime is known to give in another form than the definition's.

Such a result is explained when it is just what the known deviation gives, to the last element.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.runtimes.divergences import DIVERGENCES
from isomorph.ir.schema import ML
from isomorph.parity import known_found, known_ml
from isomorph.parity.arrays import is_list, is_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op


def explain(op: Op, operands: Sequence[Any], got: Any, index: int) -> str:
    """The words for a known deviation that gives exactly this; empty when none does."""
    if op.domain == ML:
        other = known_ml.instead(op, operands, index)
        return other[1] if other is not None and _same(other[0], got) else ""
    if op.domain or op.type not in _KNOWN:
        return known_found.explain_form(op, operands, got)
    name, make = _KNOWN[op.type]
    if op.type == "StringSplit" and op.attr("delimiter"):
        name = "string-split-nothing"
    found = make(op, operands)
    return DIVERGENCES[name].words if found and _same(found[index], got) else ""


def _same(one: Any, other: Any) -> bool:
    if is_list(one):
        return is_list(other) and len(one) == len(other) and all(map(_same, one, other))
    if not is_tensor(other) or np.shape(one) != other.shape:
        return False
    if other.dtype.kind == "O":
        return np.array_equal(one, other)
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def _split_sequence(op: Op, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Parts by a scalar `split` lose the axis, though `keepdims` has no meaning then, or fail."""
    split = operands[1] if len(operands) > 1 else None
    if op.attr("keepdims", 1) or split is None or np.ndim(split) or int(split) < 1:
        return ()
    x = np.asarray(operands[0])
    axis = op.attr("axis", 0) % x.ndim
    ends = range(int(split), x.shape[axis], int(split))
    parts = np.split(x, ends, axis)
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    if any(part.size != prod(rest) for part in parts):
        return ()
    return ([part.reshape(rest) for part in parts],)


def _split_texts(op: Op, operands: Sequence[Any]) -> tuple[Any, ...]:
    """The space alone is white space; an empty text has no part."""
    texts = np.asarray(operands[0], object)
    most = -1 if op.attr("maxsplit") is None else int(op.attr("maxsplit"))
    rows = [_parts(t, op.attr("delimiter") or "", most) for t in texts.reshape(-1)]
    parts = np.full((len(rows), max(map(len, rows), default=0)), "", object)
    for index, row in enumerate(rows):
        parts[index, : len(row)] = row
    counts = np.array([len(row) for row in rows], np.int64).reshape(texts.shape)
    return parts.reshape(*texts.shape, parts.shape[1]), counts


def _parts(text: str, delimiter: str, most: int) -> list[str]:
    if delimiter:
        return text.split(delimiter, most) if text else []
    found: list[str] = []
    rest = text.strip(" ")
    while rest:
        part, space, tail = rest.partition(" ")
        if not space or len(found) == most:
            found.append(rest)
            break
        found.append(part)
        rest = tail.lstrip(" ")
    return found


_KNOWN: dict[str, tuple[str, Callable[[Op, Sequence[Any]], tuple[Any, ...]]]] = {
    "SplitToSequence": ("split-sequence-axis", _split_sequence),
    "StringSplit": ("string-split-spaces", _split_texts),
}
