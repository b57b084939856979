"""A node that is off, with what it was given and what it should have given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.parity.align import Mate


@dataclass(frozen=True, slots=True)
class Place:
    """A node of the candidate that computes something else on the reference's operands.

    Attributes:
        op: the node; in a subgraph, perhaps.
        value: its result that is off.
        problem: in words, with both values.
        mate: the reference's value in its place; `None` where it has none.
        operands: what the node was given, in float64.
        wanted, got: the two values; `None` where the node could not be evaluated.
        sign: only signs of zero differ.
        single: the node alone makes the value from values that have mates.
    """

    op: Op
    value: Value | None
    problem: str
    mate: Mate | None = None
    operands: tuple[Any, ...] = ()
    wanted: Any = None
    got: Any = None
    sign: bool = False
    single: bool = True
