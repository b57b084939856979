"""Which sizes the models accept: a case at each is tried, and every case tried counts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.parity.arrays import is_tensor
from isomorph.parity.case import Case
from isomorph.parity.strategies.sizes import (
    SMALL,
    fits,
    interesting,
    starting_points,
    symbols_of,
)
from isomorph.parity.strategies.values import fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isomorph.ir.dims import Constraint
    from isomorph.parity.strategies import Spec

MOST_STARTS = 240
LARGE = 7
"""Sizes above this are made smaller where the models allow it."""
LASTING = 0.1
"""Cases at such a size that take longer are not drawn again."""
TELLING = 3
"""Sizes from constants that each symbol is tried at, where accepted: one and its neighbours."""
LONGEST = 2.0
"""Seconds that a case may take at a size that constants suggest, as it is foreseen."""
FEW_CHOICES = 8
"""An input that the graph compares with so few numbers may select a branch: each is tried."""


@dataclass
class Explorer:
    """Looks for sizes.

    Attributes:
        specs, constraints: of the inputs.
        seed: of the values.
        judge: judges one case; false when both models refuse it.
        over: whether no more cases may be tried at all.
        enough: whether exploring has had its share.
        hints: sizes that the models' constants suggest, the telling ones first.
        accepted: the sizes found, in order.
    """

    specs: Sequence[Spec]
    constraints: Sequence[Constraint]
    seed: int
    judge: Callable[[Case], bool]
    over: Callable[[], bool]
    enough: Callable[[], bool]
    hints: Sequence[int] = ()
    accepted: list[dict[str, int]] = field(default_factory=list[dict[str, int]])
    _pace: float = inf
    _tried: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])

    def run(self) -> list[dict[str, int]]:
        """Sizes that are accepted: one, made as small as possible, then every symbol varied."""
        base = self._first()
        if base is None:
            return []
        base = self._shrunk(base)
        names = symbols_of(self.specs)
        for name in names:
            plain = interesting(name, self.constraints, base[name])
            self._vary(name, base, plain, self.enough)
        hinted = [size for size in self.hints if size not in SMALL]
        for name in names:
            limit = len(self.accepted) + TELLING
            self._vary(name, base, hinted, lambda limit=limit: self._ample(limit), hinted=True)
        return self.accepted

    def _ample(self, limit: int) -> bool:
        """Whether hints have had their share: a few telling ones, and what is to spare."""
        return len(self.accepted) >= limit and self.enough()

    def _attempt(self, dims: dict[str, int], draws: int, *, hinted: bool = False) -> bool:
        key = tuple(dims.values())
        if self._tried.get(key, 0) >= draws or not fits(self.specs, self.constraints, dims):
            return False
        self._tried[key] = draws
        started = time.monotonic()
        good = any(self.judge(case) for case in self._cases(dims, draws))
        seconds = time.monotonic() - started
        if good:
            self._pace = min(self._pace, seconds / max(1, self._elements(dims)))
        if good and (seconds < LASTING or not hinted):
            self.accepted.append(dims)
        return good

    def _first(self) -> dict[str, int] | None:
        """The first sizes that are accepted: one draw at each, then as many as may help."""
        for draws in dict.fromkeys((1, self._draws)):
            for dims in islice(starting_points(self.specs, self.constraints), MOST_STARTS):
                if self.over():
                    return None
                if self._attempt(dims, draws):
                    return dims
        return None

    def _shrunk(self, base: dict[str, int]) -> dict[str, int]:
        """The same with 2 for every large size that need not be, alone or with its equals."""
        for name in list(base):
            if base[name] <= LARGE or self.over():
                continue
            equal = [n for n, size in base.items() if size == base[name]]
            for group in ([name], equal):
                smaller = {**base, **dict.fromkeys(group, 2)}
                if self._attempt(smaller, self._draws):
                    base = smaller
                    break
        return base

    def _vary(
        self,
        name: str,
        base: dict[str, int],
        sizes: Sequence[int],
        enough: Callable[[], bool],
        *,
        hinted: bool = False,
    ) -> None:
        """Other sizes for one symbol; with another of the same size if none is accepted alone."""
        sizes = [s for s in sizes if s != base[name]]
        partners = [n for n in base if n != name and base[n] == base[name]]
        for group in ([name], *([name, p] for p in partners)):
            found = False
            for size in sizes:
                if self.over() or (found and enough()):
                    return
                dims = {**base, **dict.fromkeys(group, size)}
                if hinted and self._pace * self._elements(dims) > LONGEST:
                    continue
                found |= self._attempt(dims, self._draws, hinted=hinted)
            if found:
                return

    def _elements(self, dims: dict[str, int]) -> int:
        return sum(spec.elements(dims) for spec in self.specs)

    @property
    def _draws(self) -> int:
        """How often to draw before sizes count as refused."""
        return max([1, *(len(_options(s)) for s in self.specs)])

    def _cases(self, dims: dict[str, int], count: int) -> Iterator[Case]:
        """Cases of standard normal values, or whatever roles ask for, each choice in its turn."""
        rng = np.random.default_rng([self.seed, *(size + 7 for size in dims.values())])
        for turn in range(count):
            yield Case([self._drawn(s, dims, turn, rng) for s in self.specs], dims, hostile=False)

    @staticmethod
    def _drawn(spec: Spec, dims: dict[str, int], turn: int, rng: np.random.Generator) -> Any:
        value = fill(spec, spec.kinds(("normal",))[0], dims, rng, plain=True)
        options = _options(spec)
        if not options or not is_tensor(value) or value.size != 1:
            return value
        return np.full_like(value, options[turn % len(options)])


def _options(spec: Spec) -> list[float]:
    """The numbers that the graph compares an input with, and one that it does not."""
    role = spec.role
    if role is None or not 0 < len(role.choices) <= FEW_CHOICES:
        return []
    return [c - role.offset for c in (*role.choices, max(role.choices) + 1)]
