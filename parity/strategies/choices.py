"""Choices that a generator makes: from a seed, or from Hypothesis, which can take them back."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn

T = TypeVar("T")


class Choices(Protocol):
    """Where choices come from."""

    def below(self, count: int) -> int:
        """One of 0 … count - 1; 0 is the simplest."""
        ...


class Seeded:
    """The same choices for the same seed, everywhere."""

    def __init__(self, seed: int | str) -> None:
        self._rng = Random(seed)  # noqa: S311 - reproducible on purpose

    def below(self, count: int) -> int:
        """One of 0 … count - 1."""
        return self._rng.randrange(count)


class Drawn:
    """Choices of Hypothesis, inside a composite strategy."""

    def __init__(self, draw: DrawFn) -> None:
        from hypothesis import strategies

        self._draw, self._integers = draw, strategies.integers

    def below(self, count: int) -> int:
        """One of 0 … count - 1; smaller where it shrinks."""
        return self._draw(self._integers(0, count - 1))


def one_of(choices: Choices, items: Sequence[T]) -> T:
    """One of some items, the first of which is the simplest."""
    return items[choices.below(len(items))]


def chance(choices: Choices, percent: int) -> bool:
    """Whether something happens that happens so often; not, where it is simplest."""
    return choices.below(100) >= 100 - percent


def numbers(choices: Choices) -> np.random.Generator:
    """A source of numbers whose seed was chosen."""
    return np.random.default_rng(choices.below(1 << 32))
