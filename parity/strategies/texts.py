"""Texts that a graph takes apart, looks up or matches: what its attributes and constants name."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, cast

from isomorph.ir.constants import numbers
from isomorph.ir.semantics.re2.sample import matching
from isomorph.ir.semantics.re2.syntax import PatternError
from isomorph.ir.types import DType
from isomorph.parity.strategies.roles import COMPARISONS, THROUGH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.ir.graph import Graph, Op, Value

MOST_TEXTS = 256
MATCHES = 12
MOST_PARTS = 32
WHOLE = ("0", "1", "-1", "7", "12", "100")
FRACTIONS = ("0.5", "-2.25", "1e3", "1E-4", "+3.0", "inf", "-INF", "NaN", "0.1")
LISTS = (
    "cats_strings",
    "classlabels_strings",
    "keys_strings",
    "pool_strings",
    "stopwords",
    "string_vocabulary",
)
"""Attributes that list texts to look up."""


def texts_of(graph: Graph, start: Value) -> tuple[tuple[str, ...], bool]:
    """Texts that tell one behaviour from another, where an input's elements get so far.

    And whether they are the only valid ones: numbers, where the texts become such.
    """
    found: dict[str, None] = {}
    read: DType | None = None
    stack: list[tuple[Graph, Value]] = [(graph, start)]
    seen: set[int] = set()
    while stack:
        current, value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        for op in current.consumers(value):
            found.update(dict.fromkeys(_named(op, value)))
            read = _read_as(op) or read
            position = op.inputs.index(value) if value in op.inputs else -1
            if not op.domain and THROUGH.get(op.type, -1) in {None, position}:
                stack += [(current, result) for result in op.results]
            for _, body in op.subgraphs():
                pairs = zip(op.captures, body.captures, strict=True)
                stack += [(body, inner) for outer, inner in pairs if outer is value]
    if read is not None:
        return (*WHOLE, *(FRACTIONS if read.is_float else ())), True
    return tuple(found)[:MOST_TEXTS], False


def _read_as(op: Op) -> DType | None:
    """The type of the numbers that an op reads texts as."""
    if op.type != "Cast" or op.domain:
        return None
    to = DType(op.attr("to"))
    return None if to is DType.STRING else to


def _named(op: Op, value: Value) -> Iterator[str]:
    """Texts that one op tells apart."""
    for name in LISTS:
        given = op.attributes.get(name)
        for text in cast("tuple[Any, ...]", given) if isinstance(given, tuple) else ():
            yield from _varied(text)
    if op.key == ("", "RegexFullMatch"):
        yield from _matches(op.attr("pattern"))
    elif op.key == ("", "StringSplit"):
        mark = str(op.attr("delimiter") or " ")
        most = op.attr("maxsplit")
        many = MOST_PARTS if most is None else min(int(most) + 3, MOST_PARTS)
        yield from (f"a{mark}b", f"{mark}c{mark}{mark}d", f"e{mark}", mark, mark.join("f" * many))
    elif op.type in COMPARISONS and not op.domain:
        for other in op.inputs:
            constant = None if other is value else numbers(other)
            if constant is not None and constant.dtype.kind in "OU":
                yield from (str(t) for t in constant.reshape(-1)[:MOST_TEXTS])


def _varied(text: Any) -> Iterator[str]:
    """A text, and the same in other cases."""
    if isinstance(text, str):
        yield from (text, text.upper(), text.lower())


def _matches(pattern: Any) -> Iterator[str]:
    """Texts that match, and such with one character more or less."""
    try:
        found = matching(str(pattern), MATCHES, Random(0))  # noqa: S311 - no secret is drawn
    except PatternError:
        return
    for text in found:
        yield from (text, text + "x", text[1:])
