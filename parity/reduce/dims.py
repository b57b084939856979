"""Smaller sizes: axes of one size are cut together, in both graphs, inputs and weights alike."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.graph import Value
from isomorph.parity.reduce.chunks import fewest_of
from isomorph.parity.reduce.slots import Slot, slots_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isomorph.ir.graph import Graph
    from isomorph.parity.reduce.piece import Piece

    Test = Callable[[Piece], bool]

SIZED = {"kernel_shape", "split", "shape", "hidden_size", "group", "axis_size", "num_outputs"}
"""Attributes that repeat a size."""
SHORT = 8
"""Elements of a constant that may be a shape."""


def smaller(piece: Piece, test: Test) -> Piece:
    """The piece with every axis as short as it still fails."""
    for together in (True, False):
        for axes in _classes(piece, together=together):
            piece = _shorter(piece, axes, test)
    return piece


def _classes(piece: Piece, *, together: bool) -> Iterator[list[tuple[int, int]]]:
    """(slot, axis) pairs that are tried at once, the longest first."""
    found: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for number, slot in enumerate(slots_of(piece)):
        for axis, size in enumerate(slot.shape):
            if size > 1:
                found[size if together else (size, number, axis)].append((number, axis))
    keys = sorted(found, key=lambda k: -(k if isinstance(k, int) else k[0]))
    yield from (found[k] for k in keys if not together or len(found[k]) > 1)


def _shorter(piece: Piece, axes: Sequence[tuple[int, int]], test: Test) -> Piece:
    slots = slots_of(piece)
    sizes = {slots[n].shape[a] for n, a in axes if n < len(slots) and a < len(slots[n].shape)}
    if len(sizes) != 1:
        return piece
    indices = list(range(sizes.pop()))
    best = piece

    def fails(kept: list[int]) -> bool:
        nonlocal best
        for sized in (True, False):
            made = _taken(piece, slots, axes, kept, sized=sized)
            if made is not None and test(made):
                best = made
                return True
        return False

    if fails([0]) or fails([len(indices) - 1]):
        return best
    fewest_of(indices, fails)
    return best


def _taken(
    piece: Piece,
    slots: Sequence[Slot],
    axes: Sequence[tuple[int, int]],
    kept: list[int],
    *,
    sized: bool,
) -> Piece | None:
    """The piece with these elements along these axes; shapes that constants state follow."""
    old = slots[axes[0][0]].shape[axes[0][1]]
    inputs, weights = list(piece.inputs), dict[Value, np.ndarray]()
    changed = False
    for number, slot in enumerate(slots):
        mine = [a for n, a in axes if n == number]
        arrays = slot.arrays
        for axis in mine:
            arrays = [np.take(array, kept, axis) for array in arrays]
        if sized and not mine and slot.dtype.kind == "i" and slot.size <= SHORT:
            arrays = [np.where(a == old, np.asarray(len(kept), a.dtype), a) for a in arrays]
            changed |= any((a != b).any() for a, b in zip(arrays, slot.arrays, strict=True))
        slot.put(arrays, inputs, weights)
    made = piece.with_arrays(inputs, weights, resized=True)
    if sized:
        edits = [_resize(g, old, len(kept)) for g in made.graphs()]
        if not any(edits) and not changed:
            return None
    return made


def _resize(graph: Graph, old: int, new: int) -> bool:
    found = False
    for op in graph.ops():
        for name, value in op.attributes.items():
            if name not in SIZED:
                continue
            items = cast("tuple[Any, ...]", value if isinstance(value, tuple) else (value,))
            if old in items:
                made = tuple(new if v == old else v for v in items)
                op.attributes[name] = made if isinstance(value, tuple) else made[0]
                found = True
    return found


def plain(piece: Piece, test: Test) -> Piece:
    """The piece without attributes that have a default, and without optional operands."""
    for number, op in enumerate(piece.graph.sorted_ops()):
        known = op.schema
        for name in list(op.attributes):
            stated = None if known is None else known.attributes.get(name)
            if stated is None or stated.required or any(True for _ in op.subgraphs()):
                continue
            made = _without(piece, number, name)
            if made is not None and test(made):
                piece = made
    return piece


def _without(piece: Piece, number: int, name: str) -> Piece | None:
    made = piece.with_arrays(piece.inputs, {})
    op = made.graph.sorted_ops()[number]
    if name not in op.attributes:
        return None
    others = [] if made.reference is None else made.reference.ops()
    for other in others:
        if other.type == op.type and other.attributes.get(name) == op.attributes[name]:
            del other.attributes[name]
    del op.attributes[name]
    return made
