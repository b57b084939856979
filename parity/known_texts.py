"""What onnxruntime is known to make of texts otherwise than the definition: computed as it does.

Such a result is explained when it is just what the known deviation gives, to the last element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op


def explain(op: Op, operands: Sequence[Any], got: np.ndarray, index: int) -> str:
    """The words for a known deviation that gives exactly this; empty when none does."""
    if op.key != ("", "StringSplit"):
        return ""
    found = _split(op, np.asarray(operands[0], object))[index]
    if found.shape != got.shape or not np.array_equal(found, got):
        return ""
    return (
        "StringSplit takes the space alone for white space, and finds no part in an empty text "
        "[onnxruntime/core/providers/cpu/text/string_split.cc, measured]"
    )


def _split(op: Op, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
