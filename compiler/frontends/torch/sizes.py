"""Sizes at which a module is captured: distinct, so that no two dims are equal by accident."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from isomorph.ir.dims import Expr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.frontends.spec import InputSpec

_PRIMES = (5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)
_STEPS = (1, 0, 8, 32, 64)
"""What sizes are made multiples of, one after the other, when a module refuses the plain ones.

0 stands for sizes that are all equal, as those of two inputs have to be that meet.
"""


def declared(specs: Sequence[InputSpec]) -> dict[str, tuple[float, float]]:
    """Range of each symbol as the specifications state it."""
    found: dict[str, tuple[float, float]] = {}
    for spec in specs:
        for dim in spec.type.shape or ():
            if isinstance(dim, Expr):
                for name in sorted(dim.symbols()):
                    found.setdefault(name, (0, math.inf))
        for constraint in spec.constraints:
            name = str(constraint.left)
            if name not in found or not isinstance(constraint.right, int):
                continue
            low, high = found[name]
            match constraint.relation:
                case ">=":
                    low = max(low, constraint.right)
                case "<=":
                    high = min(high, constraint.right)
                case "==":
                    low = high = constraint.right
                case _:
                    pass
            found[name] = (low, high)
    return found


def attempts(specs: Sequence[InputSpec]) -> Iterator[dict[str, int]]:
    """Sizes to try, by symbol: primes in range, equal ones, then multiples of 8, 32 and 64."""
    ranges = declared(specs)
    tried: list[dict[str, int]] = []
    for step in _STEPS if ranges else (1,):
        chosen: dict[str, int] = {}
        for name, (low, high) in ranges.items():
            taken: set[int] = set(chosen.values()) | _numbers(specs) if step else set()
            chosen[name] = _pick(low, high, step or 1, taken)
        if chosen not in tried:
            tried.append(chosen)
            yield chosen


def _pick(low: float, high: float, step: int, taken: set[int]) -> int:
    for prime in _PRIMES:
        size = prime * step
        if low > size:
            size += step * math.ceil((low - size) / step)
        if low <= size <= high and size not in taken:
            return size
    inside = [n for n in range(int(low), int(min(high, low + 64)) + 1) if n > 1]
    free = [n for n in inside if n not in taken]
    return (free or inside or [int(max(low, 1))])[0]


def _numbers(specs: Sequence[InputSpec]) -> set[int]:
    return {d for s in specs for d in s.type.shape or () if isinstance(d, int)}


def evaluated(dims: Sequence[Any], sizes: dict[str, int]) -> tuple[int, ...]:
    """A shape with its symbols at these sizes."""
    return tuple(d.evaluate(sizes) if isinstance(d, Expr) else int(d) for d in dims)
