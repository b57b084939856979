"""Texts that match a pattern, drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.semantics.re2 import Pattern
from isomorph.ir.semantics.re2.syntax import Parser

if TYPE_CHECKING:
    from random import Random

    from isomorph.ir.semantics.re2.classes import Ranges
    from isomorph.ir.semantics.re2.syntax import Tree

LONGEST = 200
MORE = 2
"""Repetitions drawn beyond the least."""


def matching(pattern: str, count: int, rng: Random) -> list[str]:
    """Up to so many distinct texts that match; raises PatternError."""
    tree, made = Parser(pattern).parse(), Pattern(pattern)
    drawn = dict.fromkeys(_draw(tree, rng) for _ in range(4 * count))
    return [text for text in drawn if made.matches(text)][:count]


def _draw(tree: Tree, rng: Random) -> str:
    match tree:
        case ("set", ranges):
            return _char(ranges, rng)
        case ("cat", parts):
            return "".join(_draw(part, rng) for part in parts)[:LONGEST]
        case ("alt", parts):
            return _draw(rng.choice(parts), rng)
        case ("repeat", part, least, most):
            high = least + MORE if most < 0 else min(most, least + MORE)
            return "".join(_draw(part, rng) for _ in range(rng.randint(least, high)))[:LONGEST]
        case _:
            return ""


def _char(ranges: Ranges, rng: Random) -> str:
    """One of the characters, from where they are plain text if they are."""
    plain = [(max(low, 32), min(high, 126)) for low, high in ranges if low <= 126 and high >= 32]
    chosen = rng.choice(plain or list(ranges)) if ranges else (0, 0)
    return chr(rng.randint(*chosen))
