"""Sets of characters in RE2's syntax: classes by name, ranges, and what differs in case alone."""

from __future__ import annotations

import sys
import unicodedata
from bisect import bisect_left, bisect_right
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]
"""Code points from low to high, both inclusive; sorted, apart from each other."""

LAST = sys.maxunicode
WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
PERL: dict[str, Ranges] = {
    "d": ((48, 57),),
    "s": ((9, 10), (12, 13), (32, 32)),
    "w": WORD,
}
"""What `\\d`, `\\s` and `\\w` stand for: ASCII alone, and no vertical tab in `\\s`."""
POSIX: dict[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": WORD,
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ranges in order, those that touch made one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return tuple(found)


def negated(ranges: Ranges) -> Ranges:
    """Every other code point."""
    found: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if start < low:
            found.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        found.append((start, LAST))
    return tuple(found)


def holds(ranges: Ranges, point: int) -> bool:
    """Whether a code point is in them."""
    at = bisect_right(ranges, (point, LAST)) - 1
    return at >= 0 and ranges[at][1] >= point


@cache
def category(name: str) -> Ranges | None:
    """A general category of Unicode such as `Lu` or `L`, or `Any`; `None` when it is none."""
    if name == "Any":
        return ((0, LAST),)
    points = [p for kind, p in _by_category().items() if kind.startswith(name)]
    return joined(r for ranges in points for r in ranges) if points and name else None


@cache
def _by_category() -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    start, kind = 0, unicodedata.category("\0")
    for point in range(1, LAST + 1):
        other = unicodedata.category(chr(point))
        if other != kind:
            found.setdefault(kind, []).append((start, point - 1))
            start, kind = point, other
    found.setdefault(kind, []).append((start, LAST))
    return {k: v for k, v in found.items() if k != "Cn"}


def folded(ranges: Ranges) -> Ranges:
    """The ranges, and every code point that differs from one of theirs in case alone."""
    orbits, points = _orbits()
    more = [
        (other, other)
        for low, high in ranges
        for point in points[bisect_left(points, low) : bisect_right(points, high)]
        for other in orbits[point]
    ]
    return joined((*ranges, *more))


@cache
def _orbits() -> tuple[dict[int, tuple[int, ...]], list[int]]:
    """Code points that simple case folding takes to the same one, by each; and these in order."""
    same: dict[str, list[int]] = {}
    for point in range(LAST + 1):
        char = chr(point)
        if char != (key := _simple_fold(char)):
            same.setdefault(key, [ord(key)]).append(point)
    found = {p: tuple(group) for group in same.values() for p in group}
    return found, sorted(found)


def _simple_fold(char: str) -> str:
    """Unicode's simple case folding of one character."""
    for text in (char.casefold(), char.lower()):
        if len(text) == 1:
            return text
    return char
