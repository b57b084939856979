"""Numbers at which a graph changes its mind: thresholds, bounds, biases, and what lies between.

Two models whose thresholds differ by little agree everywhere but between the two. So inputs are
drawn from the small constants of both, their neighbours in the input's dtype, and the midpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.parity.constants import constants, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.ir.graph import Graph

SMALL = 16
"""Constants of at most so many numbers are thresholds, bounds or biases rather than weights."""
MOST_NUMBERS = 64
MOST_KNOWN = 4096
"""A function whose numbers are more than this has weights among them: they are left out."""


def small_constants(graph: Graph) -> np.ndarray:
    """The distinct finite floats among weights and attributes of few elements, sorted."""
    few = [c for c in constants(graph) if np.prod(c.shape, dtype=np.int64) <= SMALL]
    found = numbers(few)
    return found[np.isfinite(found)]


def anchors(
    reference: np.ndarray, candidate: np.ndarray, steps: Sequence[float] = ()
) -> tuple[float, ...]:
    """What to draw from, what tells the two apart first.

    Args:
        reference, candidate: the numbers of each, sorted, as float64.
        steps: where quantizers change their mind.
    """
    if reference.size > MOST_KNOWN:
        reference = np.zeros(0)
    reference = reference[np.isfinite(reference)]
    first = [v for step in steps[:MOST_NUMBERS] for v in (step, -step)]
    return tuple(dict.fromkeys((*first, *_ordered(reference, candidate))))


def _ordered(reference: np.ndarray, candidate: np.ndarray) -> Iterator[float]:
    every: np.ndarray = np.union1d(reference, candidate)
    only_one: np.ndarray = np.setxor1d(reference, candidate)
    for number in only_one[:MOST_NUMBERS]:
        at = sum(int(other < number) for other in every)
        for other in every[max(at - 1, 0) : at + 2]:
            if other != number:
                middle = float(number / 2 + other / 2)
                yield from (middle, -middle)
    for number in (*only_one[:MOST_NUMBERS], *candidate[:MOST_NUMBERS]):
        yield from (float(number), -float(number))


def near(found: tuple[float, ...], dtype: np.dtype[np.generic]) -> np.ndarray:
    """Each number as the dtype has it, and its two neighbours, in turn."""
    with np.errstate(all="ignore"):
        stored = np.asarray(found, np.float64).astype(dtype)
        below, above = (np.nextafter(stored, np.asarray(s, dtype)) for s in (-np.inf, np.inf))
    return np.stack([stored, below, above], axis=-1).reshape(-1).astype(np.float64)
