"""Names while a file is decoded: what each means where it is used, and what subgraphs capture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.ir.errors import UnsupportedError
from isomorph.ir.graph import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import AttributeProto

    from isomorph.ir.graph import Graph


@dataclass(frozen=True, slots=True)
class Frame:
    """What holds inside one function body, or in the model outside all of them.

    Attributes:
        opsets: version by domain.
        attributes: what a body's references to attributes mean; `None` outside of functions.
        prefix: put before names of nodes and inner values.
        callers: keys of the functions being expanded, outermost first.
    """

    opsets: Mapping[str, int]
    attributes: Mapping[str, AttributeProto] | None = None
    prefix: str = ""
    callers: tuple[tuple[str, str, str], ...] = ()


@dataclass(slots=True)
class Scope:
    """The names of one graph or function body, and of what lies around it.

    A name bound to `None` is a function's formal input that the call leaves out.
    """

    graph: Graph
    frame: Frame
    outer: Scope | None = None
    names: dict[str, Value | None] = field(default_factory=dict[str, Value | None])
    captured: dict[str, Value] = field(default_factory=dict[str, Value])

    def find(self, name: str) -> Value | None:
        """The value a name means; one of an outer graph is captured at its first use.

        Raises:
            KeyError: when nothing visible has the name.
        """
        if name in self.names:
            return self.names[name]
        if name in self.captured:
            return self.captured[name]
        scope = self.outer
        while scope is not None:
            for table in (scope.names, scope.captured):
                if name in table:
                    found = table[name]
                    if found is None:
                        return None
                    made = self.graph.add_capture(name, found.type)
                    self.captured[name] = made
                    return made
            scope = scope.outer
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names or name in scope.captured:
                return True
            scope = scope.outer
        return False


MOST_CAPTURES = 1 << 20
"""Captures that the subgraphs of one op may have together: each has those of all of them."""


def join_captures(scope: Scope, inner: Sequence[Scope], where: str) -> list[Value]:
    """Give all subgraphs of one op the same captures, in the order of first use.

    Args:
        scope: around the op.
        inner: of its subgraphs; their graphs are changed.
        where: the op, for errors.

    Returns:
        The values of `scope` that the op captures.

    Raises:
        UnsupportedError: when there are too many.
    """
    wanted = {name: value.type for sub in inner for name, value in sub.captured.items()}
    if len(wanted) * len(inner) > MOST_CAPTURES:
        raise UnsupportedError(
            f"{where}: its {len(inner)} subgraphs use {len(wanted)} values from around them; up to "
            f"{MOST_CAPTURES // len(inner)} are read for so many"
        )
    for sub in inner:
        sub.graph.captures = [
            sub.captured.get(name) or sub.graph.add_capture(name, kind)
            for name, kind in wanted.items()
        ]
    found = (scope.find(name) for name in wanted)
    return [value for value in found if value is not None]
