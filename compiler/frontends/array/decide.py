"""Which relations between dims follow from those that are known to hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isomorph.ir.dims import Expr, substitute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.dims import Constraint
    from isomorph.ir.expressions import Atom

Whole = int | Expr
Interval = tuple[float, float]


class Facts:
    """What a list of constraints says about dims; symbols are never negative."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._solved: dict[str, Whole] = {}
        self._bounds: dict[str, Interval] = {}
        self._nonnegative: list[Whole] = []
        self._nonzero: list[Whole] = []
        for constraint in constraints:
            if constraint.relation == "==":
                self._solve(self.normal(constraint.left - constraint.right))
        for constraint in constraints:
            self._learn(constraint)

    def normal(self, dim: Whole) -> Whole:
        """The dim with every symbol that an equality determines replaced."""
        for _ in range(len(self._solved) + 1):
            replaced = substitute(dim, self._solved)
            assert replaced is not None  # noqa: S101 - a known dim stays known
            if replaced == dim:
                break
            dim = replaced
        return dim

    def decide(self, left: Whole, relation: str, right: Whole) -> bool | None:
        """Whether the relation always holds (or never does); `None` when it is open."""
        match relation:
            case ">=":
                return self._at_least_zero(self.normal(left - right))
            case "<=":
                return self.decide(right, ">=", left)
            case ">":
                return self.decide(left, ">=", right + 1)
            case "<":
                return self.decide(right, ">=", left + 1)
            case "==":
                return self._equal(self.normal(left - right))
            case _:
                equal = self.decide(left, "==", right)
                return None if equal is None else not equal

    def range(self, dim: Whole) -> Interval:
        """Bounds of a dim."""
        return self._interval(self.normal(dim))

    def _equal(self, difference: Whole) -> bool | None:
        if isinstance(difference, int):
            return difference == 0
        low, high = self._interval(difference)
        if low > 0 or high < 0:
            return False
        if self._proved(difference - 1) or self._proved(-difference - 1):
            return False
        if any(d in (difference, -difference) for d in self._nonzero):
            return False
        return True if self._proved(difference) and self._proved(-difference) else None

    def _at_least_zero(self, difference: Whole) -> bool | None:
        if self._proved(difference):
            return True
        return False if self._proved(-difference - 1) else None

    def _proved(self, value: Whole) -> bool:
        """Whether `value >= 0` follows."""
        return self._interval(value)[0] >= 0 or any(
            self._interval(value - known)[0] >= 0 for known in self._nonnegative
        )

    def _solve(self, zero: Whole) -> None:
        """Learn `symbol == expression` from `zero == 0` where a symbol stands alone in it."""
        if isinstance(zero, int):
            return
        for monomial, factor in zero.terms:
            if abs(factor) == 1 and len(monomial) == 1 and monomial[0][0] == "sym":
                name = str(monomial[0][1])
                alone = Expr({monomial: 1})
                rest = zero - alone * factor
                if isinstance(rest, Expr) and name in rest.symbols():
                    continue
                self._solved[name] = -rest if factor == 1 else rest
                return

    def _learn(self, constraint: Constraint) -> None:
        difference = self.normal(constraint.left - constraint.right)
        match constraint.relation:
            case "==":
                known = [difference, -difference]
            case ">=":
                known = [difference]
            case "<=":
                known = [-difference]
            case ">":
                known = [difference - 1]
            case "<":
                known = [-difference - 1]
            case _:
                self._nonzero.append(difference)
                known = []
        for value in known:
            if isinstance(value, Expr) and not self._bound(value):
                self._nonnegative.append(value)

    def _bound(self, value: Expr) -> bool:
        """Keep `value >= 0` as a bound of one symbol where it is one."""
        names = [(m, c) for m, c in value.terms if m]
        if len(names) != 1 or len(names[0][0]) != 1 or names[0][0][0][0] != "sym":
            return False
        (monomial, factor) = names[0]
        constant = next((c for m, c in value.terms if not m), 0)
        name = str(monomial[0][1])
        low, high = self._bounds.get(name, (0, math.inf))
        if factor > 0:
            low = max(low, -(constant // factor))
        else:
            high = min(high, constant // -factor)
        self._bounds[name] = (low, high)
        return True

    def _interval(self, value: Whole) -> Interval:
        if isinstance(value, int):
            return value, value
        low: float = 0
        high: float = 0
        for monomial, factor in value.terms:
            part: Interval = (factor, factor)
            for atom in monomial:
                part = _times(part, self._atom(atom))
            low += part[0]
            high += part[1]
        return low, high

    def _atom(self, atom: Atom) -> Interval:
        if atom[0] == "sym":
            return self._bounds.get(atom[1], (0, math.inf))
        kind, first, second = atom
        a, b = self._interval(first), self._interval(second)
        if kind == "max":
            return max(a[0], b[0]), max(a[1], b[1])
        if b[0] <= 0:
            return -math.inf, math.inf
        ends = [_floor_div(x, y) for x in a for y in b]
        return min(ends), max(ends)


def _times(a: Interval, b: Interval) -> Interval:
    ends = [0 if 0 in (x, y) else x * y for x in a for y in b]
    return min(ends), max(ends)


def _floor_div(x: float, y: float) -> float:
    if math.isinf(x):
        return x
    return (0 if x >= 0 else -1) if math.isinf(y) else x // y
