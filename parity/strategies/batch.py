"""Several sets of inputs with the same dims, as a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.parity.strategies.kinds import HOSTILE
from isomorph.parity.strategies.values import fill

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.parity.strategies.specs import Spec


@dataclass(frozen=True, slots=True)
class Batch:
    """A recipe for several sets of inputs with the same dims.

    Attributes:
        dims: size by symbol.
        kinds: the kind of values, one per input.
        seed: of the values.
        count: how many sets.
    """

    dims: tuple[tuple[str, int], ...]
    kinds: tuple[str, ...]
    seed: int
    count: int

    @property
    def hostile(self) -> bool:
        """Whether any input is drawn from values that no ordinary data has."""
        return any(k in HOSTILE for k in self.kinds)

    def cases(self, specs: Sequence[Spec]) -> Iterator[list[Any]]:
        """The sets, one array per input."""
        rng = np.random.default_rng(self.seed)
        sizes = dict(self.dims)
        for _ in range(self.count):
            yield [
                fill(spec, kind, sizes, rng) for spec, kind in zip(specs, self.kinds, strict=True)
            ]
