"""What rounding does to a function: it is evaluated again with every number slightly perturbed.

Stochastic arithmetic (Vignes' CESTAC; Parker's Monte Carlo arithmetic): each float is multiplied by
1 + ξu, ξ uniform in ±1 and u one unit in the last place, as it is computed. The spread of the
results over a few such runs is the rounding noise of that function at that input, element by
element, cancellation included.

Numbers that no rounding made are left alone: integers, and numbers of at most 11 significant bits
(0.5, 3, 1e3), so that comparisons and casts on them stay what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.budget import BudgetError
from isomorph.ir.errors import IsomorphError
from isomorph.ir.graph import Value
from isomorph.parity.arrays import is_double, is_list, is_map

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.parity.leaves import Leaves

EVALUATION_ERRORS = (ArithmeticError, IsomorphError, LookupError, TypeError, ValueError)
"""What evaluating an op may raise on operands that it does not take."""
SHORT_BITS = 11
_LOW_BITS = (1 << (53 - SHORT_BITS)) - 1
BLOCK = 1 << 14
"""Elements that are worked on at a time, so that they stay in the cache."""
SATURATING = frozenset({("", "Erf"), ("", "Tanh"), ("", "Sigmoid")})
"""Functions whose results are 1 only where they were rounded to it: what is lost there counts."""
TRANSFORMS = frozenset({("", "DFT"), ("", "STFT")})
"""Sums whose errors are those of their largest results, computed at once as they are."""
LAST_PLACE = 2.0**-52
"""Half of it would mostly round away: 1 + ξu is a float64 itself."""


class Perturbation:
    """Multiplies floats by 1 + ξu.

    Args:
        seed: of ξ.
        unit: u; float64's own by default.
    """

    def __init__(self, seed: int, unit: float = LAST_PLACE) -> None:
        self._rng = np.random.default_rng(seed)
        self.unit = unit

    def __call__(self, array: Any) -> Any:
        """A perturbed copy; anything but float64 as it is."""
        return self._moved(array, whole=False)

    def _moved(self, array: Any, *, whole: bool) -> Any:
        """A perturbed copy; ones too, where they are `whole` roundings."""
        if not is_double(array):
            return array
        flat = np.asarray(array).reshape(-1)
        moved = np.empty_like(flat)
        for start in range(0, flat.size, BLOCK):
            part = flat[start : start + BLOCK]
            factor = self._rng.random(part.size, dtype=np.float32).astype(np.float64)
            factor *= 2.0 * self.unit
            factor += 1.0 - self.unit
            kept = is_short(part)
            np.copyto(factor, 1.0, where=kept & (np.abs(part) != 1) if whole else kept)
            np.multiply(part, factor, out=moved[start : start + BLOCK])
        return moved.reshape(array.shape)

    def change(self, value: object, array: Any) -> Any:
        """The same, as a hook of `Program.run`; of sequences and maps, element by element."""
        if is_list(array):
            return [self.change(value, a) for a in array]
        if is_map(array):
            return {k: self.change(value, a) for k, a in array.items()}
        producer = value.producer if isinstance(value, Value) else None
        moved = self._moved(array, whole=producer is not None and producer.key in SATURATING)
        if producer is not None and producer.key in TRANSFORMS and is_double(array):
            return self._spread(moved)
        return moved

    def _spread(self, array: np.ndarray) -> np.ndarray:
        """The same with noise of the size of the largest results of each of a batch."""
        size = np.where(np.isfinite(array), np.abs(array), 0.0)
        size = size.max(tuple(range(1, array.ndim)), keepdims=True, initial=0.0)
        return array + self._rng.uniform(-self.unit, self.unit, array.shape) * size


class Computed(Perturbation):
    """Moves what operators compute, and neither inputs nor weights, which nothing has rounded."""

    def change(self, value: Any, array: Any) -> Any:
        """The same array where no operator computed the value."""
        return array if value.producer is None else super().change(value, array)


def is_short(array: np.ndarray, whole: float = 2.0**53) -> np.ndarray:
    """Numbers that look exact: integers below a number, few significant bits, zeros, infinities."""
    bits = np.ascontiguousarray(array, np.float64).view(np.int64).reshape(np.shape(array))
    return ((bits & _LOW_BITS) == 0) | ((array == np.rint(array)) & (np.abs(array) < whole))


@dataclass
class Spread:
    """How one output moved over the probes.

    Attributes:
        norm: root of the sum of squared movements, per element; squares of tiny ones would vanish.
        largest: the largest movement, per element.
        flipped: elements that became another integer, another truth value, or NaN or infinite
            where they were not; a changed shape flips all.
        probes: how many.
    """

    norm: np.ndarray
    largest: np.ndarray
    flipped: np.ndarray
    probes: int = 0

    @property
    def deviation(self) -> np.ndarray:
        """Root mean square movement, per element."""
        return self.norm / np.sqrt(max(self.probes, 1))

    @staticmethod
    def none(base: Any) -> Spread:
        """Of an output that no probe has moved yet."""
        shape = np.shape(base)
        return Spread(np.zeros(shape), np.zeros(shape), np.zeros(shape, bool))

    def add(self, base: Any, moved: Any) -> None:
        """Count one probe."""
        if np.shape(base) != np.shape(moved):
            self.flip()
            return
        self.probes += 1
        base, moved = np.asarray(base), np.asarray(moved)
        if base.dtype.kind != "f":
            self.flipped |= np.asarray(base != moved)
            return
        with np.errstate(all="ignore"):
            finite = np.isfinite(base) & np.isfinite(moved)
            change = np.where(finite, np.abs(moved - base), 0.0)
            self.flipped |= ~finite & ~((base == moved) | (np.isnan(base) & np.isnan(moved)))
        self.norm = np.hypot(self.norm, change)
        self.largest = np.maximum(self.largest, change)

    def flip(self) -> None:
        """Count one probe that gave something else altogether."""
        self.probes += 1
        self.flipped |= True


def probe(
    evaluate: Callable[[int], Sequence[Any]], base: Leaves, spreads: list[Spread], seeds: range
) -> None:
    """Run one perturbed evaluation per seed and count it; one that fails flips everything."""
    for seed in seeds:
        try:
            moved = base.like(evaluate(seed))
        except BudgetError:
            raise
        except EVALUATION_ERRORS:
            for spread in spreads:
                spread.flip()
            continue
        for before, after, spread in zip(base.tensors, moved, spreads, strict=True):
            spread.add(before, after)
