"""Dims: numbers, symbolic expressions, or unknown; their text, and constraints on them."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir.errors import SpecError
from isomorph.ir.expressions import (
    ComplexDimError,
    Dim,
    Expr,
    floor_div,
    maximum,
    minimum,
    substitute,
    symbol,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "RELATIONS",
    "ComplexDimError",
    "Constraint",
    "Dim",
    "Expr",
    "dim_text",
    "floor_div",
    "maximum",
    "minimum",
    "parse_dim",
    "substitute",
    "symbol",
]


def dim_text(dim: Dim) -> str:
    """How a dim is written; `?` when unknown."""
    return "?" if dim is None else str(dim)


def parse_dim(text: str) -> int | Expr:
    """Read what `str(dim)` writes: names, integers, `+ - * // %`, `max(a, b)`.

    Raises:
        SpecError: if the text is none of these.
    """
    try:
        return _Reader(text).dim()
    except (ValueError, ZeroDivisionError, ComplexDimError) as error:
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        raise SpecError(f"cannot read dim {shown!r}: {error}") from None


@dataclass(frozen=True, slots=True)
class Constraint:
    """A relation that must hold between dims, such as `batch >= 4` or `h % 8 == 0`."""

    left: int | Expr
    relation: str
    right: int | Expr
    reason: str = ""

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            known = " ".join(RELATIONS)
            raise SpecError(f"{self}: {self.relation!r} is no relation; one of {known} is expected")

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def holds(self, dims: Mapping[str, int]) -> bool | None:
        """Whether it holds under these bindings; `None` when they do not decide it."""
        difference = substitute(self.left, dims) - substitute(self.right, dims)
        return RELATIONS[self.relation](difference, 0) if isinstance(difference, int) else None

    def symbols(self) -> frozenset[str]:
        """Names of all symbols within."""
        return frozenset(
            s for side in (self.left, self.right) if isinstance(side, Expr) for s in side.symbols()
        )

    @staticmethod
    def parse(text: str, reason: str = "") -> Constraint:
        """Read `a >= b` and the like; raises SpecError."""
        match = re.fullmatch(r"(.+?)\s*(==|!=|>=|<=|>|<)\s*(.+)", text.strip())
        if not match:
            raise SpecError(f"cannot read constraint {text!r}: expected `dim >= dim` or the like")
        left, relation, right = match.groups()
        return Constraint(parse_dim(left), relation, parse_dim(right), reason)


RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


_MOST_TERMS = 1 << 12
_DEEPEST = 64
_TOKEN = re.compile(r"\s*(?://|[-+*%(),]|[^\s/+*%(),-]+)")


class _Reader:
    """Reads the text of a dim, with Python's precedence; ValueError for anything else."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        text = text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"{text[at:].strip()[:20]!r} is not dim arithmetic")
            self.tokens.append(match.group().strip())
            at = match.end()
        self.at = 0
        self.depth = 0

    def dim(self) -> int | Expr:
        found = self.sum()
        if self.at < len(self.tokens):
            raise ValueError(f"{self.tokens[self.at]!r} is not expected there")
        return found

    def sum(self) -> int | Expr:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} levels of parentheses")
        total = self.product()
        while sign := self.take("+", "-"):
            term = self.product()
            total = total + term if sign == "+" else total - term
        self.depth -= 1
        return total

    def product(self) -> int | Expr:
        total = self.factor()
        while sign := self.take("*", "//", "%"):
            other = self.factor()
            if _size(total) * _size(other) > _MOST_TERMS:
                raise ValueError(f"its product has more than {_MOST_TERMS} terms")
            if sign == "*":
                total = total * other
            else:
                total = floor_div(total, other) if sign == "//" else total % other
        return total

    def factor(self) -> int | Expr:
        negative = False
        while sign := self.take("+", "-"):
            negative ^= sign == "-"
        found = self.atom()
        return -found if negative else found

    def atom(self) -> int | Expr:
        word = self.tokens[self.at] if self.at < len(self.tokens) else ""
        self.at += 1
        if word == "(":
            found = self.sum()
            self.expect(")")
            return found
        if word == "max" and self.take("("):
            first = self.sum()
            self.expect(",")
            second = self.sum()
            self.expect(")")
            return maximum(first, second)
        if word.isascii() and word.isdigit():
            return int(word)
        if word.isidentifier():
            return symbol(word)
        raise ValueError(f"{word!r} is not dim arithmetic" if word else "it ends too early")

    def take(self, *wanted: str) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at] in wanted:
            self.at += 1
            return self.tokens[self.at - 1]
        return ""

    def expect(self, wanted: str) -> None:
        if not self.take(wanted):
            raise ValueError(f"a {wanted!r} is missing")


def _size(value: int | Expr) -> int:
    return len(value.terms) if isinstance(value, Expr) else 1
