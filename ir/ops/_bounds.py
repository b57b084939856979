"""Dim arithmetic that uses what is known of symbols: a dim is never negative, and constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.dims import Dim, Expr, floor_div, maximum, minimum

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isomorph.ir.dims import Constraint
    from isomorph.ir.expressions import Atom
    from isomorph.ir.types import Shape

Interval = tuple[int | None, int | None]
"""Least and greatest value, `None` where there is no bound."""

_WITHIN: dict[str, Interval] = {">=": (0, None), ">": (1, None), "<=": (None, 0), "<": (None, -1)}
_FLIPPED = {">=": "<=", ">": "<", "<=": ">=", "<": ">", "==": "=="}


class Bounds:
    """Intervals of dims under a graph's constraints."""

    def __init__(self, constraints: Iterable[Constraint] = ()) -> None:
        self._symbols: dict[str, Interval] = {}
        for held in constraints:
            left, relation, right = held.left, held.relation, held.right
            if isinstance(left, int):
                left, relation, right = right, _FLIPPED.get(relation, ""), left
            name = _symbol_name(left)
            if name is None or not isinstance(right, int):
                continue
            low, high = _WITHIN.get(relation, (0, 0) if relation == "==" else (None, None))
            self._narrow(
                name, None if low is None else right + low, None if high is None else right + high
            )

    def _narrow(self, name: str, low: int | None, high: int | None) -> None:
        old_low, old_high = self._symbols.get(name, (0, None))
        lows = [v for v in (old_low, low) if v is not None]
        highs = [v for v in (old_high, high) if v is not None]
        self._symbols[name] = (max(lows), min(highs) if highs else None)

    def interval(self, dim: int | Expr) -> Interval:
        """Least and greatest value that a dim can take."""
        if isinstance(dim, int):
            return dim, dim
        low: int | None = 0
        high: int | None = 0
        for monomial, factor in dim.terms:
            product: Interval = (factor, factor)
            for atom in monomial:
                product = _times(product, self._atom(atom))
            low = None if low is None or product[0] is None else low + product[0]
            high = None if high is None or product[1] is None else high + product[1]
        return low, high

    def _atom(self, atom: Atom) -> Interval:
        if atom[0] == "sym":
            return self._symbols.get(atom[1], (0, None))
        first, second = self.interval(atom[1]), self.interval(atom[2])
        if atom[0] == "max":
            lows = [v for v in (first[0], second[0]) if v is not None]
            highs = [v for v in (first[1], second[1]) if v is not None]
            return (max(lows) if lows else None), (max(highs) if len(highs) == 2 else None)
        low, high = first
        below = second[0]
        if below is None or below < 1:
            return None, None
        least = low
        if low is not None:
            least = low // below if low < 0 else low // second[1] if second[1] else 0
        most = None if high is None else high // below if high >= 0 else -1
        return least, most

    def at_least(self, dim: int | Expr, floor: int | Expr) -> int | Expr:
        """`max(dim, floor)`, without the `max` where the bounds decide."""
        low, high = self.interval(dim - floor)
        if low is not None and low >= 0:
            return dim
        if high is not None and high <= 0:
            return floor
        return maximum(dim, floor)

    def at_most(self, dim: int | Expr, ceiling: int | Expr) -> int | Expr:
        """`min(dim, ceiling)`, without the `min` where the bounds decide."""
        low, high = self.interval(ceiling - dim)
        if low is not None and low >= 0:
            return dim
        if high is not None and high <= 0:
            return ceiling
        return minimum(dim, ceiling)

    def sign(self, dim: int | Expr) -> int | None:
        """1 when never negative, -1 when always negative, `None` when that depends."""
        low, high = self.interval(dim)
        if low is not None and low >= 0:
            return 1
        return -1 if high is not None and high < 0 else None


def product(dims: Iterable[Dim]) -> Dim:
    """The product of dims, `None` when a factor is unknown (and none is zero)."""
    total: Dim = 1
    for dim in dims:
        if dim == 0:
            return 0
        total = None if total is None or dim is None else total * dim
    return total


def ceil_div(a: int | Expr, b: int) -> int | Expr:
    """`a / b` rounded up, for a positive `b`."""
    return floor_div(a + (b - 1), b)


def unify(shapes: Sequence[Shape | None]) -> Shape | None:
    """What is known of tensors that have equal shapes: numbers, else expressions, else nothing."""
    known = [s for s in shapes if s is not None]
    if not known:
        return None
    return tuple(unify_dims(dims) for dims in zip(*known, strict=True))


def unify_dims(dims: Iterable[Dim]) -> Dim:
    """What is known of dims that are equal."""
    best: Dim = None
    for dim in dims:
        if isinstance(dim, int):
            return dim
        if best is None:
            best = dim
    return best


def _symbol_name(dim: int | Expr) -> str | None:
    if isinstance(dim, int) or len(dim.terms) != 1:
        return None
    monomial, factor = dim.terms[0]
    if factor != 1 or len(monomial) != 1 or monomial[0][0] != "sym":
        return None
    return monomial[0][1]


def _times(a: Interval, b: Interval) -> Interval:
    known = [x * y for x in a for y in b if x is not None and y is not None]
    if len(known) == 4:
        return min(known), max(known)
    if b[0] is None or b[0] < 0:
        return None, None
    low, high = a
    if low is not None and low >= 0:
        return low * b[0], None
    if high is not None and high <= 0:
        return None, high * b[0]
    return None, None
