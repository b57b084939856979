"""Einsum's equation, as its definition spells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Equation:
    """One label per axis of each term and of the result.

    A label is a letter, or `.k` for the k-th axis (from the last) that an ellipsis stands for.
    """

    terms: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]

    @property
    def summed(self) -> tuple[str, ...]:
        """Labels that the result lacks, in order of appearance."""
        every = dict.fromkeys(label for term in self.terms for label in term)
        return tuple(label for label in every if label not in self.result)


def read_equation(
    text: str, ranks: Sequence[int | None], error: Callable[[str], Exception]
) -> Equation | None:
    """Read an equation for operands of these ranks; `None` when a rank it needs is unknown.

    Without `->` the result has the ellipsis, then every letter that appears once, sorted.
    """
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise error(f"the equation {text!r} has {len(terms)} terms for {len(ranks)} operands")
    if any(rank is None for rank in ranks):
        return None
    read = tuple(
        _labels(term, rank or 0, text, error) for term, rank in zip(terms, ranks, strict=True)
    )
    every = [label for term in read for label in term]
    dots = sorted({d for d in every if d.startswith(".")}, key=lambda d: -int(d[1:]))
    spans = {
        sum(s.startswith(".") for s in t) for t, w in zip(read, terms, strict=True) if "." in w
    }
    if len(spans) > 1:
        raise error(f"the ellipses of the equation {text!r} stand for different numbers of axes")
    if not arrow:
        letters = [c for c in left if c.isalpha()]
        once = sorted(c for c in letters if letters.count(c) == 1)
        return Equation(read, (*dots, *once))
    result: list[str] = []
    before, ellipsis, after = right.partition("...")
    result.extend(before)
    if ellipsis:
        result.extend(dots)
        result.extend(after)
    for label in result:
        if label not in every or result.count(label) > 1:
            raise error(
                f"the equation {text!r} repeats {label!r} in its result, or lacks it before"
            )
    return Equation(read, tuple(result))


def _labels(term: str, rank: int, text: str, error: Callable[[str], Exception]) -> tuple[str, ...]:
    before, ellipsis, after = term.partition("...")
    spare = rank - len(before) - len(after)
    letters = before + after
    if spare < 0 or (spare and not ellipsis) or (letters and not letters.isalpha()):
        raise error(f"the term {term!r} of the equation {text!r} does not fit rank {rank}")
    dots = tuple(f".{k}" for k in range(spare, 0, -1))
    return (*before, *dots, *after)
