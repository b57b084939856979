"""Batches in which every kind of values and every size has its turn, whatever the seed.

Kinds that are drawn at random leave some out: with 24 batches and 24 kinds, a third of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from isomorph.parity.strategies.batch import Batch
from isomorph.parity.strategies.kinds import ORDINARY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isomorph.parity.strategies.specs import Spec

T = TypeVar("T")
PATTERNS = {"ordinary": "o", "hostile": "oh", "all": "ooh"}
"""Turns of ordinary and hostile values."""
EMPTY_EVERY = 12
"""So often a size of 0 is tried: no value has a turn there."""


def plan(
    specs: Sequence[Spec],
    sizes: Sequence[Mapping[str, int]],
    *,
    profile: str,
    count: int,
    seed: int,
) -> Iterator[Batch]:
    """Recipes of `count` sets each, without end.

    Ordinary values take turns on every input at once. Hostile ones take turns on one input while
    the others are ordinary, then on all of them, then on the next.
    """
    rng = np.random.default_rng([seed, 0x15])
    filled = [s for s in sizes if all(spec.elements(s) for spec in specs)]
    empty = [s for s in sizes if s not in filled]
    ordinary = [_Turns(spec.kinds(ORDINARY), rng) for spec in specs]
    hostile = [_Turns(spec.hostile_kinds(), rng) for spec in specs]
    full, void = _Turns(filled or sizes, rng), _Turns(empty, rng) if filled and empty else None
    length = max((len(spec.hostile_kinds()) for spec in specs), default=1)
    pattern = PATTERNS[profile]
    turn = hostile_turn = 0
    while True:
        chosen: set[int] = set()
        if pattern[turn % len(pattern)] == "h":
            round_ = hostile_turn // length
            lead = (hostile_turn + round_ // 2) % max(len(specs), 1)
            chosen = set(range(len(specs))) if round_ % 2 else {lead}
            hostile_turn += 1
        kinds = [(hostile if i in chosen else ordinary)[i]() for i in range(len(specs))]
        yield _batch(full(), kinds, rng, count)
        turn += 1
        if void is not None and turn % EMPTY_EVERY == 0:
            yield _batch(void(), [next(iter(s.kinds(("normal",)))) for s in specs], rng, 1)


def _batch(
    dims: Mapping[str, int], kinds: Sequence[str], rng: np.random.Generator, count: int
) -> Batch:
    return Batch(tuple(sorted(dims.items())), tuple(kinds), int(rng.integers(2**32)), count)


class _Turns(Generic[T]):
    """Items in a random order, each once before any comes again."""

    def __init__(self, items: Sequence[T], rng: np.random.Generator) -> None:
        self._items, self._rng = items, rng
        self._left: list[int] = []

    def __call__(self) -> T:
        if not self._left:
            self._left = [int(i) for i in self._rng.permutation(len(self._items))]
        return self._items[self._left.pop()]
