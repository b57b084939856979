"""Plainer numbers: zero or one wherever that still fails, else as few digits as will do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.graph import Value
from isomorph.parity.arrays import is_float
from isomorph.parity.reduce.chunks import fewest_of
from isomorph.parity.reduce.slots import Slot, slots_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isomorph.parity.reduce.piece import Piece

    Test = Callable[[Piece], bool]

DEFAULTS = (0, 1)


def plainer(piece: Piece, test: Test) -> Piece:
    """The piece with as few elements that are neither 0 nor 1 as it takes."""
    for number in range(len(slots_of(piece))):
        if number >= len(slots_of(piece)):  # what became equal counts once
            break
        piece = _default(piece, number, test)
        piece = _rounded(piece, number, test)
    return piece


def _default(piece: Piece, number: int, test: Test) -> Piece:
    slot = slots_of(piece)[number]
    if slot.dtype.kind in "OUSTV" or not slot.size:
        return piece
    best = piece
    for default in DEFAULTS:
        start = slots_of(best)[number]
        unusual = [
            int(i)
            for i in np.flatnonzero(
                np.any([(a != default) & ~_same_default(a) for a in start.arrays], axis=0)
            )
        ]
        if not unusual:
            continue
        base = best

        def fails(
            kept: list[int], base: Piece = base, start: Slot = start, fill: int = default
        ) -> bool:
            nonlocal best
            made = _filled(base, number, start, kept, fill)
            if test(made):
                best = made
                return True
            return False

        if not fails([]):
            fewest_of(unusual, fails)
    return best


def _same_default(array: np.ndarray) -> np.ndarray:
    return np.isin(array, DEFAULTS)


def _filled(piece: Piece, number: int, slot: Slot, kept: Sequence[int], default: int) -> Piece:
    """The piece with all but these elements of a slot at a default."""
    arrays: list[np.ndarray] = []
    for array in slot.arrays:
        made = np.full(array.size, default, array.dtype)
        flat = array.reshape(-1)
        ones = np.isin(flat, DEFAULTS)
        if len(kept):
            made[ones] = flat[ones]
        made[list(kept)] = flat[list(kept)]
        arrays.append(made.reshape(array.shape))
    inputs, weights = list(piece.inputs), dict[Value, np.ndarray]()
    slots_of(piece)[number].put(arrays, inputs, weights)
    return piece.with_arrays(inputs, weights)


def _rounded(piece: Piece, number: int, test: Test) -> Piece:
    slot = slots_of(piece)[number]
    if not is_float(slot.arrays[0]) or not slot.size:
        return piece
    for arrays in _roundings(slot):
        if all(np.array_equal(a, b) for a, b in zip(arrays, slot.arrays, strict=True)):
            return piece
        inputs, weights = list(piece.inputs), dict[Value, np.ndarray]()
        slots_of(piece)[number].put(arrays, inputs, weights)
        made = piece.with_arrays(inputs, weights)
        if test(made):
            return made
    return piece


def _roundings(slot: Slot) -> Iterator[list[np.ndarray]]:
    with np.errstate(all="ignore"):
        yield [np.where(a == 0, a, np.sign(a)).astype(a.dtype) for a in slot.arrays]
        for digits in (0, 1, 2):
            yield [np.round(a.astype(np.float64), digits).astype(a.dtype) for a in slot.arrays]
