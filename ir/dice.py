"""What random operators draw: numbers of their own, or the same ones in graphs that are compared.

The standard names distributions, not numbers. Two graphs are the same function where they make the
same of the same draws, so a comparison evaluates both inside `rolling(Dice(one, other))`.
"""

from __future__ import annotations

import zlib
from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Generator

    from isomorph.ir.graph import Graph, Op

RANDOM = frozenset(
    {
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)
"""Operators that draw, whatever they are given."""


def may_draw(op: Op) -> bool:
    """Whether an op draws random numbers, or does so on some operands: Dropout, while training."""
    if op.domain:
        return False
    training = op.type == "Dropout" and (
        len(op.inputs) > 2 or (op.version < 7 and not op.attr("is_test", 0))
    )
    return training or op.type in RANDOM


class Dice:
    """The same draws for the ops of several graphs that stand for each other.

    Ops are matched by the name of their first result, or else by their place among the ops of
    their kind that have no namesake. An op that is evaluated again, in a loop, draws anew.
    """

    def __init__(self, *graphs: Graph, seed: int = 0) -> None:
        self.seed = seed
        found = [[op for _, op in g.walk() if may_draw(op)] for g in graphs]
        named: list[set[str]] = [{_name(op) for op in ops} for ops in found]
        shared = set[str].intersection(*named) if named else set[str]()
        self._keys: dict[Op, str] = {}
        for ops in found:
            places = Counter[str]()
            for op in ops:
                if _name(op) in shared:
                    self._keys[op] = _name(op)
                else:
                    self._keys[op] = f"{_kind(op)} {places[_kind(op)]}"
                    places[_kind(op)] += 1
        self._shared = shared
        self._drawn = Counter[str]()

    def restart(self) -> None:
        """Begin a new evaluation, whose draws are those of the one before."""
        self._drawn.clear()

    def generator(self, op: Op) -> np.random.Generator:
        """Where an op draws from this time."""
        key = self._keys.get(op) or (_name(op) if _name(op) in self._shared else _kind(op))
        self._drawn[key] += 1
        return np.random.default_rng([self.seed, zlib.crc32(key.encode()), self._drawn[key]])


_current: ContextVar[Dice | None] = ContextVar("dice", default=None)


def current() -> Dice | None:
    """The dice that are rolled now; `None` where every op draws numbers of its own."""
    return _current.get()


@contextmanager
def rolling(dice: Dice) -> Generator[Dice]:
    """Let random operators draw from these dice."""
    token = _current.set(dice)
    try:
        yield dice
    finally:
        _current.reset(token)


def generator(op: Op) -> np.random.Generator:
    """Where an op draws from: the dice, else its own seed, else chance."""
    dice = _current.get()
    if dice is not None:
        return dice.generator(op)
    seed = op.attributes.get("seed")
    return np.random.default_rng(None if seed is None else np.float32(seed).view(np.uint32).item())


def _kind(op: Op) -> str:
    """What an op draws with: Bernoulli compares uniform numbers, and is written so."""
    return "RandomUniformLike" if op.type == "Bernoulli" else op.type


def _name(op: Op) -> str:
    return next((v.name for v in op.results), "")
